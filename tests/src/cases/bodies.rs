//! R36: a body is bytes, and comes back as the bytes that were received.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::join_all;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::publish::Message;
use sha2::{Digest as _, Sha256};

use super::all_delivered;
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::pull::decode;

cases! {
    Anything, "R36.1-10 a hook's body comes back byte for byte, whatever it is" => hook_bodies, .publishes(BOTH);
    Anything, "R36.1-10 a plain message's data comes back byte for byte, whatever it is" => plain_bodies, .publishes(BOTH);
}

pub(super) fn bodies() -> Vec<Vec<u8>> {
    let deep = 100_000;
    vec![
        br#"{"a":1.0,"b":1,"a":2}"#.to_vec(),
        br#"{"n":12345678901234567890123, "x":1e400}"#.to_vec(),
        b"\xEF\xBB\xBF{}".to_vec(),
        br#"{"s":"\u00e9\ud83d\ude00"}"#.to_vec(),
        b"\xFF\xFE\x00\x80".to_vec(),
        b"{ }\n".to_vec(),
        b"{ }\r\n".to_vec(),
        [vec![b'['; deep], vec![b']'; deep]].concat(),
        Vec::new(),
        vec![0; 1_000_000],
        b"aGVsbG8gd29ybGQ=".to_vec(),
    ]
}

pub(super) fn sha256(body: &[u8]) -> String {
    Sha256::digest(body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

async fn hook_bodies(env: Env) {
    let publisher = env.publisher(env.options().inline_max_bytes(2_000_000));
    let hook = |(number, body): (usize, Vec<u8>)| Envelope {
        id: format!("body-{number}"),
        source_id: "tests".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: Bytes::from(body),
        dedupe_key: None,
    };
    let hooks: Vec<_> = bodies().into_iter().enumerate().map(hook).collect();
    let batched = DeliveryContext::batched();
    all_delivered(&join_all(hooks.iter().map(|hook| publisher.deliver(hook, &batched))).await);
    let pulled = env.pull(hooks.len()).await;
    let by_id: BTreeMap<_, _> = pulled
        .iter()
        .map(|one| (one.attributes["ankusa_id"].as_str(), &one.data))
        .collect();
    for hook in &hooks {
        let message = decode(by_id[hook.id.as_str()]);
        assert!(
            message.body.as_deref() == Some(&*hook.body),
            "the body of {} changed",
            hook.id
        );
        assert_eq!(message.sha256, Some(sha256(&hook.body)));
        assert_eq!(message.size, hook.body.len() as u64);
    }
}

async fn plain_bodies(env: Env) {
    let publisher = env.publisher(env.options());
    let message = |(number, body): (usize, Vec<u8>)| {
        let mut message = Message::new(body);
        message.attributes.insert("number", number.to_string());
        message
    };
    let messages: Vec<_> = bodies().into_iter().enumerate().map(message).collect();
    all_delivered(&super::publish_all(&publisher, messages).await);
    let pulled = env.pull(bodies().len()).await;
    let by_number: BTreeMap<_, _> = pulled
        .iter()
        .map(|one| (one.attributes["number"].as_str(), &one.data))
        .collect();
    for (number, body) in bodies().iter().enumerate() {
        assert!(
            by_number[number.to_string().as_str()] == body,
            "body {number} changed"
        );
    }
}
