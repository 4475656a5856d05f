//! What a journal holds, and what it knows by name.

use pubsink_core::journal::{DeadId, Enqueued, JournalError, OnceState, TableLimits};
use pubsink_runtime::journal::Journal;

use crate::Subject;
use crate::common::{
    NOW, all_of, claim, dead, delivered, enqueue, hook, is_full, lane, named, retry,
};

async fn refused<J: Journal>(journal: &J, to: &[&str]) -> JournalError {
    let answer = journal.enqueue(NOW, vec![hook("x", "src", to)]).await;
    answer.unwrap_err()
}

pub(crate) async fn rows_are_counted_over_restarts<S: Subject>(_: S) {
    let subject = S::with(TableLimits {
        rows: 4,
        bytes: u64::MAX,
    });
    for id in ["1", "2"] {
        enqueue(subject.journal(), NOW, hook(id, "src", &["a", "b"])).await;
    }
    let full = JournalError::Full {
        what: "rows",
        held: 4,
        max: 4,
    };
    assert_eq!(refused(subject.journal(), &["a"]).await, full);
    let subject = subject.restart();
    assert_eq!(refused(subject.journal(), &["a"]).await, full);
    // A dead letter counts as its row did.
    let (_, claimed) = claim(subject.journal(), all_of(lane("a", "src"))).await;
    let [one, two] = [0, 1].map(|n| claimed.rows[n].id);
    let records = vec![dead(one, false), retry(two, NOW)];
    subject.journal().record(records).await.unwrap();
    assert_eq!(refused(subject.journal(), &["a"]).await, full);
    subject.journal().discard(vec![DeadId(1)]).await.unwrap();
    let subject = subject.restart();
    let journal = subject.journal();
    assert!(is_full(&refused(journal, &["a", "b"]).await, "rows"));
    enqueue(journal, NOW, hook("3", "src", &["a"])).await;
    assert_eq!(refused(journal, &["a"]).await, full);
    let (_, claimed) = claim(journal, all_of(lane("b", "src"))).await;
    let records = claimed.rows.iter().map(|row| delivered(row.id)).collect();
    journal.record(records).await.unwrap();
    enqueue(journal, NOW, hook("4", "src", &["a", "b"])).await;
    assert_eq!(refused(journal, &["a"]).await, full);
}

pub(crate) async fn bytes_are_counted_over_restarts<S: Subject>(_: S) {
    let size = hook("1", "src", &[]).envelope.bytes() as u64;
    let subject = S::with(TableLimits {
        rows: u64::MAX,
        bytes: 3 * size,
    });
    // A hook counts once for each of its rows.
    enqueue(subject.journal(), NOW, hook("1", "src", &["a", "b"])).await;
    enqueue(subject.journal(), NOW, hook("2", "src", &["a"])).await;
    let full = JournalError::Full {
        what: "bytes",
        held: 3 * size,
        max: 3 * size,
    };
    assert_eq!(refused(subject.journal(), &["a"]).await, full);
    let subject = subject.restart();
    let journal = subject.journal();
    assert_eq!(refused(journal, &["a"]).await, full);
    let (_, claimed) = claim(journal, all_of(lane("a", "src"))).await;
    let [one, two] = [0, 1].map(|n| claimed.rows[n].id);
    journal
        .record(vec![delivered(one), dead(two, false)])
        .await
        .unwrap();
    enqueue(journal, NOW, hook("3", "src", &["a"])).await;
    assert_eq!(refused(journal, &["a"]).await, full);
}

pub(crate) async fn a_known_hook_needs_no_room<S: Subject>(_: S) {
    let subject = S::with(TableLimits {
        rows: 1,
        bytes: u64::MAX,
    });
    let journal = subject.journal();
    let hooks = || vec![named(hook("1", "src", &["a"]), "name"); 2];
    let answer = journal.enqueue(NOW, hooks()).await.unwrap();
    assert!(matches!(
        &*answer,
        [Enqueued::Stored(_), Enqueued::Known(_)]
    ));
    let answer = journal.enqueue(NOW, hooks()).await.unwrap();
    assert!(matches!(&*answer, [Enqueued::Known(_), Enqueued::Known(_)]));
    let mut with_new = hooks();
    with_new.push(hook("2", "src", &["a"]));
    let answer = journal.enqueue(NOW, with_new).await;
    assert!(is_full(&answer.unwrap_err(), "rows"));
}

pub(crate) async fn a_name_is_known<S: Subject>(subject: S) {
    let first = named(hook("1", "src", &["a", "b"]), "name");
    enqueue(subject.journal(), NOW, first).await;
    let subject = subject.restart();
    let second = named(hook("2", "other", &["c"]), "name");
    let answer = subject.journal().enqueue(NOW, vec![second]).await.unwrap();
    let known = OnceState {
        hook_id: "1".into(),
        pending: 2,
        ..OnceState::default()
    };
    assert_eq!(answer, [Enqueued::Known(known)]);
    assert_eq!(subject.journal().lanes().await.unwrap().len(), 2);
}

pub(crate) async fn a_name_follows_its_rows<S: Subject>(subject: S) {
    let sent = || vec![named(hook("1", "src", &["a", "b", "c"]), "name")];
    subject.journal().enqueue(NOW, sent()).await.unwrap();
    for (to, record) in [
        ("a", delivered as fn(_) -> _),
        ("b", |row| dead(row, false)),
        ("c", |row| retry(row, NOW)),
    ] {
        let (_, claimed) = claim(subject.journal(), all_of(lane(to, "src"))).await;
        let records = vec![record(claimed.rows[0].id)];
        subject.journal().record(records).await.unwrap();
    }
    let subject = subject.restart();
    let answer = subject.journal().enqueue(NOW, sent()).await.unwrap();
    let known = OnceState {
        hook_id: "1".into(),
        pending: 1,
        delivered: 1,
        dead: 1,
        message_id: Some("message".into()),
    };
    assert_eq!(answer, [Enqueued::Known(known)]);
}

pub(crate) async fn one_call_may_bring_a_name_twice<S: Subject>(subject: S) {
    let journal = subject.journal();
    let hooks = vec![
        named(hook("1", "src", &["a"]), "name"),
        hook("2", "src", &["a"]),
        named(hook("3", "src", &["a"]), "name"),
    ];
    let answer = journal.enqueue(NOW, hooks).await.unwrap();
    assert!(matches!(&answer[2], Enqueued::Known(known) if known.hook_id == "1"));
    let (ids, _) = claim(journal, all_of(lane("a", "src"))).await;
    assert_eq!(ids, ["1", "2"]);
}
