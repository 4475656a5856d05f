//! Handlers that take far longer than the ack deadline of their subscription.

use std::time::Duration;

use pubsink_core::subscribe::SubscriberOptions;
use pubsink_runtime::service::{Context, handler};

use crate::cases::{all_delivered, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::{Env, PROJECT};
use crate::harness::subscribing::{Handlings, LEASE, texts};

cases! {
    Anything, "subscribe handlers of 95 s with an ack deadline of 10 s see no redelivery" => long, .wires(BOTH), .waits(), .limit(150);
}

const HANDLER: u64 = 95_000;
const COUNT: usize = 4;

async fn long(env: Env) {
    env.create_served().await;
    let handlings = Handlings::default();
    let by = |place: &Env, noted: &Handlings| {
        let (noted, env) = (noted.clone(), place.clone());
        handler(move |context: Context| {
            let (noted, env) = (noted.clone(), env.clone());
            async move { noted.watched(&env, &context, HANDLER).await }
        })
    };
    // Extensions of 10 s by one service, the default of 60 s by the other.
    let plain = SubscriberOptions::builder(PROJECT, &env.topic_id());
    let plain = plain.endpoint(&env.endpoint()).wire(env.wire());
    let others = Handlings::default();
    let short = env.serve(env.subscriber(), by(&env, &handlings));
    let default = env.serve(plain, by(&env, &others));
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered("m", COUNT)).await);
    for serving in [&short, &default] {
        serving.quiet_after(&env, HANDLER / 1_000 + 30, COUNT).await;
        serving.stop().await;
        assert_eq!(serving.told.unsettled(), []);
        assert_eq!(serving.subscription.gauges().redelivered, 0);
    }
    for noted in [handlings, others] {
        noted.each_once(texts("m", COUNT));
        for one in noted.all() {
            assert_eq!(one.lost, None);
            let took = one.ended.expect("it came to its end") - one.began;
            assert!(took >= Duration::from_millis(HANDLER) && took > 9 * LEASE);
        }
    }
    env.nothing_came_again();
    env.pull_from(&env.served_id(), 0).await;
    env.pull_from(&env.topic_id(), 0).await;
}
