//! A request on its way: encoded, sent and answered outside the machine.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request};

use super::body::Body;
use crate::options::{PublisherOptions, Wire};
use crate::reason::{Reason, TransportKind};
use crate::text::Text;
use crate::token::Token;
use crate::wire::{self, EncodedPublish, Reply, Verdict};

/// The number of a request, in the order they started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(super) u64);

impl RequestId {
    /// The number, for logs.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A request to encode and send. Encoding is the costly part, so it is left to the task that
/// sends.
#[derive(Debug)]
pub struct PublishRequest {
    pub(super) id: RequestId,
    pub(super) options: Arc<PublisherOptions>,
    pub(super) token: Option<Token>,
    pub(super) payload: Payload,
}

/// The messages of a request.
#[derive(Debug)]
pub(super) enum Payload {
    /// A new batch.
    Fresh(Vec<Body>),
    /// Messages that were encoded before.
    Again(Box<EncodedPublish>),
}

impl PublishRequest {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// How many messages it carries.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.payload {
            Payload::Fresh(messages) => messages.len(),
            Payload::Again(encoded) => encoded.len(),
        }
    }

    /// Whether it carries none, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its token and its body, for a trace: the request itself goes on its way.
    #[cfg(feature = "test-util")]
    pub(crate) fn look(&self) -> (Option<&Token>, Bytes) {
        let body = match &self.payload {
            Payload::Fresh(messages) => {
                wire::encode(&self.options, messages.iter(), Vec::new()).body()
            }
            Payload::Again(encoded) => encoded.body(),
        };
        (self.token.as_ref(), body)
    }

    /// Encodes it: the HTTP request to send, and what turns its reply into the machine's input.
    #[must_use]
    pub fn encode(self) -> (Request<Bytes>, Sent) {
        self.encode_in(Vec::new())
    }

    /// The same in a buffer that was used before, as [`Response::take_buffer`] gives it back:
    /// memory that is new costs more than what is written to it.
    #[must_use]
    pub fn encode_in(self, mut buffer: Vec<u8>) -> (Request<Bytes>, Sent) {
        self.encode_with(|| std::mem::take(&mut buffer))
    }

    /// The same in as many buffers as it takes: one, two where its body is compressed, none where it
    /// was encoded before.
    #[must_use]
    pub fn encode_with(self, mut buffer: impl FnMut() -> Vec<u8>) -> (Request<Bytes>, Sent) {
        let encoded = match self.payload {
            Payload::Fresh(messages) => wire::encode(&self.options, messages.iter(), buffer()),
            Payload::Again(encoded) => *encoded,
        };
        let body = encoded.body();
        let compressed = wire::compress(&self.options, &body, buffer);
        let (token, smaller) = (self.token.as_ref(), compressed.as_ref());
        let request = wire::http_request(&self.options, body, smaller, token);
        let sent = Sent {
            id: self.id,
            token: self.token,
            encoded,
            compressed,
        };
        (request, sent)
    }
}

/// A request that was encoded, and is sent.
#[derive(Debug)]
pub struct Sent {
    id: RequestId,
    token: Option<Token>,
    encoded: EncodedPublish,
    /// What it was compressed to, kept for its buffer.
    compressed: Option<Bytes>,
}

impl Sent {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// Pub/Sub, or something before it, answered; without trailers, which only gRPC has.
    #[must_use]
    pub fn answered(self, reply: &Reply) -> Response {
        self.answered_with(reply, &HeaderMap::new())
    }

    /// The same with the trailers that came after the body, if any: over gRPC they say what
    /// became of the request. Over REST they are not read.
    #[must_use]
    pub fn answered_with(self, reply: &Reply, trailers: &HeaderMap) -> Response {
        let (expected, token) = (self.encoded.len(), self.token.as_ref());
        let verdict = match self.encoded.wire() {
            Wire::Rest => wire::read_reply_hiding(reply, expected, token),
            Wire::Grpc => wire::read_grpc_reply_hiding(reply, trailers, expected, token),
        };
        Response {
            id: self.id,
            encoded: self.encoded,
            compressed: self.compressed,
            verdict,
            #[cfg(feature = "test-util")]
            arrived: Box::new(Arrived::Reply {
                reply: reply.clone(),
                trailers: trailers.clone(),
                token: self.token,
            }),
        }
    }

    /// No answer came. Whether the messages may have been stored follows from `kind`: without a
    /// connection nothing was sent.
    #[must_use]
    pub fn failed(self, kind: TransportKind, detail: &str) -> Response {
        let hidden = self.token.as_ref();
        let hidden = hidden.and_then(|token| token.hide_in(detail.as_bytes()));
        let detail = Text::capped(hidden.as_deref().unwrap_or(detail.as_bytes()));
        Response {
            id: self.id,
            encoded: self.encoded,
            compressed: self.compressed,
            #[cfg(feature = "test-util")]
            arrived: Box::new(Arrived::Failure(kind, detail.clone())),
            verdict: Verdict::Transient {
                reason: Reason::Transport {
                    transport: kind,
                    detail,
                },
                may_have_been_stored: kind != TransportKind::Connect,
            },
        }
    }
}

/// What came of a request.
#[derive(Debug)]
pub struct Response {
    pub(super) id: RequestId,
    pub(super) encoded: EncodedPublish,
    compressed: Option<Bytes>,
    pub(super) verdict: Verdict,
    #[cfg(feature = "test-util")]
    arrived: Box<Arrived>,
}

/// What a response was made of, for a trace.
#[cfg(feature = "test-util")]
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is in a box")]
pub(crate) enum Arrived {
    Reply {
        reply: Reply,
        trailers: HeaderMap,
        /// The token it may repeat.
        token: Option<Token>,
    },
    /// The token is hidden in the detail.
    Failure(TransportKind, Text),
}

impl Response {
    /// What it was made of, for a trace.
    #[cfg(feature = "test-util")]
    pub(crate) fn arrived(&self) -> &Arrived {
        &self.arrived
    }

    /// The request's number.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.id
    }

    /// Takes a buffer the request was encoded in, to be used again: where its messages were
    /// stored, so that nothing of it is sent again, and where the HTTP client has let go of it.
    /// There are two where the body was compressed; the last one is the larger.
    pub fn take_buffer(&mut self) -> Option<Vec<u8>> {
        match self.verdict {
            Verdict::Delivered(_) => {
                let compressed = self.compressed.take().and_then(wire::take_buffer);
                compressed.or_else(|| self.encoded.take_buffer())
            }
            _ => None,
        }
    }

    /// What the reply means for the request's messages.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Whether it answers a request of the messages `range` of a batch of `batch`.
    pub(super) fn fits(&self, range: &Range<usize>, batch: usize) -> bool {
        let ids_fit = match &self.verdict {
            Verdict::Delivered(ids) => ids.len() == range.len(),
            _ => true,
        };
        ids_fit && self.encoded.is_part(range, batch)
    }
}
