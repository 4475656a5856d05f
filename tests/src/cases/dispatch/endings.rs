//! R38 through dispatch: what was accepted is stored, or is in the journal.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use pubsink_core::dispatch::EnqueueError;
use pubsink_fixtures::faults::{Action, Match, Rule};

use crate::harness::case::cases;
use crate::harness::dispatching::{hook, hooks, quick};
use crate::harness::env::Env;
use crate::harness::host::Flavor::CurrentThread;
use crate::harness::journals::Watched;

cases! {
    Anything, "dispatch R38 what a shutdown left is delivered by the next dispatcher, and nothing twice" => shut_down, .limit(60);
    Anything, "dispatch R38 what a shutdown left is delivered by the next dispatcher, on a runtime of one thread" => shut_down, .on(CurrentThread), .limit(60);
    Anything, "dispatch R38 a handle dropped without a shutdown loses nothing, not even what was on its way to the journal" => dropped, .limit(60);
    Faults, "dispatch R38 a shutdown waits for what is under way and records it" => waited_for, .limit(60);
    Faults, "dispatch R38.1 a shutdown with a flush of its topic does not wait for the linger" => flushed, .limit(60);
    Faults, "dispatch R38 a shutdown ends at its limit, and the next dispatcher delivers what hung" => limited, .limit(60);
}

async fn shut_down(env: Env) {
    let publisher = env.publisher(env.options());
    let mut journal = Watched::disk();
    for round in 0..3 {
        let dispatching = env.dispatching(journal, publisher.clone(), quick());
        dispatching.accept(hooks(&format!("r{round}"), 50)).await;
        journal = dispatching.stop(&env).await;
    }
    let dispatching = env.dispatching(journal, publisher, quick());
    env.pull(150).await;
    dispatching.stop(&env).await;
}

async fn dropped(env: Env) {
    let publisher = env.publisher(env.options());
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), quick());
    let hooks = hooks("m", 50).into_iter();
    let accepted = hooks.map(|hook| dispatching.dispatch.enqueue(hook));
    let accepted: Vec<_> = accepted.collect();
    let journal = dispatching.end(&env).await;
    for accepted in join_all(accepted).await {
        assert!(accepted.is_ok(), "{accepted:?}");
    }
    let dispatching = env.dispatching(journal, publisher, quick());
    env.pull(50).await;
    dispatching.stop(&env).await;
}

async fn waited_for(env: Env) {
    let slow = Action::proceed().delay(Duration::from_millis(500));
    env.server().script([Rule::on(Match::publish()).then(slow)]);
    let publisher = env.publisher(env.options());
    let dispatching = env.dispatching(Watched::disk(), publisher, quick());
    dispatching.accept(hooks("m", 16)).await;
    let all_sent = || {
        let log = env.server().log();
        let sent = log.publishes().into_iter().map(|one| one.message_count);
        sent.sum::<usize>() == 16
    };
    env.until("all are in flight", all_sent).await;
    let heard = dispatching.heard.clone();
    let journal = dispatching.stop(&env).await;
    assert_eq!((env.stored().len(), heard.settled_count()), (16, 16));
    assert!(heard.settled().iter().all(|one| one.outcome.is_ok()));
    assert_eq!(journal.lanes_left().await, 0);
}

async fn flushed(env: Env) {
    let publisher = env.publisher(env.patient_options());
    let mut options = quick();
    options.attempt_timeout = Duration::from_secs(120);
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), options);
    dispatching.accept(hooks("m", 16)).await;
    let linger = || publisher.gauges().messages == 16;
    env.until("all wait for company", linger).await;
    assert_eq!(env.publishes(), 0);
    let heard = dispatching.heard.clone();
    // Nothing else would send them for a minute, which is twice the time there is.
    let (journal, _) = futures_util::join!(dispatching.stop(&env), publisher.flush());
    assert_eq!((env.stored().len(), heard.settled_count()), (16, 16));
    assert_eq!(journal.lanes_left().await, 0);
}

async fn limited(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let publisher = env.publisher(env.options());
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), quick());
    dispatching.accept(hooks("m", 16)).await;
    env.until("something is in flight", || env.publishes() > 0)
        .await;
    let limit = Duration::from_millis(300);
    dispatching.dispatch.shutdown(limit).await;
    assert!(!dispatching.dispatch.is_alive());
    assert_eq!(dispatching.heard.settled_count(), 0);
    let refused = dispatching.dispatch.enqueue(hook("late")).now_or_never();
    assert_eq!(refused, Some(Err(EnqueueError::Closed)));
    let journal = dispatching.end(&env).await;
    env.server().script([]);
    let dispatching = env.dispatching(journal, publisher, quick());
    let settled = dispatching.delivered(&env, 16).await;
    assert!(settled.iter().any(|one| one.attempts == 2));
    assert_eq!(env.stored().len(), 16);
}
