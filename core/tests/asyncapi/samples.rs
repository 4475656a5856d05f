//! Descriptions to make documents of.

use pubsink_core::asyncapi::AsyncApi;
use pubsink_core::sink::{Description, Subject};
use serde_json::{Map, Value};

pub(crate) fn subject(source: &str, tenant: Option<&str>) -> Subject {
    Subject {
        source_id: source.to_owned(),
        tenant_id: tenant.map(str::to_owned),
    }
}

pub(crate) fn topic(name: &str) -> Description {
    let address = format!("projects/my-project/topics/{name}");
    Description::message("googlepubsub", "pubsub.googleapis.com", address)
}

pub(crate) fn ordered(name: &str, key: &str) -> Description {
    let mut description = topic(name);
    description.ordering_key = Some(key.to_owned());
    description
}

/// A channel of another protocol, with bindings as its own sink would give them.
pub(crate) fn kafka() -> Description {
    let object = |value: Value| value.as_object().cloned().unwrap_or_else(Map::new);
    let channel = serde_json::json!({"topic": "hooks", "bindingVersion": "0.5.0"});
    let message = serde_json::json!({"key": {"type": "string"}, "bindingVersion": "0.5.0"});
    let mut description = Description::message("kafka", "broker.example:9092", "hooks");
    let bindings = &mut description.channel_bindings;
    bindings.insert("kafka".to_owned(), object(channel));
    let bindings = &mut description.message_bindings;
    bindings.insert("kafka".to_owned(), object(message));
    description
}

/// A document with something of everything.
pub(crate) fn whole() -> AsyncApi {
    let mut document = AsyncApi::new("Hooks of Acme", "1.4.0").description("What *Acme* receives.");
    document.extend([
        (subject("github", Some("acme")), "hooks", topic("hooks")),
        (subject("stripe", None), "hooks", topic("hooks")),
        (
            subject("stripe", None),
            "payments",
            ordered("payments", "stripe"),
        ),
        (subject("stripe", None), "stream", kafka()),
    ]);
    document
}

/// Texts that have broken document generators.
pub(crate) const NASTY: [&str; 18] = [
    "",
    " ",
    "\"quoted\" and \\ and /",
    "line\nbreak\u{0}\u{1f}\u{7f}",
    "日本語",
    "🦀 café e\u{301}",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "$ref",
    "x-internal",
    "#/components/schemas/HookMessageV1",
    "a~1b~0c%2F%25",
    "{tenant}",
    "{{a}/{b c}}",
    "..",
    "\u{202e}\u{feff}\u{ffff}",
];

/// Every nasty text in every place, so that many of them meet.
pub(crate) fn nasty() -> AsyncApi {
    let mut document = AsyncApi::new(NASTY[2], NASTY[3]).description(NASTY[5]);
    for (index, text) in NASTY.into_iter().enumerate() {
        let other = NASTY[(index + 5) % NASTY.len()];
        let protocol = if index % 2 == 0 { "googlepubsub" } else { text };
        let mut description = Description::message(protocol, text, other);
        description.ordering_key = Some(text.to_owned());
        for tenant in [None, Some(text), Some(other)] {
            document.add(&subject(text, tenant), other, &description);
        }
        document.add(&subject(text, None), text, &topic(text));
    }
    document
}
