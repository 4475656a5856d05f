//! Reads a subscription back, and decodes what came by two decoders.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pubsink_core::message::{self, DecodedMessage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::env::{Env, PROJECT};
use super::rest::path_of;

/// A message as a consumer gets it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pulled {
    pub(crate) data: Vec<u8>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) ordering_key: String,
    pub(crate) message_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply {
    #[serde(default)]
    received_messages: Vec<Received>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    ack_id: String,
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    data: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    #[serde(default)]
    ordering_key: String,
    message_id: String,
}

impl Env {
    /// Everything in the case's subscription, which has to be exactly `count` messages.
    pub(crate) async fn pull(&self, count: usize) -> Vec<Pulled> {
        self.pull_from(&self.topic_id(), count).await
    }

    /// Everything in a subscription, acknowledged as it comes.
    pub(crate) async fn pull_from(&self, id: &str, count: usize) -> Vec<Pulled> {
        let path = path_of(&format!("projects/{PROJECT}/subscriptions/{id}"));
        let mut all = Vec::new();
        let mut empty_pulls = 0;
        // A server may answer an empty pull although there is more.
        while empty_pulls < if all.len() < count { 200 } else { 2 } {
            let received = self.pull_once(&path).await;
            if received.is_empty() {
                empty_pulls += 1;
                self.sleep(if all.len() < count { 20 } else { 50 }).await;
            }
            all.extend(received);
        }
        assert_eq!(all.len(), count, "messages in the subscription");
        all
    }

    async fn pull_once(&self, path: &str) -> Vec<Pulled> {
        let body = json!({"maxMessages": 1_000, "returnImmediately": true});
        let (status, reply) = self.call("POST", &format!("{path}:pull"), &body).await;
        assert_eq!(status, 200, "{reply}");
        let reply: Reply = serde_json::from_value(reply).expect("a pull reply");
        let ids: Vec<_> = reply
            .received_messages
            .iter()
            .map(|one| &one.ack_id)
            .collect();
        if !ids.is_empty() {
            let acknowledge = format!("{path}:acknowledge");
            let (status, reply) = self
                .call("POST", &acknowledge, &json!({"ackIds": ids}))
                .await;
            assert_eq!(
                (status, reply),
                (200, Value::Object(serde_json::Map::new()))
            );
        }
        let pulled = |one: Received| Pulled {
            data: STANDARD.decode(one.message.data).expect("data is base64"),
            attributes: one.message.attributes,
            ordering_key: one.message.ordering_key,
            message_id: one.message.message_id,
        };
        reply.received_messages.into_iter().map(pulled).collect()
    }
}

/// Decodes a hook message by our own decoder and by the format's own Rust consumer, which have to
/// agree.
pub(crate) fn decode(data: &[u8]) -> DecodedMessage {
    let ours = message::decode(data).expect("our decoder reads what we send");
    let theirs = ankusa::decode_message(data).expect("ankusa reads what we send");
    assert_eq!(ours.id, theirs.id);
    assert_eq!(ours.source_id, theirs.source_id);
    assert_eq!(ours.tenant_id, theirs.tenant_id);
    assert_eq!(ours.received_at, theirs.received_at);
    assert_eq!(ours.content_type, theirs.content_type);
    assert_eq!(ours.size, theirs.size);
    assert_eq!(ours.dedupe_key, theirs.dedupe_key);
    assert_eq!(ours.replay_id, theirs.replay_id);
    assert_eq!(ours.headers, theirs.headers);
    assert_eq!(ours.sha256, theirs.sha256);
    assert_eq!(ours.body.as_deref(), theirs.body.as_deref());
    let claim = ours.claim.as_ref().map(|claim| claim.as_str());
    assert_eq!(claim, theirs.claim.as_deref());
    assert_eq!(
        ours.idempotency_key.as_deref(),
        Some(&*theirs.idempotency_key(false))
    );
    ours
}
