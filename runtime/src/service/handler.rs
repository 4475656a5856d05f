//! Handlers: async functions of what a message holds.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waking, Poll};

use super::context::Context;
use super::from_message::FromMessage;
use super::outcome::{BoxError, IntoSettlement, Outcome};

/// Handles messages. Every async function is one that takes up to three arguments, each of which
/// [can be made of a message](FromMessage), and returns something that
/// [says what becomes of it](IntoSettlement):
///
/// ```
/// use pubsink_runtime::core::subscribe::Settlement;
/// use pubsink_runtime::service::{Context, Handler, Json, Reply};
/// # use std::collections::BTreeMap;
/// # type Order = BTreeMap<String, String>;
///
/// async fn count(Json(order): Json<Order>) {}
///
/// async fn ship(context: Context, Json(order): Json<Order>) -> Result<Settlement, String> {
///     # Err(String::new())
/// }
///
/// async fn price(order: Json<Order>) -> Result<Reply, Box<dyn std::error::Error>> {
///     Ok(Reply::json(&order.len())?)
/// }
///
/// fn are_handlers<A, B, C>(_: impl Handler<A>, _: impl Handler<B>, _: impl Handler<C>) {}
/// are_handlers(count, ship, price);
/// ```
///
/// What it shares with others it captures, as closures do. `M` tells the kinds of functions apart
/// and is never written down.
///
/// A function that takes something else is none:
///
/// ```compile_fail
/// # fn is_handler<M>(_: impl pubsink_runtime::service::Handler<M>) {}
/// async fn wrong(number: f64) {}
/// is_handler(wrong);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "this is not a handler",
    note = "a handler is an `async fn` of up to three arguments that implement `FromMessage`, such \
            as `Context` and `Json<T>`, and returns what implements `IntoSettlement`, such as `()` \
            or `Result<Settlement, Error>`; its future has to be `Send`"
)]
pub trait Handler<M>: Send + Sync + 'static {
    /// Whether it may reply.
    const MAY_REPLY: bool;

    /// Handles a message. A message that it does not take is a
    /// [`DecodeError`](super::DecodeError).
    fn call(&self, context: Context) -> impl Future<Output = Result<Outcome, BoxError>> + Send;
}

macro_rules! handlers {
    ($($argument:ident),*) => {
        impl<F, Done, R, $($argument),*> Handler<fn($($argument),*)> for F
        where
            F: Fn($($argument),*) -> Done + Send + Sync + 'static,
            Done: Future<Output = R> + Send,
            R: IntoSettlement,
            $($argument: FromMessage),*
        {
            const MAY_REPLY: bool = R::MAY_REPLY;

            #[allow(non_snake_case, unused_variables)]
            async fn call(&self, context: Context) -> Result<Outcome, BoxError> {
                // Ends before the wait: what decodes need not be `Send`.
                let done = {
                    $(let $argument = $argument::from_message(&context)?;)*
                    self($($argument),*)
                };
                done.await.into_outcome()
            }
        }
    };
}

handlers!();
handlers!(A);
handlers!(A, B);
handlers!(A, B, C);

/// A handler as a service of `tower`.
pub(super) struct HandlerService<M, H> {
    handler: Arc<H>,
    kind: PhantomData<fn() -> M>,
}

impl<M, H: Handler<M>> HandlerService<M, H> {
    pub(super) fn new(handler: H) -> Self {
        Self {
            handler: Arc::new(handler),
            kind: PhantomData,
        }
    }
}

impl<M: 'static, H: Handler<M>> tower_service::Service<Context> for HandlerService<M, H> {
    type Response = Outcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, context: Context) -> Self::Future {
        let handler = Arc::clone(&self.handler);
        Box::pin(async move { handler.call(context).await })
    }
}

impl<M, H> Clone for HandlerService<M, H> {
    fn clone(&self) -> Self {
        Self {
            handler: Arc::clone(&self.handler),
            kind: PhantomData,
        }
    }
}

impl<M, H> fmt::Debug for HandlerService<M, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandlerService")
    }
}
