//! The AsyncAPI document. That the official parser takes it is checked where the document is made.

use serde_json::Value;

use super::support::pubsink;

const TOPIC: [&str; 5] = ["describe", "--project", "my-project", "--topic", "hooks"];

fn document(more: &[&str]) -> Value {
    let done = pubsink(&[&TOPIC[..], more].concat()).done().exits(0);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn it_names_the_topic_and_pins_the_sources() {
    let document = document(&[
        "--source",
        "github:acme",
        "--source",
        "stripe",
        "--title",
        "Acme",
    ]);
    assert_eq!(document["asyncapi"], "3.0.0");
    assert_eq!(document["info"]["title"], "Acme");
    let servers = document["servers"].as_object().unwrap();
    let hosts: Vec<_> = servers.values().map(|server| &server["host"]).collect();
    assert_eq!(hosts, ["pubsub.googleapis.com"]);
    let channels = document["channels"].as_object().unwrap();
    let (_, channel) = channels.iter().next().unwrap();
    assert_eq!(channel["address"], "projects/my-project/topics/hooks");
    let messages = channel["messages"].as_object().unwrap();
    let names: Vec<_> = messages.keys().map(String::as_str).collect();
    assert_eq!(names, ["github-acme", "stripe"]);
}

#[test]
fn the_emulator_and_an_endpoint_of_ones_own_are_named_as_they_are() {
    let own = document(&["--endpoint", "https://us-east1-pubsub.googleapis.com/"]);
    assert!(
        own.to_string()
            .contains("\"us-east1-pubsub.googleapis.com\"")
    );
    let done = pubsink(&TOPIC).env("PUBSUB_EMULATOR_HOST", "127.0.0.1:8085");
    let done = done.done().exits(0);
    assert!(
        done.stdout.contains("\"127.0.0.1:8085\""),
        "{}",
        done.stdout
    );
}

#[test]
fn what_is_no_source_is_refused() {
    for source in ["", ":", "a:", ":b"] {
        let done = pubsink(&[&TOPIC[..], &["--source", source]].concat());
        let done = done.done().exits(2);
        assert!(done.stderr.contains("--source"), "{}", done.stderr);
    }
    let url = "https://user:secret@example.com";
    let done = pubsink(&[&TOPIC[..], &["--endpoint", url]].concat());
    let done = done.done().exits(2);
    assert!(!done.stderr.contains("secret"), "{}", done.stderr);
}
