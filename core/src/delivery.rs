//! The context of one attempt to hand an envelope to a sink.

use crate::claim::ClaimRef;
use crate::trace_context::TraceContext;

/// One attempt's context, beside the envelope.
///
/// The default is a first attempt, sent [directly](Self::batch), with the default headers
/// forwarded and no bound of its own on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryContext {
    /// Which attempt this is, from 1. It widens the pause a throttled delivery is given.
    pub attempt: u32,
    /// Where the body lies when it is too large to travel in the message.
    pub claim: Option<ClaimRef>,
    /// The replay job this delivery belongs to.
    pub replay_id: Option<String>,
    /// Which of the envelope's headers travel with the message.
    pub forward_headers: ForwardHeaders,
    /// The most headers to forward. Default: no bound.
    pub max_headers: Option<usize>,
    /// The most bytes of header names and values to forward. Default: no bound.
    pub forward_headers_max_bytes: Option<usize>,
    /// The trace that this attempt belongs to: travels as the attributes `traceparent` and
    /// `tracestate`. Where there is none the hook's own may:
    /// [`trace_context`](crate::options::PublisherOptions::trace_context).
    pub trace_context: Option<TraceContext>,
    /// Whether the delivery may share a request with others. Dispatch sets it; a direct delivery
    /// is one request, sent without lingering.
    pub batch: bool,
    /// This delivery is the next one of its ordering key by the caller's own order: a key that was
    /// stopped goes on with it. Dispatch sets it.
    pub resume_key: bool,
}

impl Default for DeliveryContext {
    fn default() -> Self {
        Self {
            attempt: 1,
            claim: None,
            replay_id: None,
            forward_headers: ForwardHeaders::Default,
            max_headers: None,
            forward_headers_max_bytes: None,
            trace_context: None,
            batch: false,
            resume_key: false,
        }
    }
}

impl DeliveryContext {
    /// A first attempt that may share its request with others.
    #[must_use]
    pub fn batched() -> Self {
        Self {
            batch: true,
            ..Self::default()
        }
    }
}

/// Which headers are forwarded. Some never are, whatever a list says: see
/// [`message`](crate::message).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ForwardHeaders {
    /// Every header that may be.
    #[default]
    Default,
    /// Only those named, in any case. An empty list forwards nothing.
    Only(Vec<String>),
}
