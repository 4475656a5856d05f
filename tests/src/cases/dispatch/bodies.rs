//! R36 through dispatch: what the journal keeps and the topic gets is the bytes that came.

use std::collections::BTreeMap;

use bytes::Bytes;
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::Filter;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::super::bodies::{bodies, sha256};
use crate::harness::case::cases;
use crate::harness::dispatching::{hook, quick};
use crate::harness::env::Env;
use crate::harness::journals::Watched;
use crate::harness::pull::decode;

cases! {
    Anything, "dispatch R36 a hook's body comes through a journal on disk and the topic byte for byte" => on_disk, .limit(60);
    Anything, "dispatch R36 a hook's body comes through a journal in memory and the topic byte for byte" => in_memory, .limit(60);
    Faults, "dispatch R36 a dead letter's body is kept byte for byte, and so is its replay" => dead_letters, .limit(60);
}

fn bodied_hooks() -> Vec<Envelope> {
    let hook = |(number, body): (usize, Vec<u8>)| Envelope {
        body: Bytes::from(body),
        headers: vec![("X-Hub".to_owned(), Bytes::from("sha256=\u{e9} \t"))],
        ..hook(format!("body-{number}"))
    };
    bodies().into_iter().enumerate().map(hook).collect()
}

async fn on_disk(env: Env) {
    there(&env, Watched::disk()).await;
}

async fn in_memory(env: Env) {
    there(&env, Watched::memory()).await;
}

async fn there(env: &Env, journal: Watched) {
    let publisher = env.publisher(env.options().inline_max_bytes(2_000_000));
    let dispatching = env.dispatching(journal, publisher, quick());
    let hooks = bodied_hooks();
    dispatching.accept(hooks.clone()).await;
    dispatching.delivered(env, hooks.len()).await;
    let pulled = env.pull(hooks.len()).await;
    let pulled = pulled.iter();
    let pulled = pulled.map(|one| (&*one.attributes["ankusa_id"], &*one.data));
    compare(&hooks, &pulled.collect());
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

fn compare(hooks: &[Envelope], came: &BTreeMap<&str, &[u8]>) {
    for hook in hooks {
        let message = decode(came[&*hook.id]);
        assert!(
            message.body.as_deref() == Some(&*hook.body),
            "the body of {} changed",
            hook.id
        );
        assert_eq!(message.sha256, Some(sha256(&hook.body)));
        assert_eq!(message.size, hook.body.len() as u64);
    }
}

async fn dead_letters(env: Env) {
    let gone = Action::refuse(&Status::not_found("no such topic"));
    env.server().script([Rule::on(Match::publish()).then(gone)]);
    let publisher = env.publisher(env.options().inline_max_bytes(2_000_000));
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), quick());
    let hooks = bodied_hooks();
    // No message can hold this header, and a dead letter has to.
    let raw = Envelope {
        headers: vec![("x-raw".to_owned(), Bytes::from_static(b"\xFF\x00 \t"))],
        ..hook("raw")
    };
    let all: Vec<_> = hooks.iter().cloned().chain([raw]).collect();
    dispatching.accept(all.clone()).await;
    dispatching.settled(&env, all.len()).await;
    let journal = dispatching.stop(&env).await;
    let letters = journal.letters().await;
    let letters: BTreeMap<_, _> = letters
        .iter()
        .map(|letter| (&*letter.envelope.id, &*letter.envelope))
        .collect();
    for hook in &all {
        assert!(letters[&*hook.id] == hook, "{} changed", hook.id);
    }
    env.server().script([]);
    let dispatching = env.dispatching(journal, publisher, quick());
    let job = dispatching.replay(&env, "again", Filter::default()).await;
    let progress = (job.progress.delivered, job.progress.died);
    assert_eq!(progress, (hooks.len() as u64, 1));
    let stored = env.stored();
    let stored = stored.iter().map(|one| &one.message);
    let stored = stored.map(|one| (&*one.attributes["ankusa_id"], &*one.data));
    compare(&hooks, &stored.collect());
}
