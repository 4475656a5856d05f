//! Layers: those of others, and of one's own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as Waking, Poll};
use std::time::Duration;

use pubsink_runtime::core::subscribe::Settlement;
use pubsink_runtime::service::{
    BoxError, Context, DecodeError, Json, Outcome, Service, ServiceEvent, handler,
};
use tower::limit::{ConcurrencyLimitLayer, GlobalConcurrencyLimitLayer};
use tower::timeout::TimeoutLayer;

use crate::broker::{Broker, Script};
use crate::support::{Heard, Paused, message, messages, run, serving, sleep, whole};

fn once(count: usize) -> Broker {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    Broker::new(script, messages(count))
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_of_tower_fits_and_is_a_retry() {
    let (broker, heard) = (once(2), Heard::default());
    let slow = |Json(number): Json<u32>| sleep(f64::from(number) * 2.0 - 1.5);
    let limited = handler(slow).layer(TimeoutLayer::new(Duration::from_secs(1)));
    run(serving(&broker, limited).on_event(heard.observer())).await;
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
    assert_eq!(broker.settlements("2"), [Settlement::Retry]);
    let errors = heard.all(|event| match event {
        ServiceEvent::HandlerFailed { context, error } => {
            Some((context.message_id().to_string(), error.to_string()))
        }
        _ => None,
    });
    assert_eq!(errors, [("2".to_owned(), "request timed out".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_tower_bounds_the_messages_of_a_subscription() {
    let broker = once(6);
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let counting = move || {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            sleep(1.0).await;
            now.fetch_sub(1, Ordering::Relaxed);
        }
    };
    run(serving(&broker, counting).layer(ConcurrencyLimitLayer::new(2))).await;
    assert_eq!((broker.log().len(), most.load(Ordering::Relaxed)), (6, 2));
    assert_eq!(broker.most_out(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_the_service_wraps_every_handler_also_those_that_came_later() {
    let (first, second) = (once(3), once(3));
    let service = Service::builder()
        .subscription(first.clone(), || sleep(1.0))
        .layer(GlobalConcurrencyLimitLayer::new(1))
        .subscription(second.clone(), || sleep(1.0));
    run(service).await;
    let logs = first.log().into_iter().chain(second.log());
    let mut times: Vec<_> = logs.map(|(at, ..)| whole(at)).collect();
    times.sort_unstable();
    assert_eq!(times, [1, 2, 3, 4, 5, 6]);
}

/// A layer of one's own, that does something with each call.
#[derive(Clone)]
struct Own<S> {
    inner: S,
    does: Does,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Pass,
    Drop,
    Wrap,
    PanicInReady,
    PanicInCall,
    PanicInFuture,
    PanicInDrop,
    PanicInClone,
    NotReady,
    Forget,
    Mark(char),
}

impl<S: tower::Service<Context, Response = Outcome, Error = BoxError>> tower::Service<Context>
    for Own<S>
where
    S::Future: Send + 'static,
{
    type Response = Outcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Waking<'_>) -> Poll<Result<(), BoxError>> {
        match self.does {
            Does::PanicInReady => panic!("not ready for this"),
            Does::NotReady => Poll::Ready(Err("closed today".into())),
            _ => self.inner.poll_ready(cx),
        }
    }

    fn call(&mut self, context: Context) -> Self::Future {
        let does = self.does;
        assert!(does != Does::PanicInCall, "no calls");
        let inner = self.inner.call(context);
        Box::pin(async move {
            let _bomb = Bomb(does == Does::PanicInDrop);
            assert!(does != Does::PanicInFuture, "no future");
            if does == Does::Forget {
                drop(inner);
                return Err("forgotten".into());
            }
            let mut outcome = inner.await;
            match does {
                Does::Drop => Ok(Outcome::new(Settlement::Drop)),
                Does::Wrap => outcome.map_err(|error| Wrapped(error).into()),
                Does::Mark(mark) => {
                    if let Ok(outcome) = &mut outcome
                        && let Settlement::RetryAfter(seen) = &mut outcome.settlement
                    {
                        *seen = *seen * 10 + Duration::from_secs(u64::from(u32::from(mark)));
                    }
                    outcome
                }
                _ => outcome,
            }
        })
    }
}

struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "dropped");
    }
}

#[derive(Debug)]
struct Wrapped(BoxError);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

#[derive(Clone, Copy)]
struct OwnLayer(Does);

impl<S> tower::Layer<S> for OwnLayer {
    type Service = OwnClone<S>;

    fn layer(&self, inner: S) -> OwnClone<S> {
        OwnClone(Own {
            inner,
            does: self.0,
        })
    }
}

/// Panics when it is cloned, where it is to.
struct OwnClone<S>(Own<S>);

impl<S: Clone> Clone for OwnClone<S> {
    fn clone(&self) -> Self {
        assert!(self.0.does != Does::PanicInClone, "no clones");
        Self(self.0.clone())
    }
}

impl<S> tower::Service<Context> for OwnClone<S>
where
    Own<S>: tower::Service<Context>,
{
    type Response = <Own<S> as tower::Service<Context>>::Response;
    type Error = <Own<S> as tower::Service<Context>>::Error;
    type Future = <Own<S> as tower::Service<Context>>::Future;

    fn poll_ready(&mut self, cx: &mut Waking<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, context: Context) -> Self::Future {
        self.0.call(context)
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_a_layer_does_its_message_is_settled_and_it_is_told() {
    for (does, settlement, said) in [
        (Does::Pass, Settlement::Ack, None),
        (Does::Drop, Settlement::Drop, None),
        (Does::NotReady, Settlement::Retry, Some("closed today")),
        (Does::Forget, Settlement::Retry, Some("forgotten")),
        (
            Does::PanicInReady,
            Settlement::Retry,
            Some("not ready for this"),
        ),
        (Does::PanicInCall, Settlement::Retry, Some("no calls")),
        (Does::PanicInFuture, Settlement::Retry, Some("no future")),
        (Does::PanicInDrop, Settlement::Retry, Some("dropped")),
        (Does::PanicInClone, Settlement::Retry, Some("no clones")),
    ] {
        let (broker, heard) = (once(1), Heard::default());
        let service = serving(&broker, || async {}).layer(OwnLayer(does));
        let stopped = run(service.on_event(heard.observer())).await;
        assert!(stopped.is_clean(), "{does:?}: {stopped:?}");
        assert_eq!(broker.settlements("1"), [settlement], "{does:?}");
        let told = heard.all(|event| match event {
            ServiceEvent::HandlerFailed { error, .. } | ServiceEvent::Panicked { error, .. } => {
                Some(error.to_string())
            }
            _ => None,
        });
        let said: Vec<_> = said.into_iter().map(str::to_owned).collect();
        assert_eq!(told, said, "{does:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_read_is_known_through_a_layer_that_wraps_errors() {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    let (broker, heard) = (Broker::new(script, [message("1", "")]), Heard::default());
    let read = |_: Json<u32>| async {};
    let service = serving(&broker, read).layer(OwnLayer(Does::Wrap));
    run(service.on_event(heard.observer())).await;
    let errors = heard.all(|event| match event {
        ServiceEvent::DecodeFailed { error, .. } => Some(error),
        _ => None,
    });
    let expected = DecodeError::new("JSON", "it ends too soon, at line 1 column 0");
    assert_eq!(errors, [expected]);

    // And what else fails is told with its cause.
    let (broker, heard) = (once(1), Heard::default());
    let fails = || async { Err::<(), _>("no stock") };
    let service = serving(&broker, fails).layer(OwnLayer(Does::Wrap));
    run(service.on_event(heard.observer())).await;
    let errors = heard.all(|event| match event {
        ServiceEvent::HandlerFailed { error, .. } => Some(error.to_string()),
        _ => None,
    });
    assert_eq!(errors, ["wrapped: no stock"]);
}

#[tokio::test(start_paused = true)]
async fn a_later_layer_wraps_those_before_it_and_the_services_wrap_the_handlers() {
    let broker = once(1);
    let held = || async { Settlement::RetryAfter(Duration::from_secs(1)) };
    let marked = handler(held)
        .layer(OwnLayer(Does::Mark('\u{2}')))
        .layer(OwnLayer(Does::Mark('\u{3}')));
    let service = serving(&broker, marked)
        .layer(OwnLayer(Does::Mark('\u{4}')))
        .layer(OwnLayer(Does::Mark('\u{5}')));
    let service = service.build().unwrap();
    service.run_until(Paused, 1, sleep(1.0)).await;
    let seen = Settlement::RetryAfter(Duration::from_secs(12_345));
    assert_eq!(broker.settlements("1"), [seen]);
}
