//! Real payloads, there and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pubsink_core::{envelope_line, message};

use super::support::{TOPIC, publish, server};

#[test]
fn every_real_hook_is_delivered_once_and_comes_back_byte_for_byte() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/github-hooks.ndjson");
    let Ok(input) = fs::read_to_string(&path) else {
        return eprintln!("NOT RUN: there is no {}", path.display());
    };
    let sent: BTreeMap<_, _> = (input.lines())
        .map(|line| {
            envelope_line::parse(line.as_bytes())
                .unwrap()
                .into_envelope(String::new, 0)
        })
        .map(|envelope| (envelope.id, envelope.body))
        .collect();
    let server = server();
    let subscription = "projects/p/subscriptions/all";
    let config = pubsink_fixtures::broker::SubscriptionConfig::new(subscription, TOPIC);
    server.create_subscription(config).unwrap();
    let file = path.to_str().unwrap();
    let done = publish(&server, "")
        .arguments(&["--input", file])
        .done()
        .exits(0);
    assert_eq!(done.summary(), "pubsink: 329 delivered, 0 failed");
    let mut back = Vec::new();
    loop {
        let now = std::time::Instant::now();
        let pulled = server
            .broker(|broker| broker.pull(subscription, 1_000, now))
            .unwrap();
        if pulled.is_empty() {
            break;
        }
        back.extend(
            pulled
                .iter()
                .map(|received| message::decode(&received.message.message.data).unwrap()),
        );
    }
    assert_eq!(back.len(), 329);
    let back: BTreeMap<_, _> = back
        .into_iter()
        .map(|hook| (hook.id, hook.body.unwrap()))
        .collect();
    assert_eq!((sent.len(), back.len()), (329, 329), "ids are distinct");
    assert!(back == sent, "a body was changed");
}
