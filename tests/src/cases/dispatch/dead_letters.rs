//! R17 through dispatch: a row is let go only when its dead letter is kept, and a dead letter
//! always fits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pubsink_core::dispatch::Event;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Class;
use pubsink_core::journal::{JournalError, Record};
use pubsink_core::options::PublisherOptionsBuilder;
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{died, refuses};
use crate::harness::case::cases;
use crate::harness::dispatching::{Dispatching, hook, hooks, quick};
use crate::harness::env::Env;
use crate::harness::journals::Watched;

cases! {
    Faults, "dispatch R17.1 a dead letter whose record fails twice is kept once, and only then is its row let go" => fails_twice, .limit(60);
    Faults, "dispatch R17.2 a dead letter that is never kept keeps its row, is tried at most five times in ten seconds, and holds up no other hook" => never_kept, .limit(60);
    Faults, "dispatch R17.3 a long refusal is kept as text that fits, cut between characters" => long_texts, .limit(60);
    Faults, "dispatch R17.4 R17.5 a hook too large for any request is a dead letter with its body byte for byte, over a restart" => too_large, .limit(60);
}

/// How often the journal was asked to keep a dead letter; the first `times` it does not.
fn refuse_letters(dispatching: &Dispatching, times: usize) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    dispatching.journal.refuse_records(move |records| {
        let dead = |record: &Record| matches!(record, Record::Dead { .. });
        if !records.iter().any(dead) {
            return None;
        }
        let number = counted.fetch_add(1, Ordering::Relaxed);
        (number < times).then(|| JournalError::Storage("the disk is full".into()))
    });
    asked
}

async fn fails_twice(env: Env) {
    env.server().script([refuses("bad")]);
    let publisher = env.publisher(env.options());
    let dispatching = env.dispatching(Watched::disk(), publisher, quick());
    let asked = refuse_letters(&dispatching, 2);
    dispatching.accept([hook("bad")]).await;
    env.until("the journal failed", || asked.load(Ordering::Relaxed) > 0)
        .await;
    // It has died, and until that is kept it has not.
    assert!(dispatching.journal.letters().await.is_empty());
    assert_eq!(dispatching.heard.settled_count(), 0);
    assert_eq!(dispatching.dispatch.gauges().unrecorded, 1);
    dispatching.settled(&env, 1).await;
    let order: Vec<_> = dispatching.heard.events();
    assert!(matches!(
        &order[..],
        [
            Event::Journal { what: "record", .. },
            Event::Journal { what: "record", .. },
            Event::Settled(_)
        ]
    ));
    let letters = dispatching.journal.letters().await;
    assert_eq!((letters.len(), &*letters[0].envelope.id), (1, "bad"));
    assert_eq!(letters[0].envelope.body, "bad");
    assert_eq!(dispatching.journal.lanes_left().await, 0);
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert_eq!(env.publishes(), 1, "the hook itself was tried once");
    assert!(dispatching.dispatch.is_alive());
}

async fn never_kept(env: Env) {
    env.server().script([refuses("bad")]);
    let publisher = env.publisher(env.options().batch(false));
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), quick());
    let asked = refuse_letters(&dispatching, usize::MAX);
    dispatching.accept([hook("bad")]).await;
    let start = Instant::now();
    for number in 0..100 {
        dispatching.accept([hook(format!("good-{number}"))]).await;
        env.sleep(100).await;
    }
    let tens = 1 + usize::try_from(start.elapsed().as_secs() / 10).unwrap();
    let asked = asked.load(Ordering::Relaxed);
    let told = dispatching.heard.journal_failures();
    assert!(asked <= 5 * tens, "asked {asked} times");
    assert!((1..=asked).contains(&told), "{told} of {asked} were told");
    dispatching.delivered(&env, 100).await;
    assert!(dispatching.journal.letters().await.is_empty());
    assert_eq!(dispatching.dispatch.gauges().unrecorded, 1);
    // It is still there, and dies for good where there is room again.
    dispatching.dispatch.shutdown(Duration::ZERO).await;
    let journal = dispatching.end(&env).await;
    let dispatching = env.dispatching(journal, publisher, quick());
    let settled = dispatching.settled(&env, 1).await;
    assert_eq!(died(&settled[0]).class, Class::Permanent);
    assert_eq!(dispatching.journal.letters().await.len(), 1);
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

