//! R01 through dispatch, over restarts: the order of a key is kept in the journal, not in memory.

use pubsink_fixtures::faults::{Action, Match, Rule};

use super::ordering::{ids, in_turns, publisher, stored_of};
use super::{fails_key, key_of_hooks};
use crate::harness::case::cases;
use crate::harness::dispatching::unbroken;
use crate::harness::env::Env;
use crate::harness::journals::Watched;

cases! {
    Faults, "dispatch R01 a key that waits for its retry keeps its order over a restart" => restarted, .limit(60);
    Faults, "dispatch R01 a key keeps its order when the dispatcher is killed in the middle of it" => killed, .limit(60);
}

async fn restarted(env: Env) {
    env.server().script([fails_key("k"), fails_key("l")]);
    let dispatching = env.dispatching(Watched::disk(), publisher(&env), unbroken());
    let hooks = in_turns(&["k", "l"], 8);
    let (first, second) = hooks.split_at(10);
    dispatching.accept(first.iter().cloned()).await;
    let failed_thrice = || dispatching.heard.retried().len() >= 3;
    env.until("both keys failed", failed_thrice).await;
    let journal = dispatching.stop(&env).await;
    assert_eq!(env.stored().len(), 0);

    let dispatching = env.dispatching(journal, publisher(&env), unbroken());
    dispatching.accept(second.iter().cloned()).await;
    env.server().script([]);
    let settled = dispatching.delivered(&env, 16).await;
    for key in ["k", "l"] {
        assert_eq!(stored_of(&env, key), ids(&key_of_hooks(key, 8)));
        let first = format!("{key}-0");
        let first = settled.iter().find(|one| one.row.envelope.id == first);
        assert!(first.unwrap().attempts > 1, "its attempts are remembered");
    }
}

async fn killed(env: Env) {
    // Stored, and nobody is told: what an attempt that a crash interrupts may leave.
    let lost = Rule::on(Match::publish())
        .skip(2)
        .then(Action::never_answer().store());
    env.server().script([lost]);
    let dispatching = env.mortal_dispatching(Watched::disk(), publisher(&env), unbroken());
    dispatching.accept(in_turns(&["k", "l"], 5)).await;
    env.until("a request of each key hangs", || env.stored().len() == 4)
        .await;
    let journal = dispatching.kill(&env).await;

    env.server().script([]);
    let dispatching = env.dispatching(journal, publisher(&env), unbroken());
    dispatching.delivered(&env, 8).await;
    for key in ["k", "l"] {
        // What the crash lost sight of comes twice, and in its place.
        let mut stored = stored_of(&env, key);
        stored.dedup();
        assert_eq!(stored, ids(&key_of_hooks(key, 5)));
    }
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}
