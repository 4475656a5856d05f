//! The two things a driver does in tasks of their own: asking for a token, sending a request.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable};
use pubsink_core::publish::{Input, PublishRequest, RequestId};
use pubsink_core::text::Text;
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;

use crate::seam::{Runtime, SendLimits, Trailers, Transport};
use crate::shared::{Mark, Shared};
use crate::tokens::{NoToken, TokenProvider};

/// A token provider whose type is forgotten: it is asked once a request, which a box is nothing
/// beside.
pub(crate) trait AnyTokens: Send + Sync {
    fn token(
        &self,
        refused: Option<Token>,
    ) -> Pin<Box<dyn Future<Output = Result<Token, NoToken>> + Send + '_>>;
}

impl<P: TokenProvider> AnyTokens for P {
    fn token(
        &self,
        refused: Option<Token>,
    ) -> Pin<Box<dyn Future<Output = Result<Token, NoToken>> + Send + '_>> {
        Box::pin(TokenProvider::token(self, refused))
    }
}

/// Starts tasks whose answer reaches the machine whatever happens to them.
pub(crate) struct Tasks<R, T> {
    pub(crate) runtime: R,
    pub(crate) shared: Arc<Shared>,
    pub(crate) transport: Arc<T>,
    pub(crate) tokens: Option<Arc<dyn AnyTokens>>,
    pub(crate) limits: SendLimits,
}

impl<R: Runtime, T: Transport> Tasks<R, T> {
    pub(crate) fn authorize(&self, id: RequestId, refused: Option<Token>) -> AbortHandle {
        let tokens = self.tokens.clone();
        self.spawn(id, async move {
            let token = match tokens {
                Some(tokens) => tokens.token(refused).await,
                None => Err(NoToken("there is no token provider".to_owned())),
            };
            let token = token.map_err(|NoToken(detail)| Text::capped(detail.as_bytes()));
            Input::Token { request: id, token }
        })
    }

    pub(crate) fn send(&self, request: PublishRequest) -> AbortHandle {
        let (runtime, transport) = (self.runtime.clone(), Arc::clone(&self.transport));
        let limits = self.limits;
        let shared = Arc::clone(&self.shared);
        self.spawn(request.id(), async move {
            let messages = request.len();
            let (http, sent) = request.encode_with(|| shared.buffers.take());
            let metrics = &shared.metrics;
            let sending = metrics.sending(messages, http.body().len(), || runtime.now());
            let mut response = match transport.send(http, limits).await {
                Ok(response) => {
                    let (mut head, body) = response.into_parts();
                    let trailers = head.extensions.remove::<Trailers>().unwrap_or_default();
                    let reply = Reply {
                        status: head.status.as_u16(),
                        headers: head.headers,
                        body,
                        received_at_ms: runtime.unix_ms(),
                    };
                    sent.answered_with(&reply, &trailers.0)
                }
                Err(error) => sent.failed(error.kind, &error.detail),
            };
            sending.answered(|| runtime.now(), &response);
            while let Some(buffer) = response.take_buffer() {
                shared.buffers.give(buffer);
            }
            Input::Response(response)
        })
    }

    fn spawn(
        &self,
        id: RequestId,
        work: impl Future<Output = Input<Mark>> + Send + 'static,
    ) -> AbortHandle {
        let answer = Answer {
            id,
            runtime: self.runtime.clone(),
            shared: Arc::clone(&self.shared),
            input: None,
        };
        let (abort, registration) = AbortHandle::new_pair();
        let task = async move {
            // All of it moves in, so that it is dropped with the task.
            let mut answer = answer;
            // Providers and transports are the user's code; not every runtime survives a panic.
            let done = AssertUnwindSafe(work).catch_unwind().await;
            answer.input = done.ok();
        };
        let task = Abortable::new(task, registration);
        self.runtime.spawn(task.map(|_| ()));
        abort
    }
}

/// A task's answer, given when it ends in any way: done, panicked, aborted, or dropped by its
/// runtime.
struct Answer<R: Runtime> {
    id: RequestId,
    runtime: R,
    shared: Arc<Shared>,
    input: Option<Input<Mark>>,
}

impl<R: Runtime> Drop for Answer<R> {
    fn drop(&mut self) {
        let input = self.input.take().unwrap_or_else(|| Input::Lost {
            request: self.id,
            detail: "its task panicked or was dropped".into(),
        });
        self.shared.answer(self.runtime.now(), self.id, input);
    }
}
