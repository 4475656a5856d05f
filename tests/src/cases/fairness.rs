//! One tenant's flood keeps no other waiting, and the bounds hold.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Class;
use pubsink_core::publish::Message;
use pubsink_core::reason::{Ceiling, Reason};
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Faults, "a tenant's four thousand queued hooks delay another tenant's hook by one batch at most" => flood;
    Faults, "no more batches are in flight than batch_max_inflight" => batches_in_flight, .publishes(BOTH);
    Faults, "no more direct deliveries are in flight than sink_concurrency" => direct_in_flight;
    Faults, "past each ceiling a message is refused at once with a pause, and taken again later" => ceilings;
}

fn hook(tenant: &str, number: usize) -> Envelope {
    Envelope {
        id: format!("{tenant}-{number}"),
        source_id: "tests".to_owned(),
        tenant_id: Some(tenant.to_owned()),
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: "{}".into(),
        dedupe_key: None,
    }
}

fn slow(env: &Env, milliseconds: u64) {
    let slow = Action::proceed().delay(Duration::from_millis(milliseconds));
    env.server().script([Rule::on(Match::publish()).then(slow)]);
}

async fn flood(env: Env) {
    slow(&env, 30);
    let options = env
        .options()
        .batch_queue_tenant(4_096)
        .batch_max_inflight(1)
        .batch_max_entries(100);
    let publisher = env.publisher(options);
    let batched = DeliveryContext::batched();
    let flood: Vec<_> = (0..4_000)
        .map(|n| publisher.deliver(&hook("loud", n), &batched))
        .collect();
    env.until("the flood is on its way", || env.publishes() >= 3)
        .await;
    let quiet = publisher.deliver(&hook("quiet", 0), &batched);
    // It waits by now, whatever became of this thread in between.
    let requests_before = env.publishes();
    let quiet = quiet.await;
    assert!(quiet.is_ok(), "{quiet:?}");
    let log = env.server().log();
    let of_quiet = |message: &pubsink_fixtures::broker::PubsubMessage| {
        message.attributes["ankusa_id"] == "quiet-0"
    };
    let place = log
        .publishes()
        .iter()
        .position(|request| request.messages.iter().any(of_quiet));
    // One request may be in flight and not yet read; then comes the hook's own.
    let place = place.expect("the hook was published");
    assert!(
        place <= requests_before + 1,
        "{requests_before} requests before, the hook in number {place}"
    );
    assert!(publisher.gauges().messages > 2_000, "the flood still waits");
    all_delivered(&join_all(flood).await);
    assert_eq!(publisher.gauges().tenants, 0);
}

async fn batches_in_flight(env: Env) {
    slow(&env, 50);
    let publisher = env.publisher(env.options().batch_max_inflight(3).batch_max_entries(10));
    all_delivered(&publish_all(&publisher, numbered("m", 200)).await);
    assert_eq!(env.publishes(), 20);
    assert_eq!(env.server().gauges().max_publishes_in_flight, 3);
}

async fn direct_in_flight(env: Env) {
    slow(&env, 50);
    let publisher = env.publisher(env.options().sink_concurrency(4));
    let direct = DeliveryContext::default();
    let hooks: Vec<_> = (0..40)
        .map(|n| publisher.deliver(&hook("a", n), &direct))
        .collect();
    all_delivered(&join_all(hooks).await);
    assert_eq!(env.publishes(), 40);
    assert_eq!(env.server().gauges().max_publishes_in_flight, 4);
}

async fn ceilings(env: Env) {
    let options = env.options().batch_linger(Duration::from_secs(60));
    let options = options
        .batch_queue_max(10)
        .batch_queue_tenant(6)
        .batch_queue_bytes(1_000);
    let publisher = env.publisher(options);
    let message = |tenant: &str, bytes: usize| Message {
        tenant: Some(tenant.to_owned()),
        ..Message::new(vec![b'x'; bytes])
    };
    let mut taken: Vec<_> = (0..6)
        .map(|_| publisher.publish(message("a", 10)))
        .collect();
    let refused = |message: Message, ceiling: Ceiling, max: usize| {
        let outcome = publisher
            .publish(message)
            .now_or_never()
            .expect("a refusal is at once");
        let failure = failed(&outcome);
        match failure.class {
            Class::RetryAfter(pause) => assert!((1..=500).contains(&pause.as_millis())),
            other => panic!("{other:?}"),
        }
        assert_eq!(*failure.reason, Reason::BatchQueueFull { ceiling, max });
    };
    refused(message("a", 10), Ceiling::Tenant, 6);
    refused(message("b", 941), Ceiling::Bytes, 1_000);
    taken.extend((0..4).map(|_| publisher.publish(message("b", 10))));
    refused(message("c", 10), Ceiling::Entries, 10);
    publisher.flush().await;
    all_delivered(&join_all(taken).await);
    let again: Vec<_> = (0..6)
        .map(|_| publisher.publish(message("a", 10)))
        .collect();
    publisher.flush().await;
    all_delivered(&join_all(again).await);
    assert_eq!(env.stored().len(), 16);
}
