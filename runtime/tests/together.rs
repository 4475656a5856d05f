//! Messages that are published together: one future, each message's own outcome.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be set up is a failed test"
)]

#[path = "support/no_timer.rs"]
mod no_timer;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use no_timer::NoTimer;
use pubsink_runtime::core::attributes::Attributes;
use pubsink_runtime::core::failure::{Class, Outcome};
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::reason::{InvalidMessage, Reason};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime, SendLimits, Transport, TransportError};
use pubsink_runtime::{Deliveries, Driver, Publisher, connect};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A runtime whose tasks run when the test says so.
#[derive(Clone, Default)]
struct ByHand(Arc<Mutex<Vec<Task>>>);

impl Runtime for ByHand {
    type Timer = NoTimer;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap().push(Box::pin(task));
    }

    fn timer(&self) -> NoTimer {
        NoTimer
    }
}

/// Stores messages in the order of its requests, their data as their ids, and refuses requests with
/// a poisoned one.
#[derive(Clone, Default)]
struct Server(Arc<AtomicUsize>);

const POISON: &str = "poison";

impl Transport for Server {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body = std::str::from_utf8(request.body()).unwrap();
        // The data of a message is its number, three digits that are four characters of base64.
        let data = body.split(r#""data":""#).skip(1);
        let ids: Vec<_> = data.map(|data| format!("\"{}\"", &data[..4])).collect();
        if body.contains(POISON) {
            let refused = Response::builder().status(StatusCode::BAD_REQUEST);
            let why = r#"{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}"#;
            return Ok(refused.body(why.into()).unwrap());
        }
        self.0.fetch_add(ids.len(), Ordering::SeqCst);
        let body = format!("{{\"messageIds\":[{}]}}", ids.join(","));
        Ok(Response::new(body.into()))
    }
}

/// A publisher, and all that runs it.
struct House {
    publisher: Publisher,
    driver: Option<Driver>,
    runtime: ByHand,
    server: Server,
}

impl House {
    fn new() -> Self {
        Self::holding(10_000)
    }

    /// One that holds at most `max` messages.
    fn holding(max: usize) -> Self {
        let (runtime, server) = (ByHand::default(), Server::default());
        let options = PublisherOptions::builder("p", "hooks").batch_queue_max(max);
        let options = options.batch_queue_tenant(max).build().unwrap();
        let (publisher, driver) =
            connect(options, runtime.clone(), server.clone(), None::<Token>, 1);
        Self {
            publisher,
            driver: Some(driver),
            runtime,
            server,
        }
    }

    /// Runs until there is nothing left to do, bisection included.
    fn run(&mut self) {
        drop(self.publisher.flush());
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            let driver = self.driver.as_mut();
            if driver.is_some_and(|driver| Pin::new(driver).poll(&mut context).is_ready()) {
                self.driver = None;
            }
            let tasks = std::mem::take(&mut *self.runtime.0.lock().unwrap());
            for mut task in tasks {
                if task.as_mut().poll(&mut context).is_pending() {
                    self.runtime.0.lock().unwrap().push(task);
                }
            }
        }
        assert_eq!(self.publisher.gauges().messages, 0);
    }

    fn stored(&self) -> usize {
        self.server.0.load(Ordering::SeqCst)
    }
}

/// Message number `number`.
fn message(number: usize) -> Message {
    Message::new(format!("{number:03}"))
}

