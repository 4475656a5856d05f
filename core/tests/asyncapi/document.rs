//! What is in a document.

use pubsink_core::asyncapi::AsyncApi;
use pubsink_core::sink::{Description, Payload};
use serde_json::json;

use super::samples::{kafka, ordered, subject, topic, whole};
use super::structure::{checked, members};

#[test]
fn the_whole_document() {
    insta::assert_snapshot!("whole", whole().to_json());
    checked(&whole().to_json());
}

#[test]
fn nothing_described_is_a_document_too() {
    let empty = AsyncApi::new("Nothing", "0.1.0").to_json();
    let expected = json!({
        "asyncapi": "3.0.0",
        "info": {"title": "Nothing", "version": "0.1.0"},
        "defaultContentType": "application/json",
    });
    assert_eq!(checked(&empty), expected);
}

#[test]
fn a_sink_that_sends_the_body_is_no_part_of_it() {
    let mut body = topic("hooks");
    body.payload = Payload::Body;
    let mut document = AsyncApi::new("t", "1");
    document.add(&subject("github", None), "web", &body);
    assert_eq!(document, AsyncApi::new("t", "1"));
}

#[test]
fn duplicates_are_one_and_the_order_does_not_matter() {
    let entries = [
        (subject("b", None), "two", topic("hooks")),
        (subject("a", None), "one", topic("hooks")),
        (subject("a", None), "two", topic("hooks")),
        (subject("a", Some("")), "one", topic("hooks")),
        (subject("a", Some("acme")), "one", ordered("hooks", "k")),
    ];
    let mut forwards = AsyncApi::new("t", "1");
    forwards.extend(entries.clone());
    let mut backwards = AsyncApi::new("t", "1");
    backwards.extend(entries.clone().into_iter().rev());
    backwards.extend(entries);
    assert_eq!(forwards.to_json(), backwards.to_json());

    let document = checked(&forwards.to_json());
    assert_eq!(members(&document["servers"]).len(), 1);
    assert_eq!(members(&document["channels"]).len(), 1);
    let operations = &document["operations"];
    assert_eq!(members(operations).len(), 2, "one for each source");
    let send = &operations["send-a-projects-my-project-topics-hooks"];
    assert_eq!(send["x-sinks"], json!(["one", "two"]));
    let channel = &document["channels"]["projects-my-project-topics-hooks"];
    let names: Vec<_> = members(&channel["messages"]).into_iter().collect();
    let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "a-acme", "b"]);
}

#[test]
fn a_fixed_ordering_key_is_a_binding_of_the_message() {
    let mut document = AsyncApi::new("t", "1");
    document.add(&subject("a", None), "s", &ordered("one", "k"));
    document.add(&subject("a", None), "s", &ordered("two", ""));
    let document = checked(&document.to_json());
    let message = |topic: &str| {
        let channel = &document["channels"][format!("projects-my-project-topics-{topic}")];
        channel["messages"]["a"].clone()
    };
    assert_eq!(
        message("one")["bindings"],
        json!({"googlepubsub": {"bindingVersion": "0.2.0", "orderingKey": "k"}})
    );
    assert_eq!(message("two").get("bindings"), None);
}

#[test]
fn one_address_on_two_servers_is_two_channels() {
    let mut document = AsyncApi::new("t", "1");
    for host in ["b.example", "a.example", "a.example:8085"] {
        let description = Description::message("googlepubsub", host, "projects/p/topics/t");
        document.add(&subject("a", None), "s", &description);
    }
    let document = checked(&document.to_json());
    let server = |channel: &str| document["channels"][channel]["servers"][0]["$ref"].clone();
    assert_eq!(
        server("projects-p-topics-t"),
        "#/servers/googlepubsub-a.example"
    );
    assert_eq!(
        server("projects-p-topics-t-2"),
        "#/servers/googlepubsub-a.example-8085"
    );
    assert_eq!(
        server("projects-p-topics-t-3"),
        "#/servers/googlepubsub-b.example"
    );
}

#[test]
fn a_channel_binding_is_in_the_description_and_in_the_document_if_it_is_complete() {
    let version = json!({"googlepubsub": {"bindingVersion": "0.2.0"}});
    let mut plain = topic("hooks");
    assert_eq!(json!(plain.channel_bindings), version);

    let bindings = |document: AsyncApi| {
        let document = checked(&document.to_json());
        let channel = &document["channels"]["projects-my-project-topics-hooks"];
        channel.get("bindings").cloned()
    };
    let mut document = AsyncApi::new("t", "1");
    document.add(&subject("a", None), "s", &plain);
    assert_eq!(bindings(document.clone()), None);
    assert_eq!(
        bindings(document.clone().bindings_as_described()),
        Some(version)
    );

    // What one sink knows completes what another said.
    let settings = json!({"encoding": "JSON", "name": "projects/p/schemas/hook"});
    let binding = plain.channel_bindings.get_mut("googlepubsub").unwrap();
    binding.insert("schemaSettings".to_owned(), settings.clone());
    document.add(&subject("b", None), "s", &plain);
    let complete = json!({
        "googlepubsub": {"bindingVersion": "0.2.0", "schemaSettings": settings},
    });
    assert_eq!(bindings(document), Some(complete));
}

#[test]
fn other_protocols_keep_their_bindings_and_promise_no_attributes() {
    let mut document = AsyncApi::new("t", "1");
    document.add(&subject("a", None), "s", &kafka());
    let document = checked(&document.to_json());
    let channel = &document["channels"]["hooks"];
    assert_eq!(channel["bindings"]["kafka"]["topic"], "hooks");
    let message = &channel["messages"]["a"];
    assert_eq!(message["bindings"]["kafka"]["key"]["type"], "string");
    assert_eq!(message.get("headers"), None);
    let schemas = members(&document["components"]["schemas"]);
    assert_eq!(schemas.keys().collect::<Vec<_>>(), ["HookMessageV1"]);
}

#[test]
fn sinks_that_contradict_each_other_do_so_in_any_order() {
    let with = |value: &str| {
        let mut description = kafka();
        let binding = description.channel_bindings.get_mut("kafka").unwrap();
        binding.insert("topic".to_owned(), value.into());
        (subject("a", None), "s", description)
    };
    let mut forwards = AsyncApi::new("t", "1");
    forwards.extend([with("x"), with("y"), with("z")]);
    let mut backwards = AsyncApi::new("t", "1");
    backwards.extend([with("z"), with("x"), with("y")]);
    assert_eq!(forwards.to_json(), backwards.to_json());
}

#[test]
fn expressions_of_an_address_are_parameters() {
    let parameters = |address: &str| {
        let mut document = AsyncApi::new("t", "1");
        let description = Description::message("nats", "nats.example", address);
        document.add(&subject("a", None), "s", &description);
        let document = checked(&document.to_json());
        let channels = members(&document["channels"]);
        channels.values().next().unwrap().get("parameters").cloned()
    };
    let expected = json!({"source": {}, "tenant": {}});
    assert_eq!(
        parameters("hooks.{tenant}.{source}.{tenant}"),
        Some(expected)
    );
    for literal in [
        "hooks", "a{", "a}", "{}", "{a b}", "{a}}", "}{a}", "{{a}", "{a}{b",
    ] {
        assert_eq!(parameters(literal), None, "{literal}");
    }
}

#[test]
fn an_unknown_address_is_null() {
    let mut document = AsyncApi::new("t", "1");
    let description = Description::message("googlepubsub", "h", "");
    document.add(&subject("a", None), "s", &description);
    let document = checked(&document.to_json());
    assert_eq!(document["channels"]["channel"]["address"], json!(null));
}
