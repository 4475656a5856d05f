//! Bodies that are never checked in: dead letters at once, which hold up no other hook and can be
//! mended.

use pubsink_core::dispatch::Settled;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::{Class, ErrorClass};
use pubsink_core::journal::{DeadLetter, Filter};

use super::claims::{LARGE, THREE_MIB, claimed, large, object_of, redeemed, redeems, ref_of};
use super::died;
use crate::harness::case::cases;
use crate::harness::claims::Mood;
use crate::harness::dispatching::quick;
use crate::harness::env::Env;
use crate::harness::journals::Watched;
use crate::harness::pull::decode;

cases! {
    Anything, "dispatch claims: a large hook of a tenant that no ref can name is a dead letter at once, and the others go on" => nameless, .limit(60);
    Anything, "dispatch claims: a body too large for the store is a dead letter at once, and its replay has the ref it would have had" => too_large, .limit(60);
    Anything, "dispatch claims: another body under a ref is a dead letter at once, and the first stays" => taken, .limit(60);
}

fn of_tenant(tenant: &str, id: &str, bytes: usize) -> Envelope {
    Envelope {
        tenant_id: Some(tenant.to_owned()),
        ..large(id, bytes)
    }
}

/// It was given up at its first attempt, for its claim.
#[track_caller]
fn died_at_once(settled: &Settled) {
    let failure = died(settled);
    assert_eq!(
        (failure.class, failure.reason.kind(), settled.attempts),
        (Class::Permanent, "claim_check", 1)
    );
    assert!(!failure.may_have_been_stored);
}

#[track_caller]
fn is_letter_of(letter: &DeadLetter, hook: &Envelope) {
    assert!(*letter.envelope == *hook, "{} changed", hook.id);
    let cause = &letter.cause;
    assert_eq!(
        (
            cause.error_class,
            &*cause.kind,
            cause.config,
            letter.attempts
        ),
        (ErrorClass::Permanent, "claim_check", false, 1)
    );
    assert!(!cause.maybe_stored);
    assert_eq!(letter.claim, None);
}

/// What an operator replays after a repair.
fn of_claims() -> Filter {
    Filter {
        kind: Some("claim_check".to_owned()),
        ..Filter::default()
    }
}

async fn nameless(env: Env) {
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher, &store, quick());
    let long = "t".repeat(65);
    let tenants = [&*long, "a/b", "../../etc", "m\u{fc}ller", "a b"];
    let named =
        |(number, tenant): (usize, &&str)| of_tenant(tenant, &format!("nameless-{number}"), LARGE);
    let nameless: Vec<_> = tenants.iter().enumerate().map(named).collect();
    let good: Vec<_> = ["good-0", "good-1"].map(|id| large(id, LARGE)).into();
    // A small body needs no ref, whatever its tenant.
    let small = of_tenant("a/b", "small", 1_000);
    let all = nameless.iter().chain(&good).chain([&small]);
    dispatching.accept(all.cloned()).await;
    for settled in dispatching.settled(&env, nameless.len() + 3).await {
        match settled.row.envelope.id.starts_with("nameless") {
            true => died_at_once(&settled),
            false => assert!(settled.outcome.is_ok(), "{settled:?}"),
        }
    }
    redeemed(&store, &env.pull(3).await, &good).await;
    let mut objects: Vec<_> = good.iter().map(object_of).collect();
    objects.sort();
    assert_eq!(store.objects(), objects);
    assert_eq!(store.asked().len(), good.len());

    let journal = dispatching.stop(&env).await;
    let mut letters = journal.letters().await;
    letters.sort_by(|one, other| one.envelope.id.cmp(&other.envelope.id));
    assert_eq!(letters.len(), nameless.len());
    for (letter, hook) in letters.iter().zip(&nameless) {
        is_letter_of(letter, hook);
    }
    // Such hooks can go as they are where no store is asked.
    let publisher = env.publisher(env.options().inline_max_bytes(LARGE));
    let dispatching = env.dispatching(journal, publisher, quick());
    let job = dispatching.replay(&env, "inline", of_claims()).await;
    let progress = (job.progress.delivered, job.progress.died);
    assert_eq!(progress, (nameless.len() as u64, 0));
    let mut pulled = env.pull(nameless.len()).await;
    pulled.sort_by(|one, other| one.attributes["ankusa_id"].cmp(&other.attributes["ankusa_id"]));
    for (pulled, hook) in pulled.iter().zip(&nameless) {
        let message = decode(&pulled.data);
        assert_eq!(
            (&message.id, &message.tenant_id),
            (&hook.id, &hook.tenant_id)
        );
        assert!(message.body.as_ref() == Some(&hook.body), "it changed");
        assert_eq!(message.replay_id.as_deref(), Some("inline"));
    }
}

