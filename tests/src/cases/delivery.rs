//! Flush, shutdown and drop, on any server.

use std::collections::HashSet;
use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::reason::{Reason, TransportKind};

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Anything, "a flush sends at once and returns when all before it is stored" => flush, .publishes(BOTH);
    Anything, "a shutdown sends what waits, and then nothing more is taken" => shutdown, .publishes(BOTH);
    Anything, "dropping the last handle sends what was admitted" => drop_last, .publishes(BOTH);
    Anything, "a dropped delivery is published all the same" => dropped_delivery;
    Anything, "messages published as one have an id each" => as_one, .publishes(BOTH);
}

/// Long enough that nothing leaves by itself.
const LONG: Duration = Duration::from_secs(60);

async fn flush(env: Env) {
    let publisher = env.publisher(env.options().batch_linger(LONG));
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.flush().await;
    assert_eq!(publisher.gauges().messages, 0);
    env.pull(10).await;
    all_delivered(&futures_util::future::join_all(deliveries).await);
}

async fn as_one(env: Env) {
    let publisher = env.publisher(env.options());
    let outcomes = publisher.publish_all(numbered("m", 250)).await;
    all_delivered(&outcomes);
    let stored = outcomes.iter().flatten();
    let ids: HashSet<_> = stored.map(|stored| &stored.message_id).collect();
    assert_eq!(ids.len(), 250);
    env.pull(250).await;
}

async fn shutdown(env: Env) {
    let publisher = env.publisher(env.options().batch_linger(LONG));
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.shutdown(Duration::from_secs(10)).await;
    all_delivered(&futures_util::future::join_all(deliveries).await);
    let late = publish_all(&publisher, numbered("late", 3)).await;
    for outcome in &late {
        let failure = failed(outcome);
        assert_eq!(failure.class, Class::Transient);
        assert!(matches!(
            *failure.reason,
            Reason::Transport {
                transport: TransportKind::Closed,
                ..
            }
        ));
        assert!(!failure.may_have_been_stored);
    }
    env.until("the driver has ended", || !publisher.is_alive())
        .await;
    publisher.flush().await;
    publisher.shutdown(Duration::ZERO).await;
    env.pull(10).await;
}

async fn drop_last(env: Env) {
    let publisher = env.publisher(env.options().batch_linger(LONG));
    let other = publisher.clone();
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    drop(publisher);
    env.sleep(100).await;
    assert_eq!(other.gauges().waiting, 10, "one of two handles is no end");
    drop(other);
    all_delivered(&futures_util::future::join_all(deliveries).await);
    env.pull(10).await;
}

async fn dropped_delivery(env: Env) {
    let publisher = env.publisher(env.options());
    for message in numbered("m", 10) {
        drop(publisher.publish(message));
    }
    publisher.flush().await;
    env.pull(10).await;
}
