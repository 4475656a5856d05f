//! The same fault again and again: nothing is lost, and nothing is stored twice that was not
//! reported as unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use pubsink_core::failure::Class;
use pubsink_core::publish::Message;
use pubsink_core::reason::{Reason, TransportKind};
use pubsink_core::retry::RetryPolicy;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::case::cases;
use crate::harness::env::Env;
use crate::harness::retrying::Tried;

cases! {
    Faults, "a hundred connections that are reset lose nothing" => resets, .limit(60);
    Faults, "a hundred stale pooled connections lose nothing" => stale, .limit(60);
    Faults, "a thousand throttled replies lose nothing" => throttled, .limit(90);
    Faults, "a server that never answers costs every message its attempt and no more" => silent;
}

/// Until it is delivered, however long that takes.
fn patient() -> RetryPolicy {
    RetryPolicy {
        max: Duration::from_secs(1),
        ..RetryPolicy::default()
    }
}

/// One message a request, many requests at a time.
async fn storm(env: &Env, name: &str, count: usize) -> Vec<(Message, Tried)> {
    let options = env.options().batch_max_entries(1).batch_max_inflight(16);
    let publisher = env.publisher(options);
    let tries = numbered(name, count).into_iter().map(|message| async {
        let tried = env
            .try_publish(&publisher, message.clone(), patient())
            .await;
        (message, tried)
    });
    join_all(tries).await
}

/// Every message is delivered and stored, and more than once only where that was said.
fn check(env: &Env, tries: &[(Message, Tried)]) {
    let mut stored = BTreeMap::new();
    for one in env.stored() {
        *stored.entry(one.message.data.clone()).or_insert(0) += 1;
    }
    assert_eq!(stored.len(), tries.len());
    for (message, tried) in tries {
        assert!(tried.outcome.is_ok(), "{tried:?}");
        let copies = stored.get(&message.data).copied().unwrap_or(0);
        assert!(copies >= 1, "{message:?} is lost");
        assert!(
            copies == 1 || tried.may_have_been_stored,
            "{copies} of {tried:?}"
        );
    }
}

async fn resets(env: Env) {
    env.server().script([
        Rule::on(Match::publish()).times(50).then(Action::reset()),
        Rule::on(Match::publish())
            .times(50)
            .then(Action::reset().store()),
    ]);
    let tries = storm(&env, "m", 120).await;
    check(&env, &tries);
    let attempts: u32 = tries.iter().map(|(_, tried)| tried.attempts).sum();
    assert_eq!(attempts, 220);
    assert_eq!(env.stored().len(), 170);
}

async fn stale(env: Env) {
    let warm = storm(&env, "warm", 16).await;
    assert_eq!(warm.len(), 16);
    env.server()
        .script([Rule::on(Match::first_byte_kept_alive())
            .times(100)
            .then(Action::reset())]);
    // In rounds, since only a connection that was used before can be stale.
    let options = env.options().batch_max_entries(1).batch_max_inflight(16);
    let publisher = env.publisher(options);
    let mut tries = warm;
    for round in 0..40 {
        let round = numbered(&format!("r{round}"), 8);
        let round = round.into_iter().map(|message| async {
            let tried = env
                .try_publish(&publisher, message.clone(), patient())
                .await;
            (message, tried)
        });
        tries.extend(join_all(round).await);
    }
    check(&env, &tries);
    // Cut before anything was read: no copy was made.
    assert_eq!(env.stored().len(), tries.len());
    let failures: u32 = tries.iter().map(|(_, tried)| tried.attempts - 1).sum();
    assert_eq!(failures, 100, "every cut was met, and cost one attempt");
}

async fn throttled(env: Env) {
    let busy = Status::resource_exhausted("slow down");
    env.server().script([Rule::on(Match::publish())
        .times(1_000)
        .then(Action::refuse(&busy))]);
    let tries = storm(&env, "m", 500).await;
    check(&env, &tries);
    let attempts: u32 = tries.iter().map(|(_, tried)| tried.attempts).sum();
    assert_eq!(attempts, 1_500);
    assert_eq!(env.stored().len(), 500);
}

async fn silent(env: Env) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let options = env.options().batch_max_entries(10);
    let publisher = env.publisher(options.timeout(Duration::from_millis(300)));
    let outcomes = publish_all(&publisher, numbered("m", 200)).await;
    for outcome in &outcomes {
        let failure = failed(outcome);
        assert_eq!(failure.class, Class::Transient);
        assert!(failure.may_have_been_stored, "{failure}");
        let Reason::Transport { transport, .. } = &*failure.reason else {
            panic!("{failure}");
        };
        assert_eq!(*transport, TransportKind::Timeout);
    }
    assert_eq!(env.server().log().publishes().len(), 20);
    env.server().script([]);
    all_delivered(&publish_all(&publisher, numbered("after", 10)).await);
}
