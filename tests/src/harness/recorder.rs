//! Counts what a publisher sends, on any server.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Version};
use pubsink_core::testing::SentMessage;
use pubsink_runtime::seam::{SendLimits, Transport};
use serde::Deserialize;

use super::any::{AnyTransport, Sent};

/// The publish requests so far: how many messages each carried.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<usize>>>);

impl Recorder {
    /// How many messages each request carried, in the order they were sent.
    pub(crate) fn requests(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }

    /// A transport that records and sends on through `inner`.
    pub(crate) fn over(&self, inner: AnyTransport) -> impl Transport + use<> {
        Recording {
            inner,
            recorder: self.clone(),
        }
    }
}

struct Recording {
    inner: AnyTransport,
    recorder: Recorder,
}

impl Transport for Recording {
    async fn send(&self, request: Request<Bytes>, limits: SendLimits) -> Sent {
        let count = match request.version() {
            Version::HTTP_2 => SentMessage::read_all_grpc(request.body()).map(|all| all.len()),
            _ => Some(message_count(request.body())),
        };
        let count = count.expect("it is a publish request");
        self.recorder.0.lock().unwrap().push(count);
        self.inner.send(request, limits).await
    }
}

/// How many messages the body of a publish request holds.
pub(crate) fn message_count(body: &[u8]) -> usize {
    #[derive(Deserialize)]
    struct Body {
        messages: Vec<serde::de::IgnoredAny>,
    }
    let body: Body = serde_json::from_slice(body).expect("a publish request is JSON");
    body.messages.len()
}
