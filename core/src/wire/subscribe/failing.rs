//! What follows an answer that is no success.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::reason::{Reason, TransportKind};
use crate::subscribe::{AckId, CallClass, CallFailure, IdFailure};
use crate::text::Text;
use crate::token::Token;
use crate::wire::error_document::ErrorDocument;
use crate::wire::grpc::FrameError;
use crate::wire::grpc::status::name_of;
use crate::wire::reply::Reply;
use crate::wire::retry_hint::parse_retry_after;
use crate::wire::shown::shown;

/// The ErrorInfo that tells of each ack id.
const PER_ID: &str = "EXACTLY_ONCE_ACKID_FAILURE";
/// What starts the word on an ack id that is lost, and on one that may pass the next time.
const PERMANENT: &str = "PERMANENT_FAILURE_";
const TRANSIENT: &str = "TRANSIENT_FAILURE_";

/// No answer came, or it broke off: transient. `token` is hidden where `detail` repeats it.
#[must_use]
pub fn transport_failure(kind: TransportKind, detail: &str, token: Option<&Token>) -> CallFailure {
    let reason = Reason::Transport {
        transport: kind,
        detail: shown(detail.as_bytes(), token),
    };
    CallFailure::new(CallClass::Transient, reason)
}

/// Bytes on a stream that are no frame.
impl From<FrameError> for CallFailure {
    fn from(error: FrameError) -> Self {
        unreadable(error.to_string().into())
    }
}

/// An answer that says that all is well, and cannot be read.
pub(super) fn unreadable(detail: Text) -> CallFailure {
    CallFailure::new(CallClass::Transient, Reason::UnreadableReply { detail })
}

/// A call, as far as the meaning of its failures depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// The leases it is for; none of a call for messages.
    pub(super) leases: Option<&'a [AckId]>,
    /// The token it was sent with.
    pub(super) token: Option<&'a Token>,
}

impl Call<'_> {
    /// It was answered with an error document.
    pub(super) fn refused(
        self,
        http: u16,
        document: &ErrorDocument,
        retry_after: Option<Duration>,
    ) -> CallFailure {
        let reason = document.to_reason(http, self.token);
        if let Some(ids) = self.failed_ids(document) {
            let mut failure = CallFailure::new(CallClass::PerId, reason);
            failure.ids = ids;
            return failure;
        }
        let pause = retry_after.max(document.retry_delay);
        if document.is_rate_limit(http) {
            return CallFailure::new(CallClass::Throttled(pause), reason);
        }
        let status = match document.status.as_str() {
            "" => name_of(http),
            status => status,
        };
        self.failure(http, status, pause, reason)
    }

    /// It was answered with something else than an error document.
    pub(super) fn no_document(self, reply: &Reply) -> CallFailure {
        let reason = Reason::Status {
            http: reply.status,
            body: shown(&reply.body, self.token),
        };
        let pause = parse_retry_after(&reply.headers, reply.received_at_ms);
        let status = match self.leases {
            // Whatever says so, it will say so again: a few tries, and not until the leases end.
            Some(_) if reply.status == 400 => "INVALID_ARGUMENT",
            _ => status_of(reply.status),
        };
        self.failure(reply.status, status, pause, reason)
    }

    fn failure(
        self,
        http: u16,
        status: &str,
        pause: Option<Duration>,
        reason: Reason,
    ) -> CallFailure {
        let class = match status {
            "NOT_FOUND"
            | "PERMISSION_DENIED"
            | "FAILED_PRECONDITION"
            | "UNIMPLEMENTED"
            | "OUT_OF_RANGE" => CallClass::Config,
            "INVALID_ARGUMENT" if self.leases.is_none() => CallClass::Config,
            "INVALID_ARGUMENT" => CallClass::Invalid,
            "UNAUTHENTICATED" => CallClass::Unauthenticated,
            "RESOURCE_EXHAUSTED" => CallClass::Throttled(pause),
            _ if http == 429 || pause.is_some() => CallClass::Throttled(pause),
            _ => CallClass::Transient,
        };
        let mut failure = CallFailure::new(class, reason);
        if class == CallClass::Unauthenticated {
            failure.refused = self.token.cloned();
        }
        failure
    }

    /// What became of the leases that `document` names.
    ///
    /// The ones it does not name count as accepted. So there is none of this when it names
    /// others than the call's own: then it cannot be told which were meant.
    fn failed_ids(self, document: &ErrorDocument) -> Option<BTreeMap<AckId, IdFailure>> {
        let leases = self.leases?.iter().map(|id| (id.as_str(), id));
        let infos = document.infos.iter().filter(|info| info.reason == PER_ID);
        let infos: Vec<_> = infos.collect();
        if infos.is_empty() {
            return None;
        }
        let leases: BTreeMap<&str, &AckId> = leases.collect();
        let mut failed = BTreeMap::new();
        for (name, word) in infos.into_iter().flat_map(|info| &info.metadata) {
            let permanent = word.starts_with(PERMANENT);
            match leases.get(name.as_str()) {
                Some(&id) => {
                    let word = shown(word.as_bytes(), self.token);
                    // A word that is not known is no success either.
                    let failure = match permanent {
                        true => IdFailure::Permanent(word),
                        false => IdFailure::Transient(word),
                    };
                    failed.insert(id.clone(), failure);
                }
                None if permanent || word.starts_with(TRANSIENT) => return None,
                // Something else about the failure.
                None => {}
            }
        }
        (!failed.is_empty()).then_some(failed)
    }
}

/// The code that the HTTP status of something else than Pub/Sub stands for
/// (grpc/doc/http-grpc-status-mapping.md).
fn status_of(http: u16) -> &'static str {
    match http {
        400 => "INTERNAL",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "UNIMPLEMENTED",
        429 | 502..=504 => "UNAVAILABLE",
        _ => "UNKNOWN",
    }
}
