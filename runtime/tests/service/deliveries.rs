//! Messages in hand.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use pubsink_runtime::core::subscribe::{DeliveryId, LeaseLost, SettleError, Settlement};
use pubsink_runtime::subscribe::{Delivery, DeliveryEnd, Settler};

use crate::support::message;

/// Keeps what it was told.
#[derive(Default)]
struct Told(Mutex<Vec<(u64, Settlement)>>);

impl Settler for Told {
    fn settle(&self, delivery: DeliveryId, settlement: Settlement) {
        self.0.lock().unwrap().push((delivery.number(), settlement));
    }
}

fn deliver(told: &Arc<Told>, id: u64) -> (Delivery, DeliveryEnd) {
    let settler = Arc::clone(told) as Arc<dyn Settler>;
    Delivery::new(
        DeliveryId::new(id),
        message("m", "data"),
        "projects/p/subscriptions/s",
        settler,
    )
}

#[test]
fn what_waits_for_a_settlement_keeps_nothing_of_the_message() {
    let told = Arc::<Told>::default();
    let (delivery, end) = deliver(&told, 1);
    let lease = delivery.lease();
    let message = Arc::downgrade(delivery.message());
    let settling = delivery.ack();
    assert!(message.upgrade().is_none());
    drop((lease, settling, end));
}

/// Whether a future is still waited for.
fn waits(future: impl Future) -> bool {
    let mut future = pin!(future);
    future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending()
}

#[test]
fn each_is_settled_once_and_a_dropped_one_is_given_back() {
    let told = Arc::<Told>::default();
    let (mut deliveries, mut ends) = (Vec::new(), Vec::new());
    for id in 1..=5 {
        let (delivery, end) = deliver(&told, id);
        deliveries.push(delivery);
        ends.push(end);
    }
    let mut deliveries = deliveries.into_iter();
    let mut next = || deliveries.next().unwrap();
    drop(next().ack());
    drop(next().discard());
    drop(next().retry());
    drop(next().retry_after(Duration::from_secs(7)));
    drop(next());
    let expected = [
        (1, Settlement::Ack),
        (2, Settlement::Drop),
        (3, Settlement::Retry),
        (4, Settlement::RetryAfter(Duration::from_secs(7))),
        (5, Settlement::Retry),
    ];
    assert_eq!(*told.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_settlement_resolves_with_what_became_of_it() {
    let told = Arc::default();
    let refused = SettleError::LeaseLost("too late".into());
    let (delivery, end) = deliver(&told, 1);
    let mut settling = pin!(delivery.ack());
    assert!(waits(settling.as_mut()));
    let telling = tokio::spawn({
        let refused = refused.clone();
        async move { end.settled(Err(refused)) }
    });
    assert_eq!(settling.as_mut().await, Err(refused));
    telling.await.unwrap();
    // It was told once.
    assert!(waits(settling));
}

/// Keeps leases for ten seconds more.
struct Ten(Told);

impl Settler for Ten {
    fn settle(&self, delivery: DeliveryId, settlement: Settlement) {
        self.0.settle(delivery, settlement);
    }

    fn longest_pause(&self, _delivery: DeliveryId) -> Option<Duration> {
        Some(Duration::from_secs(10))
    }
}

#[test]
fn a_pause_that_is_too_long_is_refused_by_the_call_and_the_message_goes_back_all_the_same() {
    let seconds = Duration::from_secs;
    let told = Arc::new(Ten(Told::default()));
    let deliver = |id| {
        let settler = Arc::clone(&told) as Arc<dyn Settler>;
        Delivery::new(DeliveryId::new(id), message("m", "data"), "s", settler)
    };
    let (delivery, end) = deliver(1);
    assert_eq!(delivery.longest_pause(), Some(seconds(10)));
    let mut refused = delivery.retry_after(seconds(11));
    // What its driver says of it comes too late.
    end.settled(Ok(()));
    let (asked, max) = (seconds(11), seconds(10));
    let polled = pin!(&mut refused).poll(&mut Context::from_waker(Waker::noop()));
    let expected = Err(SettleError::RetryTooLate { asked, max });
    assert_eq!(polled, std::task::Poll::Ready(expected));

    let (delivery, _end) = deliver(2);
    assert!(waits(delivery.retry_after(seconds(10))));
    let expected = [
        (1, Settlement::RetryAfter(seconds(11))),
        (2, Settlement::RetryAfter(seconds(10))),
    ];
    assert_eq!(*told.0.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn an_end_without_a_word_is_a_closed_one() {
    let told = Arc::default();
    let (delivery, end) = deliver(&told, 1);
    let lease = delivery.lease();
    drop(end);
    assert_eq!(lease.lost().await, LeaseLost::Closed);
    assert_eq!(delivery.ack().await, Err(SettleError::Closed));
}

#[tokio::test]
async fn a_lease_tells_all_who_watch_it_when_it_is_lost_and_the_first_cause_stays() {
    let told = Arc::default();
    let (delivery, end) = deliver(&told, 1);
    let lease = delivery.lease();
    assert!(!lease.is_lost());
    let mut watching = (pin!(lease.lost()), pin!(lease.clone().lost()));
    assert!(waits(watching.0.as_mut()) && waits(watching.1.as_mut()));
    // One that is not watched any more is no trouble.
    drop(lease.lost());
    end.lost(&LeaseLost::MaxLease);
    end.lost(&LeaseLost::Expired);
    assert_eq!(watching.0.await, LeaseLost::MaxLease);
    assert_eq!(watching.1.await, LeaseLost::MaxLease);
    assert_eq!(lease.lost().await, LeaseLost::MaxLease);
    assert_eq!(lease.cause(), Some(LeaseLost::MaxLease));
}

#[test]
fn nothing_is_lost_of_what_is_settled() {
    let told = Arc::default();
    let (delivery, end) = deliver(&told, 1);
    let lease = delivery.lease();
    drop(delivery.ack());
    end.settled(Ok(()));
    assert!(!lease.is_lost());
    assert!(waits(lease.lost()));
}

#[test]
fn its_debug_form_holds_no_data() {
    let told = Arc::default();
    let settler = told as Arc<Told>;
    let secret = message("m", "hunter2");
    let (delivery, _end) = Delivery::new(DeliveryId::new(1), secret, "s", settler);
    let shown = format!("{delivery:?} {:?}", delivery.lease());
    assert!(
        shown.contains("\"m\"") && !shown.contains("hunter2"),
        "{shown}"
    );
}
