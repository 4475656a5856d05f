//! A handler with its layers, their types forgotten.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waking, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::context::Context;
use super::outcome::{BoxError, Outcome};

/// A handler with the layers around it: what a layer wraps. Clones share the handler; each message
/// has a clone of its own.
pub struct Route(Box<dyn AnyService>);

impl Route {
    pub(super) fn new<S>(service: S) -> Self
    where
        S: Service<Context, Response = Outcome> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        Self(Box::new(service))
    }

    pub(super) fn layered<L>(self, layer: &L) -> Self
    where
        L: Layer<Self>,
        L::Service: Service<Context, Response = Outcome> + Clone + Send + 'static,
        <L::Service as Service<Context>>::Error: Into<BoxError>,
        <L::Service as Service<Context>>::Future: Send + 'static,
    {
        Self::new(layer.layer(self))
    }
}

impl Service<Context> for Route {
    type Response = Outcome;
    type Error = BoxError;
    type Future = RouteFuture;

    fn poll_ready(&mut self, cx: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, context: Context) -> RouteFuture {
        self.0.call(context)
    }
}

impl Clone for Route {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Route")
    }
}

/// A handling on its way.
pub struct RouteFuture(Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>);

impl Future for RouteFuture {
    type Output = Result<Outcome, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Waking<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for RouteFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RouteFuture")
    }
}

/// A service whose type is forgotten: a box a message is nothing beside what a handler does.
trait AnyService: Send {
    fn boxed_clone(&self) -> Box<dyn AnyService>;
    fn poll_ready(&mut self, cx: &mut Waking<'_>) -> Poll<Result<(), BoxError>>;
    fn call(&mut self, context: Context) -> RouteFuture;
}

impl<S> AnyService for S
where
    S: Service<Context, Response = Outcome> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    fn boxed_clone(&self) -> Box<dyn AnyService> {
        Box::new(self.clone())
    }

    fn poll_ready(&mut self, cx: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        Service::poll_ready(self, cx).map_err(Into::into)
    }

    fn call(&mut self, context: Context) -> RouteFuture {
        let call = Service::call(self, context);
        RouteFuture(Box::pin(async move { call.await.map_err(Into::into) }))
    }
}
