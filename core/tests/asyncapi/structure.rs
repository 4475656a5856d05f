//! What holds of every document.

use serde_json::{Map, Value};

/// Reads a document and checks its structure.
pub(crate) fn checked(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["asyncapi"], "3.0.0");
    assert!(document["info"]["title"].is_string());
    assert!(document["info"]["version"].is_string());
    every_ref_resolves(&document, &document);
    for part in ["servers", "channels", "operations"] {
        for name in members(&document[part]).keys() {
            is_name(name);
        }
    }
    for channel in members(&document["channels"]).values() {
        for server in channel["servers"].as_array().unwrap() {
            is_ref_into(server, "#/servers/");
        }
        assert!(!members(&channel["messages"]).is_empty());
        members(&channel["messages"])
            .keys()
            .for_each(|name| is_name(name));
    }
    let mut sent = 0;
    for operation in members(&document["operations"]).values() {
        assert_eq!(operation["action"], "send");
        let channel = is_ref_into(&operation["channel"], "#/channels/");
        let messages = operation["messages"].as_array().unwrap();
        assert!(!messages.is_empty());
        for message in messages {
            is_ref_into(message, &format!("{channel}/messages/"));
        }
        sent += messages.len();
    }
    let channels = members(&document["channels"]);
    let known = channels.values().map(|one| members(&one["messages"]).len());
    let known: usize = known.sum();
    assert_eq!(sent, known, "every message is sent by one operation");
    document
}

/// An object's members; none where there is no object.
pub(crate) fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// A name that AsyncAPI allows for a component, and no tool takes for something else.
fn is_name(name: &str) {
    let charset = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
    let first = name.bytes().next().unwrap();
    assert!(first.is_ascii_alphanumeric(), "{name:?}");
    assert!(name.bytes().all(charset), "{name:?}");
    assert!(name.len() <= 160, "{name:?}");
}

fn is_ref_into<'a>(value: &'a Value, place: &str) -> &'a str {
    let to = value["$ref"].as_str().unwrap();
    let name = to.strip_prefix(place).unwrap();
    assert!(!name.contains('/'), "{to}");
    to
}

fn every_ref_resolves(document: &Value, part: &Value) {
    match part {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get("$ref") {
                let pointer = to.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{to}");
            }
            let inner = members.values();
            inner.for_each(|value| every_ref_resolves(document, value));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|value| every_ref_resolves(document, value)),
        _ => {}
    }
}
