//! Dead letters.

use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{DeadId, Filter, Record};
use pubsink_runtime::journal::Journal;

use crate::Subject;
use crate::common::{NOW, all_of, cause, claim, dead, enqueue, hook, lane, named};

/// Hooks that died, one a call, with some difference between each of them.
async fn die<J: Journal>(journal: &J, count: i64) {
    for n in 0..count {
        let source = format!("src-{}", n % 3);
        enqueue(journal, NOW, hook(&n.to_string(), &source, &["a"])).await;
        let (_, claimed) = claim(journal, all_of(lane("a", &source))).await;
        let mut cause = cause();
        cause.config = n % 2 == 0;
        cause.kind = ["x", "y"][usize::from(n % 4 == 0)].into();
        cause.error_class = ErrorClass::ALL[usize::try_from(n % 3).unwrap()];
        let record = Record::Dead {
            row: claimed.rows[0].id,
            cause,
            attempts: 1,
            first_attempt_at: None,
            died_at: NOW + n,
            stop: false,
            claim: None,
        };
        journal.record(vec![record]).await.unwrap();
    }
}

async fn ids<J: Journal>(journal: &J, filter: Filter) -> Vec<u64> {
    let letters = journal.dead_letters(filter, DeadId(0), usize::MAX).await;
    letters.unwrap().iter().map(|letter| letter.id.0).collect()
}

pub(crate) async fn a_dead_letter_carries_everything<S: Subject>(subject: S) {
    let sent = named(hook("1", "src", &["a/key"]), "name");
    enqueue(subject.journal(), NOW, sent.clone()).await;
    let (_, claimed) = claim(subject.journal(), all_of(lane("a/key", "src"))).await;
    let row = claimed.rows[0].id;
    subject
        .journal()
        .record(vec![dead(row, false)])
        .await
        .unwrap();
    let subject = subject.restart();
    let journal = subject.journal();
    assert!(journal.lanes().await.unwrap().is_empty());
    let letters = journal.dead_letters(Filter::default(), DeadId(0), 9).await;
    let letters = letters.unwrap();
    let [letter] = &*letters else {
        panic!("{letters:?}");
    };
    assert_eq!(letter.id, DeadId(1));
    assert_eq!(letter.lane, lane("a/key", "src"));
    assert_eq!(*letter.envelope, *sent.envelope);
    assert_eq!((&letter.claim, &letter.once), (&None, &sent.once));
    assert_eq!(letter.cause, cause());
    assert_eq!((letter.attempts, letter.enqueued_at), (2, NOW));
    assert_eq!(letter.first_attempt_at, Some(NOW));
    assert_eq!((letter.died_at, &letter.replay_id), (NOW + 10, &None));
}

pub(crate) async fn filters_choose<S: Subject>(subject: S) {
    let journal = subject.journal();
    die(journal, 12).await;
    let all = Filter::default;
    let some = |text: &str| Some(text.to_owned());
    let source = some("src-1");
    assert_eq!(
        ids(journal, Filter { source, ..all() }).await,
        [2, 5, 8, 11]
    );
    let hook_id = some("7");
    assert_eq!(ids(journal, Filter { hook_id, ..all() }).await, [8]);
    let kind = some("y");
    assert_eq!(ids(journal, Filter { kind, ..all() }).await, [1, 5, 9]);
    let config = Some(false);
    let since = Some(NOW + 6);
    let filter = Filter {
        config,
        since,
        ..all()
    };
    assert_eq!(ids(journal, filter).await, [8, 10, 12]);
    let error_class = Some(ErrorClass::Transient);
    let until = Some(NOW + 8);
    let filter = Filter {
        error_class,
        until,
        ..all()
    };
    assert_eq!(ids(journal, filter).await, [3, 6]);
    let tenant = some("");
    assert!(ids(journal, Filter { tenant, ..all() }).await.is_empty());
    let (tenant, sink) = (some("tenant"), some("a"));
    let filter = Filter {
        tenant,
        sink,
        ..all()
    };
    assert_eq!(ids(journal, filter).await.len(), 12);
}

pub(crate) async fn letters_come_in_pages<S: Subject>(subject: S) {
    let journal = subject.journal();
    die(journal, 10).await;
    let mut after = DeadId(0);
    for page in [&[1, 2, 3, 4][..], &[5, 6, 7, 8], &[9, 10], &[]] {
        let letters = journal.dead_letters(Filter::default(), after, 4).await;
        let letters = letters.unwrap();
        let found: Vec<_> = letters.iter().map(|letter| letter.id.0).collect();
        assert_eq!(found, page);
        after = letters.last().map_or(after, |letter| letter.id);
    }
    let none = journal.dead_letters(Filter::default(), DeadId(0), 0).await;
    assert!(none.unwrap().is_empty());
}

pub(crate) async fn discarded_letters_are_gone<S: Subject>(subject: S) {
    die(subject.journal(), 5).await;
    let letters = vec![DeadId(2), DeadId(4), DeadId(4), DeadId(99)];
    assert_eq!(subject.journal().discard(letters).await.unwrap(), 2);
    let subject = subject.restart();
    assert_eq!(ids(subject.journal(), Filter::default()).await, [1, 3, 5]);
    // No number is used twice.
    let journal = subject.journal();
    assert_eq!(journal.discard(vec![DeadId(5)]).await.unwrap(), 1);
    die(journal, 1).await;
    assert_eq!(ids(journal, Filter::default()).await, [1, 3, 6]);
}

pub(crate) async fn one_of_two_rows_dies<S: Subject>(subject: S) {
    enqueue(subject.journal(), NOW, hook("1", "src", &["a", "b"])).await;
    let (_, claimed) = claim(subject.journal(), all_of(lane("a", "src"))).await;
    let row = claimed.rows[0].id;
    subject
        .journal()
        .record(vec![dead(row, false)])
        .await
        .unwrap();
    // The letter is discarded, and the other row still has its hook.
    let discarded = subject.journal().discard(vec![DeadId(1)]).await;
    assert_eq!(discarded.unwrap(), 1);
    let subject = subject.restart();
    let (ids, claimed) = claim(subject.journal(), all_of(lane("b", "src"))).await;
    assert_eq!(ids, ["1"]);
    assert_eq!(&*claimed.rows[0].envelope.body, b"body");
}
