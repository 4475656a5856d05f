//! A running runtime as cases see it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use pubsink_core::options::{PublisherOptions, Wire};
use pubsink_core::subscribe::SubscriberOptions;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder};
use pubsink_runtime::seam::{Runtime, Timer as _};
use pubsink_runtime::service::{Service, ServiceHandle};
use pubsink_runtime::subscribe::Subscription;
use pubsink_runtime::{Driver, Publisher};

use super::any::{AnyClaims, AnyTokens, AnyTransport};
use super::dispatching::Plan;
use super::recorder::Recorder;

/// How a runtime runs its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavor {
    /// On the thread that waits, and only while it waits.
    CurrentThread,
    /// On so many threads of its own.
    Workers(usize),
}

/// A runtime that was started. Dropping it shuts it down, whatever runs on it.
pub(crate) trait Started {
    fn host(&self) -> std::sync::Arc<dyn Host>;
    /// Runs a future to its end on it.
    fn block_on(&self, future: BoxFuture<'_, ()>);
}

/// Takes the lines of a trace.
pub(crate) type Sink = Box<dyn FnMut(&str) + Send>;

/// What a case asks its runtime for.
pub(crate) trait Host: Send + Sync {
    fn spawn(&self, task: BoxFuture<'static, ()>);
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
    /// A client of the runtime's own, for the harness and for cases that wrap one.
    fn transport(&self, client: &Client) -> AnyTransport;
    /// A publisher by the constructor a user calls.
    fn publisher(&self, spec: Spec) -> Publisher;
    /// A publisher whose driver is the caller's to run.
    fn connect(&self, spec: Spec) -> (Publisher, Driver);
    /// The same, which gives each line of its trace to `sink`.
    fn connect_recorded(&self, spec: Spec, sink: Sink) -> (Publisher, Driver);
    /// A claim store by its URL.
    fn claims(&self, url: &str) -> AnyClaims;
    /// A dispatcher by the constructor a user calls.
    fn dispatch(&self, plan: Plan) -> Dispatch;
    /// A dispatcher whose driver is the caller's to run.
    fn connect_dispatch(&self, plan: Plan) -> (Dispatch, Driver);
    /// A subscription by the constructor a user calls.
    fn subscription(&self, options: SubscriberOptions) -> Subscription;
    /// Runs a service.
    fn serve(&self, service: Service) -> ServiceHandle;
}

/// Which client a publisher sends with.
#[derive(Clone, Default)]
pub(crate) enum Client {
    /// What a user gets who says nothing.
    #[default]
    Default,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// What a user gets who says nothing but that the wire is gRPC.
    Calls,
    /// The default one with another time to keep idle connections.
    IdleTimeout(Duration),
    /// The case's own.
    Own(AnyTransport),
}

/// What a publisher is made of.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) options: PublisherOptions,
    pub(crate) client: Client,
    pub(crate) tokens: Option<AnyTokens>,
}

impl Spec {
    pub(crate) fn new(options: PublisherOptions) -> Self {
        Self {
            options,
            client: Client::Default,
            tokens: None,
        }
    }

    pub(crate) fn client(self, client: Client) -> Self {
        Self { client, ..self }
    }

    pub(crate) fn tokens(self, tokens: impl pubsink_runtime::TokenProvider) -> Self {
        Self {
            tokens: Some(AnyTokens::new(tokens)),
            ..self
        }
    }

    /// The same with the default client of its wire made explicit.
    pub(crate) fn explicit(self) -> Self {
        match (&self.client, self.options.wire()) {
            (Client::Default, Wire::Grpc) => self.client(Client::Calls),
            _ => self,
        }
    }

    /// Sends through the default client of its wire, and keeps count.
    pub(crate) fn recorded(self, host: &dyn Host, recorder: &Recorder) -> Self {
        let this = self.explicit();
        let inner = host.transport(&this.client);
        this.client(Client::Own(AnyTransport::new(recorder.over(inner))))
    }
}

/// A dispatcher whose driver is the caller's to run.
pub(crate) fn connect_dispatch<R: Runtime>(runtime: R, plan: Plan) -> (Dispatch, Driver) {
    let mut builder = DispatchBuilder::new(plan.journal).options(plan.options);
    for (name, sink) in plan.sinks {
        builder = builder.sink(name, sink);
    }
    if let Some(claims) = plan.claims {
        builder = builder.claims(claims);
    }
    let connected = builder.on_event(plan.observer).connect(runtime, 1);
    connected.expect("the case's options are in range")
}

/// Runs a service on a runtime of any kind.
pub(crate) fn serve<R: Runtime>(runtime: &R, service: Service) -> ServiceHandle {
    let (handle, driver) = service.connect(runtime.clone(), 1);
    runtime.spawn(async { drop(driver.await) });
    handle
}

/// A sleep by the seam's own timer.
pub(crate) fn sleep<R: Runtime>(runtime: R, time: Duration) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut timer = Box::pin(runtime.timer());
        timer.as_mut().reset(runtime.now() + time);
        timer.await;
    })
}
