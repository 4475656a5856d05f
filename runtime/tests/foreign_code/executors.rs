//! Executors and wakers are somebody else's code: they may drop a task inside `wake`, panic, or
//! call back.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use pubsink_runtime::core::dispatch::EnqueueError;
use pubsink_runtime::core::journal::JournalError;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::reason::{Reason, TransportKind};
use pubsink_runtime::seam::Runtime as _;

use crate::queue::{Answers, envelope, run, start, start_dispatch};

#[test]
fn an_executor_that_drops_a_task_when_it_is_woken_holds_nobody_up() {
    let (publisher, driver, runtime, queue) = start(Answers::Never, |options| options);
    runtime.spawn(driver);
    run(&queue);
    // The executor is gone; the driver waits for a wake that will drop it.
    drop(queue);
    let (done, is_done) = sync_channel(1);
    thread::spawn(move || {
        let mut delivery = Box::pin(publisher.publish(Message::new("x")));
        let outcome = delivery
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        drop(publisher);
        done.send(outcome).unwrap();
    });
    let outcome = is_done.recv_timeout(Duration::from_secs(30)).unwrap();
    let Poll::Ready(Err(failure)) = outcome else {
        panic!("{outcome:?}");
    };
    let Reason::Transport { transport, .. } = &*failure.reason else {
        panic!("{failure}");
    };
    assert_eq!(*transport, TransportKind::Closed);
    assert!(!failure.may_have_been_stored);
}

#[test]
fn an_executor_that_drops_a_dispatcher_when_it_is_woken_holds_nobody_up() {
    let (dispatch, _, queue) = start_dispatch();
    let before = dispatch.stopped();
    // The executor is gone with a call that it has not run; the driver waits for a wake that will
    // drop it.
    drop(queue);
    let (done, is_done) = sync_channel(1);
    thread::spawn(move || {
        let mut context = Context::from_waker(Waker::noop());
        let accepted = pin!(dispatch.enqueue(envelope("x"))).poll(&mut context);
        let before = pin!(before).poll(&mut context);
        let after = pin!(dispatch.stopped()).poll(&mut context);
        done.send((accepted, before, after)).unwrap();
    });
    let (accepted, before, after) = is_done.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(accepted, Poll::Ready(Err(EnqueueError::Closed)));
    assert!(matches!(before, Poll::Ready(Err(_))), "{before:?}");
    assert_eq!(after, Poll::Ready(Err(JournalError::Closed)));
}

struct Counting {
    woken: AtomicUsize,
    panics: bool,
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::SeqCst);
        assert!(!self.panics, "a waker that panics");
    }
}

#[test]
fn a_waker_that_panics_costs_nobody_else_anything() {
    let (publisher, driver, runtime, queue) = start(Answers::Stored, |options| options);
    runtime.spawn(driver);
    let wakers = [true, false, false].map(|panics| {
        let woken = AtomicUsize::new(0);
        Arc::new(Counting { woken, panics })
    });
    let mut deliveries: Vec<_> = (0..3)
        .map(|_| publisher.publish(Message::new("x")))
        .collect();
    for (delivery, waker) in deliveries.iter_mut().zip(&wakers) {
        let waker = Waker::from(Arc::clone(waker));
        assert!(
            pin!(delivery)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    // No timer here: a flush ends the linger.
    drop(publisher.flush());
    run(&queue);
    let woken = wakers
        .each_ref()
        .map(|waker| waker.woken.load(Ordering::SeqCst));
    assert_eq!(woken, [1, 1, 1]);
    assert!(publisher.is_alive());
    for delivery in deliveries {
        let outcome = pin!(delivery).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Ok(_))), "{outcome:?}");
    }
}