async fn too_large(env: Env) {
    let store = env.claims();
    store.set(Mood::TakesUpTo(1024 * 1024));
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher.clone(), &store, quick());
    let large_hook = large("too large", THREE_MIB);
    let good: Vec<_> = ["good-0", "good-1"].map(|id| large(id, LARGE)).into();
    let all = [&good[0], &large_hook, &good[1]];
    dispatching.accept(all.map(Envelope::clone)).await;
    for settled in dispatching.settled(&env, 3).await {
        match settled.row.envelope.id == large_hook.id {
            true => died_at_once(&settled),
            false => assert!(settled.outcome.is_ok(), "{settled:?}"),
        }
    }
    redeemed(&store, &env.pull(2).await, &good).await;
    assert_eq!(store.asked_for(&ref_of(&large_hook)), 1);

    let journal = dispatching.stop(&env).await;
    let letters = journal.letters().await;
    assert_eq!(letters.len(), 1);
    is_letter_of(&letters[0], &large_hook);
    // A replay before the repair dies of the same, and leaves it as it was.
    let dispatching = env.claiming(journal, publisher, &store, quick());
    let job = dispatching.replay(&env, "early", of_claims()).await;
    assert_eq!((job.progress.delivered, job.progress.died), (0, 1));
    store.set(Mood::Works);
    let job = dispatching.replay(&env, "mended", of_claims()).await;
    assert_eq!((job.progress.delivered, job.progress.died), (1, 0));
    let pulled = env.pull(1).await;
    let message = claimed(&pulled[0].data, &large_hook);
    assert_eq!(message.replay_id.as_deref(), Some("mended"));
    let key = &pulled[0].attributes["ankusa_idempotency_key"];
    assert_eq!(key, "acme:github:event-too large");
    redeems(&store, &message, &large_hook.body).await;
    assert_eq!(store.objects().len(), 3);
    assert!(dispatching.journal.letters().await.is_empty());
}

async fn taken(env: Env) {
    let store = env.claims();
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::disk(), publisher, &store, quick());
    let first = large("taken", LARGE);
    dispatching.accept([first.clone()]).await;
    dispatching.delivered(&env, 1).await;
    let mut other = first.body.to_vec();
    other[LARGE / 2] ^= 1;
    for (number, body) in [other, vec![b'x'; LARGE + 1]].into_iter().enumerate() {
        let second = Envelope {
            body: body.into(),
            ..first.clone()
        };
        let good = large(&format!("good-{number}"), LARGE);
        dispatching.accept([second.clone(), good]).await;
        let settled = dispatching.settled(&env, 2 * number + 3).await;
        let settled = &settled[2 * number + 1..];
        let dead = settled.iter().find(|one| one.row.envelope.id == first.id);
        died_at_once(dead.expect("the second is settled"));
        let letters = dispatching.journal.letters().await;
        assert_eq!(letters.len(), number + 1);
        is_letter_of(&letters[number], &second);
    }
    redeemed(&store, &env.pull(3).await, &[first]).await;
    assert_eq!(store.objects().len(), 3);
}
