//! What a subscription's driver does in tasks of their own: calls, and streams.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable};
use http::{HeaderMap, Request, Response, response};
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_core::subscribe::{
    AckId, CallClass, CallFailure, CallId, ReceivedMessage, StreamEnd, StreamId, SubscribeInput,
};
use pubsink_core::text::Text;
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;
use pubsink_core::wire::subscribe::{grpc, rest, transport_failure};

use super::client::{AnyStreams, AnyTransport, Client, Line};
use super::shared::Shared;
use super::stream::{Says, Stream};
use crate::metrics::Asked;
use crate::promise::promised;
use crate::seam::{Answer, Runtime, SendLimits, TransportError};
use crate::tasks::AnyTokens;
use crate::tokens::NoToken;
use crate::within::within;

/// How long a token provider has.
const TOKEN_TIME: Duration = Duration::from_secs(30);
/// How long an answer to a pull may take: Pub/Sub holds one that finds nothing for 90 s.
const PULL_TIME: Duration = Duration::from_secs(120);
/// The most bytes of an answer to a pull: 1,000 messages, together at most 20 MiB as over gRPC, in
/// base64.
const PULL_MAX_BYTES: usize = 32 * 1024 * 1024;

/// Starts tasks whose answer reaches the machine whatever happens to them.
#[derive(Clone)]
pub(super) struct Tasks<R> {
    pub(super) runtime: R,
    pub(super) shared: Arc<Shared>,
    pub(super) client: Client,
    pub(super) tokens: Option<Arc<dyn AnyTokens>>,
    /// Streams of one id get what was sent on one of them before.
    pub(super) client_id: Text,
}

/// A task that the driver may stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TaskId {
    Stream(StreamId),
    Call(CallId),
}

/// A call about leases.
#[derive(Debug, Clone, Copy)]
pub(super) enum About {
    Acknowledge,
    ModifyDeadline(u16),
}

impl<R: Runtime> Tasks<R> {
    pub(super) fn pull(&self, call: CallId, max: u32, refused: Option<Token>) -> AbortHandle {
        let tasks = self.clone();
        let asking = self.shared.metrics.asking(Asked::Pull);
        let work = async move {
            let pulled = tasks.pulled(max, refused).await;
            asking.answered(pulled.as_ref().err());
            pulled
        };
        self.spawn(TaskId::Call(call), work, lost_call, move |result| {
            SubscribeInput::Pulled { call, result }
        })
    }

    pub(super) fn call(
        &self,
        call: CallId,
        about: About,
        ids: Vec<AckId>,
        refused: Option<Token>,
    ) -> AbortHandle {
        let tasks = self.clone();
        let asking = self.shared.metrics.asking(match about {
            About::Acknowledge => Asked::Acknowledge,
            About::ModifyDeadline(0) => Asked::Nack,
            About::ModifyDeadline(_) => Asked::Extend,
        });
        let work = async move {
            let answered = tasks.answered(about, &ids, refused).await;
            asking.answered(answered.as_ref().err());
            answered
        };
        self.spawn(TaskId::Call(call), work, lost_call, move |result| {
            SubscribeInput::Answered { call, result }
        })
    }

    pub(super) fn stream(
        &self,
        id: StreamId,
        ack_deadline: u16,
        refused: Option<Token>,
        says: Arc<Says>,
    ) -> AbortHandle {
        let tasks = self.clone();
        let asking = self.shared.metrics.asking(Asked::Stream);
        let work = async move {
            let end = tasks.streamed(id, ack_deadline, refused, &says).await;
            asking.answered(match &end {
                StreamEnd::Failed(failure) => Some(failure),
                _ => None,
            });
            end
        };
        self.spawn(TaskId::Stream(id), work, lost_stream, move |end| {
            SubscribeInput::Ended { stream: id, end }
        })
    }

    async fn streamed(
        &self,
        id: StreamId,
        ack_deadline: u16,
        refused: Option<Token>,
        says: &Says,
    ) -> StreamEnd {
        let Line::Grpc(client) = &self.client.0 else {
            return StreamEnd::Failed(no_such("streams"));
        };
        let stream = Stream {
            id,
            tasks: self,
            says,
        };
        let end = stream.run(&**client, ack_deadline, refused).await;
        end.unwrap_or_else(StreamEnd::Failed)
    }

    /// A token, where there is a provider; a fresh one where one was refused.
    pub(super) async fn token(&self, refused: Option<Token>) -> Result<Option<Token>, CallFailure> {
        let Some(tokens) = &self.tokens else {
            return Ok(None);
        };
        let token = within(&self.runtime, TOKEN_TIME, tokens.token(refused)).await;
        let token = token.unwrap_or_else(|| Err(NoToken("no token came in time".to_owned())));
        // The token service may come back.
        token.map(Some).map_err(|NoToken(detail)| {
            let detail = Text::capped(detail.as_bytes());
            CallFailure::new(CallClass::Transient, Reason::NoCredentials { detail })
        })
    }