/// What the server makes the id of that message.
fn id(number: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = format!("{number:03}")
        .bytes()
        .fold(0, |bits, byte| bits << 8 | u32::from(byte));
    let digit = |at: u32| char::from(DIGITS[(bits >> at & 63) as usize]);
    [18, 12, 6, 0].map(digit).into_iter().collect()
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn outcomes(deliveries: Deliveries) -> Vec<Outcome> {
    match poll(pin!(deliveries)) {
        Poll::Ready(outcomes) => outcomes,
        Poll::Pending => panic!("they are not known yet"),
    }
}

fn is_stored(outcome: &Outcome, number: usize) -> bool {
    matches!(outcome, Ok(delivered) if delivered.message_id.as_str() == id(number))
}

#[test]
fn outcomes_are_in_the_order_of_the_messages() {
    let mut house = House::new();
    let all = house.publisher.publish_all((0..500).map(message));
    house.run();
    let all = outcomes(all);
    assert_eq!(all.len(), 500);
    for (number, outcome) in all.iter().enumerate() {
        assert!(is_stored(outcome, number), "{number}: {outcome:?}");
    }
    assert_eq!(house.stored(), 500);
}

#[test]
fn what_is_refused_or_poisoned_fails_alone() {
    let mut house = House::new();
    let all = house.publisher.publish_all((0..300).map(|number| {
        let mut message = message(number);
        let name = match number {
            7 => "goog-reserved",
            90 => return Message::new(vec![0; 20_000_000]),
            150 => POISON,
            _ => return message,
        };
        message.attributes = Attributes::from_iter([(name, "x")]);
        message
    }));
    house.run();
    for (number, outcome) in outcomes(all).iter().enumerate() {
        let reason = outcome.as_ref().err().map(|failure| {
            assert_eq!(failure.class, Class::Permanent);
            &*failure.reason
        });
        match (number, reason) {
            (7, Some(Reason::InvalidMessage(InvalidMessage::ReservedAttributeName { .. }))) => {}
            (90, Some(Reason::MessageTooLarge { .. })) => {}
            (150, Some(Reason::Pubsub { http: 400, .. })) => {}
            _ => assert!(is_stored(outcome, number), "{number}: {outcome:?}"),
        }
    }
    assert_eq!(house.stored(), 297);
}

#[test]
fn what_passes_a_ceiling_is_refused_and_the_rest_goes() {
    let mut house = House::holding(100);
    let all = house.publisher.publish_all((0..130).map(message));
    house.run();
    let all = outcomes(all);
    assert!((0..100).all(|number| is_stored(&all[number], number)));
    for outcome in &all[100..] {
        let failure = outcome.as_ref().unwrap_err();
        assert!(matches!(*failure.reason, Reason::BatchQueueFull { .. }));
    }
}

#[test]
fn of_no_messages_there_are_no_outcomes_at_once() {
    let house = House::new();
    assert!(outcomes(house.publisher.publish_all([])).is_empty());
    let refused = Message::default();
    assert_eq!(outcomes(house.publisher.publish_all([refused])).len(), 1);
}

#[test]
fn dropped_they_go_on_their_way() {
    let mut house = House::new();
    drop(house.publisher.publish_all((0..200).map(message)));
    house.run();
    assert_eq!(house.stored(), 200);
    // Their slot is used again, by one that has an outcome of its own.
    let one = house.publisher.publish(message(1));
    let all = house.publisher.publish_all((0..3).map(message));
    house.run();
    assert!(matches!(poll(pin!(one)), Poll::Ready(Ok(_))));
    assert_eq!(outcomes(all).len(), 3);
}

#[test]
fn messages_whose_making_panics_are_sent_as_far_as_they_were_made() {
    let mut house = House::new();
    let publisher = house.publisher.clone();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        publisher.publish_all((0..500).map(|number| {
            assert!(number < 200, "no more");
            message(number)
        }))
    }));
    assert!(panicked.is_err());
    house.run();
    assert_eq!(house.stored(), 200);
    let all = house.publisher.publish_all((0..10).map(message));
    house.run();
    assert!(outcomes(all).iter().all(Result::is_ok));
}

#[test]
fn messages_are_not_asked_for_once_there_were_no_more() {
    let mut house = House::new();
    let mut left = (0..10).map(Some).chain([None]);
    let messages = std::iter::from_fn(|| left.next().expect("asked again").map(message));
    let all = house.publisher.publish_all(messages);
    house.run();
    assert_eq!(outcomes(all).len(), 10);
}

#[test]
fn making_a_message_may_use_the_publisher() {
    let mut house = House::new();
    let publisher = house.publisher.clone();
    let all = publisher.publish_all((0..100).map(|number| {
        drop(publisher.publish(message(number)));
        let others = publisher.publish_all([message(number)]);
        drop((others, publisher.gauges()));
        message(number)
    }));
    house.run();
    assert!(outcomes(all).iter().all(Result::is_ok));
    assert_eq!(house.stored(), 300);
}

#[test]
fn without_a_driver_each_has_an_outcome() {
    let mut house = House::new();
    let before = house.publisher.publish_all((0..100).map(message));
    house.driver = None;
    let after = house.publisher.publish_all((0..100).map(message));
    for all in [before, after] {
        let all = outcomes(all);
        assert_eq!(all.len(), 100);
        for outcome in all {
            let failure = outcome.unwrap_err();
            assert_eq!(failure.class, Class::Transient);
            assert!(!failure.may_have_been_stored);
        }
    }
}

#[test]
fn a_flush_and_a_shutdown_wait_for_them_and_outcomes_outlive_the_driver() {
    let mut house = House::new();
    let first = house.publisher.publish_all((0..300).map(message));
    let mut flush = pin!(house.publisher.flush());
    assert!(poll(flush.as_mut()).is_pending());
    house.run();
    assert!(poll(flush).is_ready());

    let last = house.publisher.publish_all((0..100).map(message));
    let mut shutdown = pin!(house.publisher.shutdown(Duration::from_secs(600)));
    let late = house.publisher.publish_all((0..3).map(message));
    assert!(poll(shutdown.as_mut()).is_pending());
    house.run();
    assert!(poll(shutdown).is_ready());
    assert!(house.driver.is_none());
    for (all, count) in [(first, 300), (last, 100)] {
        let all = outcomes(all);
        assert_eq!(all.len(), count);
        assert!(all.iter().all(Result::is_ok));
    }
    let late = outcomes(late);
    assert_eq!(late.len(), 3);
    assert!(late.iter().all(Result::is_err));
    assert_eq!(house.stored(), 400);
}
