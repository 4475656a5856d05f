//! A handler, and what is set about it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pubsink_core::subscribe::Retry;
use pubsink_core::text::Text;
use tower_layer::Layer;
use tower_service::Service;

use super::batch::{Batch, BatchOptions, Collector, CollectorService};
use super::context::Context;
use super::desk::{DecodeFailure, Rules};
use super::from_message::FromMessage;
use super::handler::{Handler, HandlerService};
use super::outcome::{BoxError, IntoSettlement, Outcome};
use super::route::Route;
use crate::place::Place;
use crate::publisher::Publisher;

/// A handler of which something is set.
///
/// ```
/// use std::time::Duration;
/// use pubsink_runtime::Publisher;
/// use pubsink_runtime::core::subscribe::Backoff;
/// use pubsink_runtime::service::{DecodeFailure, HandlerBuilder, Json, Reply, handler};
///
/// async fn double(Json(number): Json<u32>) -> Result<Reply, Box<dyn std::error::Error>> {
///     Ok(Reply::json(&(number * 2))?)
/// }
///
/// fn doubling(replies: Publisher) -> HandlerBuilder {
///     handler(double)
///         .reply_to(replies)
///         .on_decode_error(DecodeFailure::Drop)
///         .retry(Backoff { base: Duration::from_millis(100), ..Backoff::default() })
/// }
/// ```
pub fn handler<M: 'static, H: Handler<M>>(handler: H) -> HandlerBuilder {
    HandlerBuilder {
        kind: One {
            make: Box::new(|| Route::new(HandlerService::new(handler))),
        },
        common: Common::new(H::MAY_REPLY),
    }
}

/// A handler of many messages at once: an async function of a [`Batch`].
///
/// A batch leaves as soon as it is full, or a while after its first message came in. It is never
/// larger than what its source hands out at a time
/// ([`handlers`](pubsink_core::subscribe::SubscriberOptions::handlers), 16 by default): set both.
/// It never holds two messages of one ordering key.
///
/// ```
/// use std::time::Duration;
/// use pubsink_runtime::service::{Batch, HandlerBuilder, Json, Many, batch_handler};
///
/// async fn insert(batch: Batch<Json<u32>>) -> Result<(), std::io::Error> {
///     let mut rows = Vec::new();
///     for item in batch {
///         match *item.value {
///             0 => item.discard(),
///             row => rows.push(row),
///         }
///     }
///     // Those that were not settled are acked, or retried, with what this returns.
///     # fn store(_: &[u32]) -> std::io::Result<()> { Ok(()) }
///     store(&rows)
/// }
///
/// let inserting: HandlerBuilder<Many> =
///     batch_handler(insert).max(500).linger(Duration::from_millis(200));
/// ```
pub fn batch_handler<T, F, Done, R>(handler: F) -> HandlerBuilder<Many>
where
    T: FromMessage + Send + 'static,
    F: Fn(Batch<T>) -> Done + Send + Sync + 'static,
    Done: Future<Output = R> + Send + 'static,
    R: IntoSettlement,
{
    let make = move |options, setting: &Setting| {
        let run = move |batch| {
            let done = handler(batch);
            Box::pin(async move { done.await.into_outcome() }) as _
        };
        let subscription = setting.subscription.clone();
        let place = Arc::clone(&setting.place);
        let collector = Collector::<T>::new(options, subscription, place, Box::new(run));
        Made {
            route: Route::new(CollectorService(Arc::clone(&collector))),
            hurry: Some(Box::new(move || collector.hurry())),
        }
    };
    HandlerBuilder {
        kind: Many {
            options: BatchOptions {
                max: 100,
                linger: Duration::from_millis(100),
            },
            replies: R::MAY_REPLY,
            make: Box::new(make),
        },
        // Its items may; whether they do is only known when they do.
        common: Common::new(false),
    }
}

/// A handler of which something is set: see [`handler()`] and [`batch_handler`].
#[must_use = "a handler does nothing until a service has it"]
pub struct HandlerBuilder<K = One> {
    kind: K,
    common: Common,
}

/// A handler of one message at a time.
pub struct One {
    make: Box<dyn FnOnce() -> Route + Send>,
}

/// A handler of many messages at a time.
pub struct Many {
    options: BatchOptions,
    /// Whether what it returns may hold a reply.
    replies: bool,
    make: Box<MakeMany>,
}

type MakeMany = dyn FnOnce(BatchOptions, &Setting) -> Made + Send;

impl<K> HandlerBuilder<K> {
    /// Publishes its replies by this publisher. Default: none; a handler that replies needs one.
    pub fn reply_to(mut self, publisher: Publisher) -> Self {
        self.common.rules.reply_to = Some(publisher);
        self
    }

    /// What becomes of a message that cannot be read as what the handler takes. Default: it is
    /// retried, by the policy.
    pub fn on_decode_error(mut self, failure: DecodeFailure) -> Self {
        self.common.rules.decode = failure;
        self
    }

