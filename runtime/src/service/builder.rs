//! What a service is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pubsink_core::text::Text;
use tower_layer::Layer;

use super::context::Context;
use super::control::Control;
use super::desk::Desk;
use super::event::ServiceEvent;
use super::handle::{ServiceDriver, ServiceHandle};
use super::handler_builder::{Fault, HandlerSpec, IntoHandler, Setting};
use super::outcome::{BoxError, Outcome};
use super::pump::{Pump, Pumping, pump};
use super::route::Route;
use super::running::{Running, Signal};
use super::tell::{Observer, Teller};
use crate::place::Place;
use crate::seam::Runtime;
use crate::subscribe::Source;

/// Subscriptions, each with its handler, ready to run.
#[must_use = "a service does nothing until it is run"]
pub struct Service {
    pub(super) entries: Vec<Entry>,
    pub(super) layers: Vec<Wrap>,
    pub(super) observer: Option<Observer>,
    pub(super) grace: Duration,
}

impl Service {
    /// A service without subscriptions, to which some are added.
    pub fn builder() -> ServiceBuilder {
        ServiceBuilder(Self {
            entries: Vec::new(),
            layers: Vec::new(),
            observer: None,
            grace: Duration::from_secs(30),
        })
    }

    /// A handle, and the driver that runs the service. Spawn or await the driver, or nothing is
    /// handled. `seed` decides the jitter of pauses and nothing else.
    pub fn connect<R: Runtime>(self, runtime: R, seed: u64) -> (ServiceHandle, ServiceDriver) {
        let place: Arc<dyn Place> = Arc::new(runtime);
        let teller = Arc::new(Teller(self.observer));
        let signals: Vec<Arc<Signal>> = self.entries.iter().map(|_| Arc::default()).collect();
        let control = Arc::new(Control::new(signals.clone()));
        let (mut desks, mut pumps) = (Vec::new(), Vec::new());
        for ((entry, signal), seed) in self.entries.into_iter().zip(signals).zip(seed..) {
            let setting = Setting {
                subscription: entry.subscription.clone(),
                place: Arc::clone(&place),
            };
            let desk = Arc::new(Desk::new(
                entry.subscription,
                Arc::clone(&place),
                Arc::clone(&teller),
                Arc::new(Running::new(Arc::clone(&signal))),
                entry.handler.rules(),
                seed,
            ));
            let mut made = entry.handler.make(&setting);
            for layer in &self.layers {
                made.route = layer(made.route);
            }
            desks.push(Arc::clone(&desk));
            pumps.push((entry.pump)(Pump {
                desk,
                control: Arc::clone(&control),
                signal,
                route: made.route,
                hurry: made.hurry,
            }));
        }
        let handle = ServiceHandle::new(Arc::clone(&control), place, self.grace);
        (handle, ServiceDriver::new(control, desks, pumps))
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries.iter().map(|entry| &entry.subscription);
        f.debug_struct("Service")
            .field("subscriptions", &names.collect::<Vec<_>>())
            .field("layers", &self.layers.len())
            .field("shutdown_grace", &self.grace)
            .finish_non_exhaustive()
    }
}

/// Puts a service together.
#[must_use = "a service does nothing until it is built and run"]
pub struct ServiceBuilder(Service);

pub(super) type Wrap = Box<dyn Fn(Route) -> Route + Send>;

/// A subscription and its handler.
pub(super) struct Entry {
    subscription: Text,
    handler: HandlerSpec,
    pump: Box<dyn FnOnce(Pump) -> Pumping + Send>,
}

impl ServiceBuilder {
    /// Handles what comes from `source`: by an async function that is a
    /// [`Handler`](super::Handler), or by what [`handler`](super::handler()) and
    /// [`batch_handler`](super::batch_handler) make of one.
    ///
    /// Handlings run in tasks of their own, as many at a time as the source hands out.
    pub fn subscription<S: Source, M>(mut self, source: S, handler: impl IntoHandler<M>) -> Self {
        self.0.entries.push(Entry {
            subscription: source.subscription().into(),
            handler: handler.into_handler(),
            pump: Box::new(|setting| Box::pin(pump(source, setting))),
        });
        self
    }

    /// Wraps every handler in a `tower` layer, of all subscriptions, those to come as well. A
    /// later layer wraps those before it. Each subscription gets a service of its own, which its
    /// messages share.
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Route> + Send + 'static,
        L::Service: tower_service::Service<Context, Response = Outcome> + Clone + Send + 'static,
        <L::Service as tower_service::Service<Context>>::Error: Into<BoxError>,
        <L::Service as tower_service::Service<Context>>::Future: Send + 'static,
    {
        let wrap = move |route: Route| route.layered(&layer);
        self.0.layers.push(Box::new(wrap));
        self
    }

    /// Tells `observer` of everything worth telling. It is called by the tasks that handle
    /// messages, several at a time, and should return soon. Without one, failures are logged.
    pub fn on_event(mut self, observer: impl Fn(&ServiceEvent) + Send + Sync + 'static) -> Self {
        self.0.observer = Some(Box::new(observer));
        self
    }

    /// How long handlers have to come to their end when the service is stopped without a limit of
    /// its own. Default 30 s.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.0.grace = grace;
        self
    }

    /// Checks what can be known before the first message.
    ///
    /// # Errors
    ///
    /// [`BuildError`].
    pub fn build(self) -> Result<Service, BuildError> {
        if self.0.entries.is_empty() {
            return Err(BuildError::NoSubscription);
        }
        for entry in &self.0.entries {
            if let Some(fault) = entry.handler.fault() {
                return Err(BuildError::of(fault, entry.subscription.clone()));
            }
        }
        Ok(self.0)
    }
}

impl fmt::Debug for ServiceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServiceBuilder").field(&self.0).finish()
    }
}

/// Why a service was not built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// It has no subscription to serve.
    #[error("a service needs a subscription")]
    NoSubscription,
    /// A handler returns replies and has no publisher for them.
    #[error(
        "the handler of {0} replies, and has no publisher for replies: set one with `reply_to`"
    )]
    NoReplyTo(Text),
    /// A batch handler returns a reply, which would be one for many messages.
    #[error(
        "the batch handler of {0} returns a reply: reply message by message, with `Item::reply`"
    )]
    BatchReply(Text),
    /// A batch handler's batches are to hold nothing.
    #[error("the batches of {0} are to hold at most 0 messages; the least is 1")]
    EmptyBatch(Text),
}

impl BuildError {
    fn of(fault: Fault, subscription: Text) -> Self {
        match fault {
            Fault::NoReplyTo => Self::NoReplyTo(subscription),
            Fault::BatchReply => Self::BatchReply(subscription),
            Fault::EmptyBatch => Self::EmptyBatch(subscription),
        }
    }
}
