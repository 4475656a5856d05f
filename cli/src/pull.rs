//! Reads a subscription back over REST, for the demo.

use bytes::Bytes;
use http::Request;
use pubsink_core::options::Endpoint;
use pubsink_tokio::seam::{SendLimits, Transport};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

use crate::exit::CommandError;

/// The most messages of one pull.
const PULL_MAX: u32 = 1_000;
/// The most bytes of one pull's reply.
const REPLY_MAX: usize = 64 * 1024 * 1024;

/// A subscription at an endpoint.
pub(crate) struct Subscription<'a, T> {
    pub(crate) client: &'a T,
    pub(crate) endpoint: &'a Endpoint,
    /// `projects/P/subscriptions/S`.
    pub(crate) name: &'a str,
}

/// A message as it was pulled.
#[derive(Debug, Deserialize)]
pub(crate) struct Received {
    #[serde(rename = "ackId")]
    ack_id: String,
    pub(crate) message: Message,
}

/// Its data.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    /// As base64.
    #[serde(default)]
    pub(crate) data: String,
}

#[derive(Deserialize)]
struct Pulled {
    #[serde(rename = "receivedMessages", default)]
    received: Vec<Received>,
}

impl<T: Transport> Subscription<'_, T> {
    /// Pulls and acknowledges until nothing is left.
    pub(crate) async fn drain(&self) -> Result<Vec<Received>, CommandError> {
        let mut all = Vec::new();
        loop {
            let body = json!({"maxMessages": PULL_MAX, "returnImmediately": true});
            let pulled: Pulled = self.call("pull", &body).await?;
            if pulled.received.is_empty() {
                return Ok(all);
            }
            let ids: Vec<_> = pulled
                .received
                .iter()
                .map(|message| &message.ack_id)
                .collect();
            let _: Value = self.call("acknowledge", &json!({"ackIds": ids})).await?;
            all.extend(pulled.received);
        }
    }

    async fn call<A: DeserializeOwned>(&self, verb: &str, body: &Value) -> Result<A, CommandError> {
        let failed = |why: &dyn std::fmt::Display| CommandError::new(format!("cannot {verb}"), why);
        let request = Request::post(format!("{}/v1/{}:{verb}", self.endpoint, self.name))
            .header("content-type", "application/json")
            .body(Bytes::from(body.to_string()))
            .map_err(|error| failed(&error))?;
        let mut limits = SendLimits::new(Duration::from_secs(10));
        limits.body_max = REPLY_MAX;
        let reply = self.client.send(request, limits).await;
        let reply = reply.map_err(|error| failed(&error))?;
        if reply.status() != 200 {
            let text = String::from_utf8_lossy(reply.body());
            return Err(failed(&format!("{}: {text}", reply.status())));
        }
        serde_json::from_slice(reply.body()).map_err(|error| failed(&error))
    }
}