    /// What follows when a handling fails: an `Err`, a panic, a layer's error, a message that
    /// cannot be read. A [`Settlement`](pubsink_core::subscribe::Settlement) that the handler
    /// returns is its own decision. Default: [`Retry::AtOnce`].
    ///
    /// A reply that cannot be published is always retried with a pause, by the default
    /// [`Backoff`](pubsink_core::subscribe::Backoff) where nothing is set here, and its message is
    /// never dropped for it: [`GiveUp::Drop`](pubsink_core::subscribe::GiveUp::Drop) is for handlers
    /// that fail.
    pub fn retry(mut self, retry: impl Into<Retry>) -> Self {
        self.common.rules.retry = retry.into();
        self
    }

    /// Wraps the handler in a `tower` layer. A later one wraps those before it, and those of the
    /// [service](super::ServiceBuilder::layer) wrap all of them. What a layer answers with an
    /// error is retried, by the policy.
    ///
    /// Reading the message is inside of it; publishing a reply is not.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Route> + Send + 'static,
        L::Service: Service<Context, Response = Outcome> + Clone + Send + 'static,
        <L::Service as Service<Context>>::Error: Into<BoxError>,
        <L::Service as Service<Context>>::Future: Send + 'static,
    {
        let wrap = move |route: Route| route.layered(&layer);
        self.common.layers.push(Box::new(wrap));
        self
    }
}

impl HandlerBuilder<Many> {
    /// The most messages of a batch. Default 100, at least 1.
    pub fn max(mut self, max: usize) -> Self {
        self.kind.options.max = max;
        self
    }

    /// How long a batch waits for more from when its first message came in. Default 100 ms.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.kind.options.linger = linger;
        self
    }
}

/// What can handle the messages of a subscription: an async function that is a [`Handler`], or
/// what [`handler()`] and [`batch_handler`] make of one.
///
/// `M` tells the kinds apart and is never written down.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "this is not a handler",
    note = "a handler is an `async fn` of up to three arguments that implement `FromMessage`, such \
            as `Context` and `Json<T>`, and returns what implements `IntoSettlement`, such as `()` \
            or `Result<Settlement, Error>`; its future has to be `Send`. An `async fn(Batch<T>)` \
            needs `batch_handler`"
)]
pub trait IntoHandler<M> {
    /// What a service needs of it.
    fn into_handler(self) -> HandlerSpec;
}

impl<M: 'static, H: Handler<M>> IntoHandler<M> for H {
    fn into_handler(self) -> HandlerSpec {
        handler(self).into_handler()
    }
}

impl IntoHandler<One> for HandlerBuilder<One> {
    fn into_handler(self) -> HandlerSpec {
        let make = self.kind.make;
        HandlerSpec {
            make: Box::new(|_| Made {
                route: make(),
                hurry: None,
            }),
            fault: None,
            common: self.common,
        }
    }
}

impl IntoHandler<Many> for HandlerBuilder<Many> {
    fn into_handler(self) -> HandlerSpec {
        let Many {
            options,
            replies,
            make,
        } = self.kind;
        let fault = if options.max == 0 {
            Some(Fault::EmptyBatch)
        } else {
            replies.then_some(Fault::BatchReply)
        };
        HandlerSpec {
            make: Box::new(move |setting| make(options, setting)),
            fault,
            common: self.common,
        }
    }
}

/// A handler as a service needs it.
pub struct HandlerSpec {
    make: Box<dyn FnOnce(&Setting) -> Made + Send>,
    fault: Option<Fault>,
    common: Common,
}

/// Why a handler cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    NoReplyTo,
    BatchReply,
    EmptyBatch,
}

/// What a handler is made for.
pub(super) struct Setting {
    pub(super) subscription: Text,
    pub(super) place: Arc<dyn Place>,
}

/// A handler with its layers.
pub(super) struct Made {
    pub(super) route: Route,
    /// Tells what gathers messages that no more will come.
    pub(super) hurry: Option<Box<dyn Fn() + Send>>,
}

impl HandlerSpec {
    pub(super) fn fault(&self) -> Option<Fault> {
        let common = &self.common;
        let no_reply_to = common.may_reply && common.rules.reply_to.is_none();
        let no_reply_to = no_reply_to.then_some(Fault::NoReplyTo);
        self.fault.or(no_reply_to)
    }

    pub(super) fn rules(&self) -> Rules {
        self.common.rules.clone()
    }

    pub(super) fn make(self, setting: &Setting) -> Made {
        let mut made = (self.make)(setting);
        for wrap in self.common.layers {
            made.route = wrap(made.route);
        }
        made
    }
}

struct Common {
    rules: Rules,
    layers: Vec<Box<dyn FnOnce(Route) -> Route + Send>>,
    may_reply: bool,
}

impl Common {
    fn new(may_reply: bool) -> Self {
        Self {
            rules: Rules::default(),
            layers: Vec::new(),
            may_reply,
        }
    }
}

impl fmt::Debug for HandlerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerSpec")
            .field("rules", &self.common.rules)
            .field("layers", &self.common.layers.len())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for HandlerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerBuilder")
            .field("rules", &self.common.rules)
            .field("layers", &self.common.layers.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("One")
    }
}

impl fmt::Debug for Many {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Many")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
