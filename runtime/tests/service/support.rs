//! What the tests share.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pubsink_runtime::core::failure::MessageId;
use pubsink_runtime::core::subscribe::ReceivedMessage;
use pubsink_runtime::seam::{Runtime, Timer};
use pubsink_runtime::service::{IntoHandler, Service, ServiceBuilder, ServiceEvent, Stopped};

use crate::broker::Broker;

/// tokio's tasks and its clock, which the tests pause: it jumps to the next timer when nothing else
/// is to be done.
#[derive(Debug, Clone)]
pub(crate) struct Paused;

impl Runtime for Paused {
    type Timer = PausedTimer;

    fn now(&self) -> Instant {
        now()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }

    fn timer(&self) -> PausedTimer {
        PausedTimer(Box::pin(tokio::time::sleep(Duration::ZERO)))
    }
}

pub(crate) struct PausedTimer(Pin<Box<tokio::time::Sleep>>);

impl Timer for PausedTimer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.0.as_mut().reset(at.into());
    }
}

impl Future for PausedTimer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

pub(crate) async fn sleep(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

pub(crate) fn message(id: &str, data: impl Into<Bytes>) -> ReceivedMessage {
    let id = MessageId::from_utf8(id).unwrap();
    ReceivedMessage::new("lease".into(), id, data)
}

/// Messages `1` to `count`.
pub(crate) fn messages(count: usize) -> Vec<ReceivedMessage> {
    let ids = 1..=count;
    ids.map(|id| message(&id.to_string(), id.to_string()))
        .collect()
}

/// What an observer heard.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<ServiceEvent>>>);

impl Heard {
    pub(crate) fn observer(&self) -> impl Fn(&ServiceEvent) + Send + Sync + 'static {
        let heard = self.clone();
        move |event| heard.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn events(&self) -> Vec<ServiceEvent> {
        self.0.lock().unwrap().clone()
    }

    /// Those that `what` wants.
    pub(crate) fn all<T>(&self, what: impl FnMut(ServiceEvent) -> Option<T>) -> Vec<T> {
        self.events().into_iter().filter_map(what).collect()
    }

    pub(crate) fn handled(&self) -> usize {
        let handled = self.all(|event| matches!(event, ServiceEvent::Handled { .. }).then_some(()));
        handled.len()
    }
}

/// A service of one subscription.
pub(crate) fn serving<M>(broker: &Broker, handler: impl IntoHandler<M>) -> ServiceBuilder {
    Service::builder().subscription(broker.clone(), handler)
}

/// Runs it until every message is done with.
pub(crate) async fn run(builder: ServiceBuilder) -> Stopped {
    let run = builder.build().unwrap().run(Paused, 1);
    let day = Duration::from_secs(24 * 3_600);
    let stopped = tokio::time::timeout(day, run).await;
    stopped.expect("it never ends")
}

/// Seconds, to the nearest whole one.
pub(crate) fn whole(seconds: f64) -> u64 {
    Duration::from_secs_f64(seconds + 0.5).as_secs()
}
