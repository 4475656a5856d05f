//! Restarts between a check-in and its delivery: the same ref, and one object.

use pubsink_core::journal::Filter;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::claims::{THREE_MIB, claimed, large, object_of, redeemed, redeems, ref_of};
use crate::harness::case::cases;
use crate::harness::claims::Mood;
use crate::harness::dispatching::{quick, unbroken};
use crate::harness::env::Env;
use crate::harness::journals::Watched;

cases! {
    Anything, "dispatch claims: killed before the store's answer came, the same body is checked in again under the same ref" => killed_in_check_in, .limit(60);
    Faults, "dispatch claims: killed with the message under way, the next process sends the same ref" => killed_in_publish, .limit(60);
    Faults, "dispatch claims: what was checked in before a restart is not checked in again" => stopped, .limit(60);
    Faults, "dispatch claims: a dead letter keeps its ref, over a restart and in its replay" => replayed, .limit(60);
}

async fn killed_in_check_in(env: Env) {
    let store = env.claims();
    store.set(Mood::TakesAndHangs);
    let publisher = env.publisher(env.options());
    let dispatching = env.mortal_claiming(Watched::disk(), publisher.clone(), &store, quick());
    let hook = large("killed", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    env.until_within(40, "its body lies there", || {
        store.objects() == [object_of(&hook)]
    })
    .await;
    let journal = dispatching.kill(&env).await;
    env.until("the check-in ended with its driver", || {
        store.running() == 0
    })
    .await;

    store.set(Mood::Works);
    let dispatching = env.claiming(journal, publisher, &store, quick());
    dispatching.delivered(&env, 1).await;
    let pulled = env.pull(1).await;
    redeemed(&store, &pulled, std::slice::from_ref(&hook)).await;
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook), ref_of(&hook)]);
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

async fn killed_in_publish(env: Env) {
    let hangs = Rule::on(Match::publish()).then(Action::never_answer().store());
    env.server().script([hangs]);
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.mortal_claiming(Watched::disk(), publisher.clone(), &store, quick());
    let hook = large("killed", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    env.until_within(40, "its message is under way", || env.stored().len() == 1)
        .await;
    let journal = dispatching.kill(&env).await;

    env.server().script([]);
    let dispatching = env.claiming(journal, publisher, &store, quick());
    dispatching.delivered(&env, 1).await;
    // What the crash lost sight of comes twice, and is the same.
    let stored = env.stored();
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[0].message.data, stored[1].message.data);
    redeems(&store, &claimed(&stored[1].message.data, &hook), &hook.body).await;
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook), ref_of(&hook)]);
}

async fn stopped(env: Env) {
    let failure = Status::new(500, "INTERNAL", "no");
    env.server()
        .script([Rule::on(Match::publish()).then(Action::refuse(&failure))]);
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher.clone(), &store, unbroken());
    let hook = large("stopped", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    env.until_within(40, "its topic failed", || {
        !dispatching.heard.retried().is_empty()
    })
    .await;
    let journal = dispatching.stop(&env).await;
    assert_eq!(env.stored().len(), 0);

    env.server().script([]);
    // It is not needed again, so that it may as well be down.
    store.set(Mood::Down);
    let dispatching = env.claiming(journal, publisher, &store, unbroken());
    let settled = dispatching.delivered(&env, 1).await;
    assert_eq!(settled[0].row.claim, Some(ref_of(&hook)));
    assert!(settled[0].attempts > 1, "its attempts are remembered");
    let stored = env.stored();
    assert_eq!(stored.len(), 1);
    redeems(&store, &claimed(&stored[0].message.data, &hook), &hook.body).await;
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook)], "the journal knows it");
}

async fn replayed(env: Env) {
    let gone = Action::refuse(&Status::not_found("no such topic"));
    env.server().script([Rule::on(Match::publish()).then(gone)]);
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher.clone(), &store, quick());
    let hook = large("dead", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    dispatching.settled(&env, 1).await;
    let journal = dispatching.stop(&env).await;
    let letters = journal.letters().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].claim, Some(ref_of(&hook)));
    assert!(*letters[0].envelope == hook, "the hook changed");

    env.server().script([]);
    store.set(Mood::Down);
    let dispatching = env.claiming(journal, publisher, &store, quick());
    let job = dispatching.replay(&env, "again", Filter::default()).await;
    assert_eq!((job.progress.delivered, job.progress.died), (1, 0));
    let stored = env.stored();
    assert_eq!(stored.len(), 1);
    let message = claimed(&stored[0].message.data, &hook);
    assert_eq!(message.replay_id.as_deref(), Some("again"));
    redeems(&store, &message, &hook.body).await;
    assert_eq!(store.objects(), [object_of(&hook)]);
    assert_eq!(store.asked(), [ref_of(&hook)], "the journal knows it");
}
