//! A server that is gone: its topic is left alone, then probed, and nothing is lost by that.

use std::time::Duration;

use pubsink_core::dispatch::{BreakerState, Event};
use pubsink_core::options::PublisherOptions;
use pubsink_fixtures::server::Server;

use crate::harness::case::cases;
use crate::harness::dispatching::{hooks, quick};
use crate::harness::env::{Env, PROJECT};
use crate::harness::journals::Watched;

cases! {
    Faults, "dispatch: a server that is down is left alone after five failures, probed, and then given every hook" => counted, .limit(60);
    Faults, "dispatch: while a server is down its hooks wait in the journal and spend no attempts" => parked, .limit(60);
    Faults, "dispatch: a topic that is down holds up no other topic, not even for the same hook" => isolated, .limit(60);
}

/// One attempt at a time, so that all of it can be counted.
async fn counted(env: Env) {
    env.server().refuse_connections(true).unwrap();
    let (publisher, recorder) = env.recorded(env.options().batch(false));
    let mut options = quick();
    options.sink_concurrency = 1;
    let dispatching = env.dispatching(Watched::memory(), publisher, options);
    dispatching.accept(hooks("m", 50)).await;
    let states = || {
        let events = dispatching.heard.events().into_iter();
        let states = events.filter_map(|event| match event {
            Event::Breaker { state, .. } => Some(state),
            _ => None,
        });
        states.collect::<Vec<_>>()
    };
    env.until("two probes failed", || states().len() >= 5).await;
    assert_ne!(dispatching.dispatch.breakers()[0].1, BreakerState::Closed);
    assert_eq!(dispatching.dispatch.gauges().open_breakers, 1);
    env.server().refuse_connections(false).unwrap();
    let settled = dispatching.delivered(&env, 50).await;

    let states = states();
    let (last, open) = states.split_last().unwrap();
    assert_eq!(*last, BreakerState::Closed);
    let turns = [BreakerState::Open, BreakerState::Probing];
    for (state, turn) in open.iter().zip(turns.iter().cycle()) {
        assert_eq!(state, turn, "{states:?}");
    }
    // Five failures, and one for each probe of it that failed.
    let probes = states.iter().filter(|one| **one == BreakerState::Probing);
    let failures = 5 + probes.count() - 1;
    assert_eq!(dispatching.heard.retried().len(), failures);
    assert_eq!(recorder.requests().len(), failures + 50);
    let attempts: u32 = settled.iter().map(|one| one.attempts).sum();
    assert_eq!(attempts as usize, failures + 50);
    assert_eq!(env.stored().len(), 50);
    assert_eq!(dispatching.dispatch.breakers()[0].1, BreakerState::Closed);
}

/// As a user has it: batches, and many hooks at a time.
async fn parked(env: Env) {
    env.server().refuse_connections(true).unwrap();
    let publisher = env.publisher(env.options());
    let mut options = quick();
    // Long enough that all this is inside of one pause, whatever the machine does.
    options.breaker.open = Duration::from_secs(6);
    options.breaker.max_open = options.breaker.open;
    let dispatching = env.dispatching(Watched::disk(), publisher, options);
    dispatching.accept(hooks("first", 500)).await;
    let is_open = || dispatching.dispatch.breakers()[0].1 == BreakerState::Open;
    env.until("its breaker opens", is_open).await;
    let settled = || {
        let gauges = dispatching.dispatch.gauges();
        (gauges.attempts, gauges.rows, gauges.unrecorded) == (0, 0, 0)
    };
    env.until("every row is back in the journal", settled).await;
    // The last of them are told of a moment later.
    env.sleep(200).await;
    let retried = dispatching.heard.retried().len();
    dispatching.accept(hooks("second", 500)).await;
    env.sleep(1_000).await;
    assert!(is_open(), "the machine is too slow for this case");
    assert!(settled(), "nothing is claimed that cannot be tried");
    assert_eq!(dispatching.heard.retried().len(), retried);
    env.server().refuse_connections(false).unwrap();
    for settled in dispatching.delivered(&env, 1_000).await {
        let waited = settled.row.envelope.id.starts_with("second");
        assert!(!waited || settled.attempts == 1, "{settled:?}");
    }
    assert_eq!(env.stored().len(), 1_000);
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

async fn isolated(env: Env) {
    let gone = Server::start().expect("a second server starts");
    let topic = format!("projects/{PROJECT}/topics/gone");
    gone.create_topic(&topic).unwrap();
    gone.refuse_connections(true).unwrap();
    let options = PublisherOptions::builder(PROJECT, "gone").endpoint(&gone.endpoint());
    let publishers = vec![
        ("gone".to_owned(), env.publisher(options)),
        ("topic".to_owned(), env.publisher(env.options())),
    ];
    let dispatching = env.dispatching_to(Watched::disk(), publishers, quick());
    dispatching.accept(hooks("m", 200)).await;
    for settled in dispatching.delivered(&env, 200).await {
        assert_eq!((&*settled.row.lane.sink, settled.attempts), ("topic", 1));
    }
    let is_open = || dispatching.dispatch.gauges().open_breakers == 1;
    env.until("the breaker of the other opens", is_open).await;
    let states = dispatching.dispatch.breakers();
    assert_eq!(states[1], ("topic".into(), BreakerState::Closed));
    gone.refuse_connections(false).unwrap();
    dispatching.delivered(&env, 400).await;
    assert_eq!(env.stored().len(), 200);
    assert_eq!(gone.broker(|broker| broker.accepted_messages()), 200);
}
