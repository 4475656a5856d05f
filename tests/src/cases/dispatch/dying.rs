//! R30.5 and R38 through dispatch: a dispatcher that is not closed but ends. What was told to be
//! kept is delivered by the next one, and nobody waits for what does not come.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use pubsink_core::dispatch::EnqueueError;
use pubsink_fixtures::faults::{Action, Match, Rule};

use crate::harness::case::cases;
use crate::harness::dispatching::{Dispatching, hook, hooks, quick};
use crate::harness::env::Env;
use crate::harness::host::Flavor;
use crate::harness::journals::Watched;

cases! {
    Faults, "dispatch R38 a dispatcher killed with hooks in flight loses none" => killed, .limit(60);
    Faults, "dispatch R30.5 a driver that dies: whoever waits is told, every hook is refused at once, and it shows" => dead_driver, .limit(60);
    Faults, "dispatch R38 a runtime shut down with hooks in flight loses none that was accepted (workers)" => workers_shut_down, .limit(60);
    Faults, "dispatch R38 a runtime shut down with hooks in flight loses none that was accepted (current thread)" => current_thread_shut_down, .limit(60);
}

async fn killed(env: Env) {
    // Stored, and the answer never comes.
    let lost = Action::never_answer().store();
    env.server()
        .script([Rule::on(Match::publish()).times(3).then(lost)]);
    let publisher = env.publisher(env.options().batch_max_entries(10));
    let dispatching = env.mortal_dispatching(Watched::disk(), publisher.clone(), quick());
    dispatching.accept(hooks("m", 60)).await;
    env.until("something is in flight", || env.publishes() > 0)
        .await;
    let journal = dispatching.kill(&env).await;
    let dispatching = env.dispatching(journal, publisher, quick());
    let ids: Vec<_> = hooks("m", 60).into_iter().map(|hook| hook.id).collect();
    dispatching.all_stored(&env, &ids).await;
    assert!(dispatching.journal.letters().await.is_empty());
}

async fn dead_driver(env: Env) {
    let publisher = env.publisher(env.options());
    let dispatching = env.mortal_dispatching(Watched::memory(), publisher, quick());
    let held = dispatching.journal.hold_hooks();
    let hooks = hooks("m", 5).into_iter();
    let pending = hooks.map(|hook| dispatching.dispatch.enqueue(hook));
    let pending: Vec<_> = pending.collect();
    assert!(dispatching.dispatch.is_alive());
    let dispatch = dispatching.dispatch.clone();
    dispatching.kill_driver();
    env.until("it is dead", || !dispatch.is_alive()).await;
    for pending in pending {
        let told = pending.now_or_never();
        assert_eq!(told, Some(Err(EnqueueError::Closed)));
    }
    let late = dispatch.enqueue(hook("late")).now_or_never();
    assert_eq!(late, Some(Err(EnqueueError::Closed)));
    let asked = dispatch.stopped().now_or_never();
    assert!(matches!(asked, Some(Err(_))), "{asked:?}");
    assert_eq!(dispatch.shutdown(Duration::ZERO).now_or_never(), Some(()));
    drop(held);
}

async fn workers_shut_down(env: Env) {
    runtime_ends(env, Flavor::Workers(2)).await;
}

async fn current_thread_shut_down(env: Env) {
    runtime_ends(env, Flavor::CurrentThread).await;
}

async fn runtime_ends(env: Env, flavor: Flavor) {
    env.server()
        .script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let inside = env.clone();
    // A runtime may not be run inside of another, and its panics are the case's.
    let thread = std::thread::Builder::new()
        .name(std::thread::current().name().unwrap_or_default().to_owned());
    let made = thread.spawn(move || {
        let runtime = inside.other_runtime(flavor);
        let host = runtime.host();
        let publisher = host.publisher(inside.spec(inside.options()));
        let publishers = vec![("topic".to_owned(), publisher)];
        let dispatching = Dispatching::on(&*host, Watched::disk(), publishers, quick());
        let hooks = hooks("m", 50).into_iter();
        let accepted = hooks.map(|hook| dispatching.dispatch.enqueue(hook));
        let accepted: Vec<_> = accepted.collect();
        runtime.block_on(Box::pin(async {
            while inside.publishes() == 0 {
                host.sleep(Duration::from_millis(5)).await;
            }
        }));
        drop(runtime);
        (dispatching, accepted)
    });
    let (dispatching, accepted) = made.unwrap().join().expect("no panic");
    let told = env
        .within(Duration::from_secs(10), join_all(accepted))
        .await;
    let told = told.expect("no acceptance hangs");
    let dispatch = dispatching.dispatch.clone();
    env.until("it is dead", || !dispatch.is_alive()).await;
    drop(dispatch);
    let journal = dispatching.end(&env).await;

    env.server().script([]);
    let publisher = env.publisher(env.options());
    let dispatching = env.dispatching(journal, publisher, quick());
    // Whoever was told that it ended meanwhile may send it again.
    let mut kept = Vec::new();
    for (hook, told) in hooks("m", 50).into_iter().zip(told) {
        match told {
            Ok(_) => kept.push(hook.id),
            Err(error) => assert_eq!(error, EnqueueError::Closed),
        }
    }
    assert!(!kept.is_empty());
    dispatching.all_stored(&env, &kept).await;
}
