//! What was published is received.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pubsink_fixtures::broker::PubsubMessage;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_runtime::core::subscribe::{Settlement, Wire};
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::service::{Context, Service};
use pubsink_runtime::subscribe::{Source as _, SourceEnd};

use super::support::{
    Place, SUBSCRIPTION, ack_all, leased, next, options, publish, put, server, server_with,
    subscribe, text, until,
};

pub(crate) async fn each_message_once<P: Place>(wire: Wire) {
    let server = server();
    let mut subscription = subscribe::<P>(options(&server, wire));
    let handle = subscription.handle();
    assert_eq!(subscription.subscription(), SUBSCRIPTION);
    publish::<P>(&server, 300).await;
    let (mut seen, mut settling) = (BTreeSet::new(), Vec::new());
    while seen.len() < 300 {
        let delivery = next(&mut subscription).await;
        assert_eq!(delivery.subscription(), SUBSCRIPTION);
        assert!(delivery.message().publish_time > 0);
        assert!(seen.insert(text(&delivery)), "one came twice");
        settling.push(delivery.ack());
    }
    for settling in settling {
        settling.await.unwrap();
    }
    assert!(handle.is_alive());
    assert_eq!(handle.gauges().outstanding, 0);
    subscription.close(None);
    assert!(subscription.next().await.is_none());
    assert_eq!(subscription.closed().await, SourceEnd::Closed);
    assert!(!handle.is_alive());
    assert_eq!(server.gauges().redeliveries, 0);
    assert_eq!(server.log().acknowledged().len(), 300);
    assert_eq!(leased(&server), 0);
}

pub(crate) async fn exactly_once<P: Place>(wire: Wire) {
    let server = server_with(Server::builder(), |mut config| {
        config.enable_exactly_once_delivery = true;
        config
    });
    let mut subscription = subscribe::<P>(options(&server, wire).exactly_once(true));
    publish::<P>(&server, 50).await;
    assert_eq!(ack_all(&mut subscription, 50).await, 50);
    assert_eq!(leased(&server), 0);
    assert_eq!(server.gauges().redeliveries, 0);
}

pub(crate) async fn keys_keep_their_order<P: Place>(wire: Wire) {
    let server = server_with(Server::builder(), |mut config| {
        config.enable_message_ordering = true;
        config
    });
    let keys = ["a", "b", "c"];
    for number in 0..20 {
        for key in keys {
            let message = PubsubMessage::new(number.to_string()).ordering_key(key);
            put(&server, vec![message]);
        }
    }
    let mut subscription = subscribe::<P>(options(&server, wire));
    let mut acked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    while acked.values().map(Vec::len).sum::<usize>() < 60 {
        let delivery = next(&mut subscription).await;
        let (key, text) = (delivery.message().ordering_key.clone(), text(&delivery));
        // Each fifth is given back once.
        let fifth = text.parse::<u32>().unwrap() % 5 == 0;
        if fifth && refused.insert((key.clone(), text.clone())) {
            delivery.retry().await.unwrap();
        } else {
            delivery.ack().await.unwrap();
            acked.entry(key).or_default().push(text);
        }
    }
    let expected: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    for key in keys {
        assert_eq!(acked[key], expected, "key {key}");
    }
}

pub(crate) async fn no_more_than_there_is_room_for<P: Place>(wire: Wire) {
    let server = server();
    publish::<P>(&server, 40).await;
    let mut subscription = subscribe::<P>(options(&server, wire).max_outstanding(5).handlers(3));
    let handle = subscription.handle();
    let mut held = Vec::new();
    let mut acked = BTreeSet::new();
    while acked.len() < 40 {
        while held.len() < 3 && held.len() + acked.len() < 40 {
            held.push(next(&mut subscription).await);
        }
        let gauges = handle.gauges();
        assert_eq!(gauges.handling, held.len());
        assert!(gauges.outstanding <= 5, "{gauges:?}");
        assert!(leased(&server) <= 5);
        for delivery in held.drain(..) {
            let text = text(&delivery);
            delivery.ack().await.unwrap();
            acked.insert(text);
        }
    }
    assert_eq!(server.gauges().redeliveries, 0);
}

pub(crate) async fn a_service_handles_them<P: Place>(wire: Wire) {
    let server = server();
    publish::<P>(&server, 30).await;
    let subscription = subscribe::<P>(options(&server, wire));
    let seen: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let handled = Arc::clone(&seen);
    let handler = move |context: Context| {
        let handled = Arc::clone(&handled);
        async move {
            let id = context.message_id().to_string();
            handled.lock().unwrap().insert(id);
            Settlement::Ack
        }
    };
    let service = Service::builder()
        .subscription(subscription, handler)
        .build()
        .unwrap();
    let (handle, driver) = service.connect(P::runtime(), 1);
    P::runtime().spawn(async { drop(driver.await) });
    until::<P>(|| seen.lock().unwrap().len() == 30).await;
    let stopped = handle.shutdown(Duration::from_secs(20)).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(server.log().acknowledged().len(), 30);
    assert_eq!(leased(&server), 0);
}

pub(crate) async fn streams_are_told_who_and_how_much<P: Place>(wire: Wire) {
    let server = server();
    let options = options(&server, wire).max_outstanding(7);
    let mut subscription = subscribe::<P>(options.max_outstanding_bytes(1_000));
    publish::<P>(&server, 1).await;
    ack_all(&mut subscription, 1).await;
    let log = server.log();
    let opening = log.calls().iter().find_map(|call| call.opening.as_ref());
    let opening = opening.unwrap();
    assert_eq!(opening.max_outstanding_messages, 7);
    assert_eq!(opening.max_outstanding_bytes, 1_000);
    assert!(opening.stream_ack_deadline_seconds >= 10);
    assert_eq!(opening.client_id.len(), 36);
}

pub(crate) async fn a_silent_stream_is_kept_alive<P: Place>(wire: Wire) {
    let server = server();
    let keepalive = Duration::from_secs(1);
    let mut subscription = subscribe::<P>(options(&server, wire).keepalive(keepalive));
    let said = || {
        let log = server.log();
        log.calls()
            .iter()
            .filter(|call| call.stream.is_some())
            .count()
    };
    // The first opens it.
    until::<P>(|| said() >= 3).await;
    publish::<P>(&server, 1).await;
    ack_all(&mut subscription, 1).await;
    assert_eq!(server.gauges().streams, 1);
}

pub(crate) async fn what_cannot_be_read_is_counted<P: Place>(wire: Wire) {
    let server = server();
    let body = r#"{"receivedMessages":[
        {"ackId":"a1","message":{"messageId":"m1","data":"!"}},
        {"ackId":"a2","message":{"messageId":"m2","data":"eA=="}}]}"#;
    let json = [("content-type", "application/json")];
    let answer = Action::answer(200, &json, body);
    server.script([Rule::on(Match::verb("pull")).times(1).then(answer)]);
    let mut subscription = subscribe::<P>(options(&server, wire));
    let delivery = next(&mut subscription).await;
    assert_eq!(delivery.message().message_id.as_str(), "m2");
    assert_eq!(text(&delivery), "x");
    assert_eq!(subscription.handle().unreadable(), 1);
}