async fn long_texts(env: Env) {
    let publisher = env.publisher(env.options());
    let dispatching = env.dispatching(Watched::disk(), publisher, quick());
    for (number, e_acutes) in [3_000, 30_000].into_iter().enumerate() {
        let words = "a".repeat(1_023) + &"é".repeat(e_acutes);
        let refusal = Status::invalid_argument(words.clone());
        env.server()
            .script([Rule::on(Match::publish()).then(Action::refuse(&refusal))]);
        dispatching.accept([hook(format!("m-{number}"))]).await;
        dispatching.settled(&env, number + 1).await;
        let letter = dispatching.journal.letters().await.remove(number);
        let message = letter.cause.message.as_str();
        let fits = words.len() < TEXT_MAX_BYTES;
        assert_eq!(message.contains(&words), fits);
        assert_eq!(message.contains("(cut"), !fits);
        assert!(message.contains(&words[..6_999]), "{message}");
        assert!(message.len() <= TEXT_MAX_BYTES + 100);
        assert!(!message.contains('\u{FFFD}'), "cut between characters");
        assert_eq!(letter.envelope.body, format!("m-{number}"));
        assert_eq!(env.publishes(), number + 1);
    }
}

/// Everything inline, whatever its size.
fn all_inline(env: &Env) -> PublisherOptionsBuilder {
    env.options().inline_max_bytes(100_000_000)
}

async fn too_large(env: Env) {
    let body: Bytes = (0..=250).cycle().take(7_800_000).collect();
    let headers = |count: usize, len: usize| {
        let header = |n| (format!("x-header-{n}"), Bytes::from(vec![b'v'; len]));
        (0..count).map(header).collect::<Vec<_>>()
    };
    let large = Envelope {
        headers: headers(84, 1_000),
        body: body.clone(),
        ..hook("large")
    };
    // Headers travel in the data, so that they pass no limit of Pub/Sub's attributes.
    let wide = Envelope {
        headers: headers(100, 1_024),
        ..hook("wide")
    };
    let publisher = env.publisher(all_inline(&env));
    let dispatching = env.dispatching(Watched::disk(), publisher.clone(), quick());
    dispatching.accept([large.clone(), wide]).await;
    let settled = dispatching.settled(&env, 2).await;
    let failure = died(settled.iter().find(|one| one.outcome.is_err()).unwrap());
    assert_eq!(
        (failure.class, failure.reason.kind()),
        (Class::Permanent, "message_too_large")
    );
    assert_eq!(
        (env.publishes(), env.stored_hooks()),
        (1, vec!["wide".to_owned()])
    );

    let journal = dispatching.stop(&env).await;
    let letters = journal.letters().await;
    assert_eq!(letters.len(), 1);
    assert!(*letters[0].envelope == large, "the hook changed on its way");
    assert_eq!(&*letters[0].cause.kind, "message_too_large");
    // A refusal by the service itself leaves it as whole.
    let dispatching = env.dispatching(journal, publisher, quick());
    env.server().script([refuses("refused")]);
    let refused = Envelope {
        headers: headers(100, 1_024),
        body: body.slice(..5_000_000),
        ..hook("refused")
    };
    dispatching
        .accept([refused.clone()].into_iter().chain(hooks("m", 3)))
        .await;
    dispatching.settled(&env, 4).await;
    let letters = dispatching.journal.letters().await;
    assert_eq!(letters.len(), 2);
    assert!(
        *letters[1].envelope == refused,
        "the hook changed on its way"
    );
}
