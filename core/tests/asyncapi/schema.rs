//! The schemas against the messages that are really written.

use bytes::Bytes;
use pubsink_core::claim::ClaimRef;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::message::{self, HookMessage};
use serde_json::{Value, json};

use super::samples::whole;
use super::structure::members;

/// A message as it is written, and its attributes.
pub(crate) struct Written {
    pub(crate) message: Value,
    pub(crate) attributes: Value,
}

/// Messages of the source `github` and the tenant `acme`: inline, empty, claimed, replayed.
pub(crate) fn written() -> Vec<Written> {
    let full = envelope();
    let bare = Envelope {
        content_type: None,
        dedupe_key: None,
        headers: Vec::new(),
        body: Bytes::new(),
        received_at: -1,
        ..envelope()
    };
    let binary = Envelope {
        body: Bytes::from_static(b"\0\xFF\x80"),
        dedupe_key: Some(String::new()),
        ..envelope()
    };
    let claim = ClaimRef::derive(Some("acme"), full.received_at, &full.id).unwrap();
    let claimed = DeliveryContext {
        claim: Some(claim.clone()),
        ..DeliveryContext::default()
    };
    let signed = format!("{claim}:1764500000:{}", "A".repeat(43)).replace(":v1:", ":v2:");
    let signed = DeliveryContext {
        claim: Some(ClaimRef::parse(&signed).unwrap()),
        ..DeliveryContext::default()
    };
    let replayed = DeliveryContext {
        replay_id: Some("replay-7".into()),
        ..DeliveryContext::default()
    };
    let plain = DeliveryContext::default();
    vec![
        write(&full, &plain, 65_536),
        write(&bare, &plain, 65_536),
        write(&binary, &plain, 65_536),
        write(&full, &claimed, 1),
        write(&full, &signed, 1),
        write(&full, &replayed, 65_536),
    ]
}

/// Messages that a consumer may not be sent, each with what is wrong.
pub(crate) fn wrong() -> Vec<(String, Value)> {
    let good = written().remove(0).message;
    let mut all = Vec::new();
    let mut set = |key: &str, value: Value| {
        let mut message = good.clone();
        message[key] = value;
        all.push((format!("{key} = {}", message[key]), message));
    };
    set("v", json!(2));
    set("v", json!("1"));
    set("id", json!(""));
    set("source_id", json!("gitlab"));
    set("tenant_id", json!("other"));
    set("received_at", json!("now"));
    set("received_at", json!(0.5));
    set("content_type", json!(7));
    set("size", json!(-1));
    set("dedupe_key", json!([]));
    set("idempotency_key", json!(null));
    set("headers", json!(null));
    set("headers", json!({"x": 1}));
    set("headers", json!({"Accept": "*/*"}));
    set("headers", json!({"cookie": "a=b"}));
    set("headers", json!({"x-ankusa-id": "forged"}));
    set("sha256", json!("AB"));
    set("body_base64", json!("a"));
    set("body_base64", json!("a-_="));
    set("body_base64", json!(null));
    set(
        "claim",
        json!("urn:ankusa:claim:v1:acme:01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    );
    set("verification", json!({"status": "ok"}));
    set("traceparent", json!(1));
    for key in members(&good).keys() {
        let mut message = members(&good);
        message.remove(key);
        all.push((format!("no {key}"), message.into()));
    }
    let mut claimed = written().remove(3).message;
    claimed["claim"] = json!("urn:ankusa:claim:v1:acme:01arz3ndektsv4rrffq69g5fav");
    all.push(("a claim id in lowercase".to_owned(), claimed));
    all
}

#[test]
fn it_names_the_keys_in_the_order_they_are_written() {
    let document = whole().to_json();
    let (_, schema) = document.split_once("\"HookMessageV1\": {").unwrap();
    let place = |key: &str| schema.find(&format!("\n          \"{key}\": {{")).unwrap();
    for written in written() {
        let keys = keys_in_order(&written.message);
        let places: Vec<usize> = keys.iter().map(|key| place(key)).collect();
        assert!(places.is_sorted(), "{keys:?}");
        let schema = &schemas()["HookMessageV1"];
        let required = schema["required"].as_array().unwrap();
        // All but the body, of which there are two forms.
        assert_eq!(keys.len(), required.len() + 1);
        assert!(
            required
                .iter()
                .all(|key| keys.contains(&key.as_str().unwrap().to_owned()))
        );
    }
}

#[test]
fn it_names_every_attribute() {
    let schema = &schemas()["HookAttributesV1"];
    let known = members(&schema["properties"]);
    let required = schema["required"].as_array().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for written in written() {
        let attributes = members(&written.attributes);
        assert!(
            required
                .iter()
                .all(|key| attributes.contains_key(key.as_str().unwrap()))
        );
        seen.extend(attributes.keys().cloned());
    }
    assert!(seen.iter().eq(known.keys()), "{seen:?}");
}

fn schemas() -> Value {
    let document: Value = serde_json::from_str(&whole().to_json()).unwrap();
    document["components"]["schemas"].clone()
}

fn envelope() -> Envelope {
    Envelope {
        id: "019ad465-4e4c-7650-a69e-0d37f2a74de4".into(),
        source_id: "github".into(),
        tenant_id: Some("acme".into()),
        received_at: 1_764_500_000_332,
        method: "POST".into(),
        path: "/hooks/github".into(),
        headers: vec![("X-GitHub-Event".into(), Bytes::from_static(b"push \"1\""))],
        content_type: Some("application/json".into()),
        body: Bytes::from_static(b"{\"action\":\"opened\"}"),
        dedupe_key: Some("d23f0824".into()),
    }
}

fn write(envelope: &Envelope, context: &DeliveryContext, inline_max: usize) -> Written {
    let (message, _) = HookMessage::new(envelope, context, inline_max).unwrap();
    let attributes = message::attributes(envelope, context);
    let attributes = attributes
        .iter()
        .map(|(name, value)| (name.to_owned(), json!(value)));
    Written {
        message: serde_json::from_slice(&message.encode()).unwrap(),
        attributes: Value::Object(attributes.collect()),
    }
}

/// The keys of a message by the format's own order, whatever order `Value` keeps them in.
fn keys_in_order(message: &Value) -> Vec<String> {
    let order = [
        "v",
        "id",
        "source_id",
        "tenant_id",
        "received_at",
        "content_type",
        "size",
        "dedupe_key",
        "replay_id",
        "idempotency_key",
        "headers",
        "sha256",
        "body_base64",
        "claim",
    ];
    let mut members = members(message);
    let keys = order
        .into_iter()
        .filter(|key| members.remove(*key).is_some());
    let keys = keys.map(str::to_owned).collect();
    assert!(members.is_empty(), "{members:?}");
    keys
}
