//! How a subscription ends, and what becomes of what is in hand.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use pubsink_runtime::core::reason::Reason;
use pubsink_runtime::core::subscribe::{LeaseLost, SettleError, SubscriberOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::subscribe::{ConnectError, Source as _, SourceEnd, connect};

use super::support::{
    Place, SUBSCRIPTION, leased, next, options, publish, server, subscribe, until,
};

pub(crate) async fn closing_gives_back_what_waits<P: Place>(wire: Wire) {
    let server = server();
    publish::<P>(&server, 10).await;
    let mut subscription = subscribe::<P>(options(&server, wire).handlers(3));
    let handle = subscription.handle();
    let (one, two) = (next(&mut subscription).await, next(&mut subscription).await);
    // One more is ready to be taken, the others wait for a handler.
    until::<P>(|| handle.gauges().outstanding == 10 && handle.gauges().handling == 3).await;
    subscription.close(None);
    assert!(subscription.next().await.is_none());
    assert!(!one.lease().is_lost());
    until::<P>(|| leased(&server) == 2).await;
    one.ack().await.unwrap();
    two.ack().await.unwrap();
    assert_eq!(subscription.closed().await, SourceEnd::Closed);
    assert_eq!(leased(&server), 0);
    let log = server.log();
    assert_eq!(log.acknowledged().len(), 2);
    match wire {
        Wire::Grpc => assert_eq!(log.nacked().len(), 8),
        // A pull that was waiting may bring some of them once more.
        Wire::Rest => assert!(log.nacked().len() >= 8),
    }
    assert!(server.broker(|broker| broker.has_ready(SUBSCRIPTION)));
}

pub(crate) async fn a_deadline_ends_what_runs<P: Place>(wire: Wire) {
    let server = server();
    publish::<P>(&server, 2).await;
    let mut subscription = subscribe::<P>(options(&server, wire));
    let (one, two) = (next(&mut subscription).await, next(&mut subscription).await);
    subscription.close(Some(Instant::now()));
    assert_eq!(one.lease().lost().await, LeaseLost::Closed);
    assert_eq!(subscription.closed().await, SourceEnd::Closed);
    assert_eq!(one.ack().await, Err(SettleError::Closed));
    drop(two);
    // A pull that was waiting may get them just before it hangs up: then they wait for its lease.
    if wire == Wire::Grpc {
        assert_eq!(leased(&server), 0);
    }
    assert_eq!(server.log().nacked().len(), 2);
}

pub(crate) async fn a_dropped_one_closes<P: Place>(wire: Wire) {
    let server = server();
    publish::<P>(&server, 10).await;
    let mut subscription = subscribe::<P>(options(&server, wire));
    let handle = subscription.handle();
    let taken = next(&mut subscription).await;
    drop(subscription);
    assert!(handle.is_alive());
    taken.ack().await.unwrap();
    until::<P>(|| !handle.is_alive()).await;
    assert_eq!(leased(&server), 0);
    let mut rest = subscribe::<P>(options(&server, wire));
    for _ in 0..9 {
        next(&mut rest).await.ack().await.unwrap();
    }
    assert_eq!(server.log().acknowledged().len(), 10);
}

pub(crate) async fn a_handle_closes<P: Place>(wire: Wire) {
    let server = server();
    let mut subscription = subscribe::<P>(options(&server, wire));
    let handle = subscription.handle();
    // The first look finds nothing, and waits.
    let mut asked = false;
    let next = {
        let mut next = pin!(subscription.next());
        poll_fn(|cx| {
            let polled = next.as_mut().poll(cx);
            if !std::mem::replace(&mut asked, true) {
                assert!(polled.is_pending());
                handle.close(Duration::from_secs(20));
            }
            polled
        })
        .await
    };
    assert!(next.is_none());
    assert_eq!(subscription.closed().await, SourceEnd::Closed);
}

pub(crate) async fn one_that_is_not_there_is_given_up<P: Place>(wire: Wire) {
    let server = server();
    let options = SubscriberOptions::builder("p", "nowhere")
        .endpoint(&server.endpoint())
        .wire(wire)
        .config_patience(Duration::from_millis(300));
    let mut subscription = subscribe::<P>(options);
    assert!(subscription.next().await.is_none());
    let SourceEnd::GaveUp(reason) = subscription.closed().await else {
        panic!("it did not give up")
    };
    let Reason::Pubsub { http, .. } = &*reason else {
        panic!("{reason:?}")
    };
    assert_eq!(*http, 404);
}

pub(crate) async fn a_dropped_driver_tells_who_waits<P: Place>(wire: Wire) {
    let server = server();
    publish::<P>(&server, 3).await;
    let options = options(&server, wire).build().unwrap();
    let connected = connect(options, P::client(wire), None::<Token>, P::runtime(), 1);
    let (mut subscription, driver) = connected.unwrap();
    let mut driver = Box::pin(driver);
    let taken = {
        let mut taken =
            pin!(async { (next(&mut subscription).await, next(&mut subscription).await) });
        poll_fn(|cx| {
            assert!(driver.as_mut().poll(cx).is_pending());
            taken.as_mut().poll(cx)
        })
        .await
    };
    let (one, two) = taken;
    let mut settling = one.ack();
    let mut waiting = Pin::new(&mut settling);
    poll_fn(|cx| {
        assert!(waiting.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(driver);
    assert_eq!(settling.await, Err(SettleError::Closed));
    assert_eq!(two.lease().cause(), Some(LeaseLost::Closed));
    assert_eq!(two.ack().await, Err(SettleError::Closed));
    assert!(subscription.next().await.is_none());
    let end = subscription.closed().await;
    assert!(matches!(end, SourceEnd::Lost(_)), "{end:?}");
    assert!(!subscription.handle().is_alive());
}

pub(crate) async fn a_client_has_to_fit_the_wire<P: Place>() {
    for (wire, other) in [(Wire::Grpc, Wire::Rest), (Wire::Rest, Wire::Grpc)] {
        let options = SubscriberOptions::builder("p", "all").wire(wire);
        let options = options.build().unwrap();
        let connected = connect(options, P::client(other), None::<Token>, P::runtime(), 1);
        assert_eq!(connected.err(), Some(ConnectError::Client(wire)));
    }
}