    /// What an answer says, and when it came.
    pub(super) fn reply(&self, head: response::Parts, body: Bytes) -> Reply {
        Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            received_at_ms: self.runtime.unix_ms(),
        }
    }

    async fn pulled(
        &self,
        max: u32,
        refused: Option<Token>,
    ) -> Result<Vec<ReceivedMessage>, CallFailure> {
        let Line::Rest(client) = &self.client.0 else {
            return Err(no_such("pulls"));
        };
        let token = self.token(refused).await?;
        let token = token.as_ref();
        let options = &self.shared.options;
        let mut limits = SendLimits::new(options.timeout());
        limits.response = PULL_TIME;
        limits.body_max = PULL_MAX_BYTES;
        let request = rest::pull(options, max, token);
        let reply = self.send(&**client, request, limits, token).await?;
        let pulled = rest::read_pull(&reply, token)?;
        self.shared.unreadable(pulled.unreadable);
        Ok(pulled.messages)
    }

    async fn answered(
        &self,
        about: About,
        ids: &[AckId],
        refused: Option<Token>,
    ) -> Result<(), CallFailure> {
        let token = self.token(refused).await?;
        let token = token.as_ref();
        let options = &self.shared.options;
        let limits = SendLimits::new(options.timeout());
        match &self.client.0 {
            Line::Rest(client) => {
                let request = match about {
                    About::Acknowledge => rest::acknowledge(options, ids, token),
                    About::ModifyDeadline(seconds) => {
                        rest::modify_ack_deadline(options, ids, seconds, token)
                    }
                };
                let reply = self.send(&**client, request, limits, token).await?;
                rest::read_answer(&reply, ids, token)
            }
            Line::Grpc(client) => {
                let request = match about {
                    About::Acknowledge => grpc::acknowledge(options, ids, token),
                    About::ModifyDeadline(seconds) => {
                        grpc::modify_ack_deadline(options, ids, seconds, token)
                    }
                };
                let (reply, trailers) = self.ask(&**client, request, limits, token).await?;
                grpc::read_answer(&reply, &trailers, ids, token)
            }
        }
    }

    async fn send(
        &self,
        client: &dyn AnyTransport,
        request: Request<Bytes>,
        limits: SendLimits,
        token: Option<&Token>,
    ) -> Result<Reply, CallFailure> {
        let sent: Result<Response<Bytes>, _> = client.send(request, limits).await;
        let (head, body) = sent.map_err(|error| failed(&error, token))?.into_parts();
        Ok(self.reply(head, body))
    }

    async fn ask(
        &self,
        client: &dyn AnyStreams,
        request: Request<Bytes>,
        limits: SendLimits,
        token: Option<&Token>,
    ) -> Result<(Reply, HeaderMap), CallFailure> {
        let answer = client.call(request, limits).await;
        let Answer {
            parts,
            body,
            trailers,
        } = answer.map_err(|error| failed(&error, token))?;
        Ok((self.reply(parts, body), trailers))
    }

    fn spawn<T: Send + 'static>(
        &self,
        id: TaskId,
        work: impl Future<Output = T> + Send + 'static,
        lost: fn() -> T,
        answer: impl FnOnce(T) -> SubscribeInput + Send + 'static,
    ) -> AbortHandle {
        let shared = Arc::clone(&self.shared);
        let give = move |done| shared.task_ended(id, answer(done));
        let (abort, registration) = AbortHandle::new_pair();
        let work = promised(work, lost, give);
        let task = async move {
            // What is aborted is dropped here, where it may panic.
            let _ = Abortable::new(work, registration).await;
        };
        // Not every runtime survives a panic.
        let task = AssertUnwindSafe(task).catch_unwind().map(|_| ());
        self.runtime.spawn(task);
        abort
    }
}

/// It got no answer.
pub(super) fn failed(error: &TransportError, token: Option<&Token>) -> CallFailure {
    transport_failure(error.kind, &error.detail, token)
}

/// The machine asks only for what its wire has.
fn no_such(what: &str) -> CallFailure {
    let detail = format!("its client knows no {what}");
    transport_failure(TransportKind::Other, &detail, None)
}

fn lost() -> CallFailure {
    let detail = "its task panicked or was dropped";
    transport_failure(TransportKind::Closed, detail, None)
}

fn lost_call<T>() -> Result<T, CallFailure> {
    Err(lost())
}

fn lost_stream() -> StreamEnd {
    StreamEnd::Failed(lost())
}
