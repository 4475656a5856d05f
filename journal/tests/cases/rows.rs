//! Rows in, rows out.

use pubsink_core::claim::ClaimRef;
use pubsink_core::journal::{Claim, Enqueued, JournalError, Record, RowId};
use pubsink_runtime::journal::Journal as _;

use crate::Subject;
use crate::common::{NOW, all_of, claim, dead, delivered, enqueue, envelope, hook, lane, retry};

pub(crate) async fn a_row_comes_back_as_it_was_enqueued<S: Subject>(subject: S) {
    let journal = subject.journal();
    let mut sent = hook("1", "src", &["a", "b/key"]);
    sent.claim = Some(ClaimRef::derive(Some("tenant"), NOW, "1").unwrap());
    sent.once = Some("name".into());
    let answer = journal.enqueue(NOW, vec![sent.clone()]).await.unwrap();
    let lanes = [lane("a", "src"), lane("b/key", "src")];
    let rows = vec![(RowId(1), lanes[0].clone()), (RowId(2), lanes[1].clone())];
    assert_eq!(answer, [Enqueued::Stored(rows)]);
    for (lane, id) in lanes.into_iter().zip([1, 2]) {
        let (_, claimed) = claim(journal, all_of(lane.clone())).await;
        let [row] = &*claimed.rows else {
            panic!("{claimed:?}");
        };
        assert_eq!((row.id, &row.lane), (RowId(id), &lane));
        assert_eq!(*row.envelope, *sent.envelope);
        assert_eq!(row.claim, sent.claim);
        assert_eq!(row.once, sent.once);
        assert_eq!((row.enqueued_at, row.due), (NOW, NOW));
        assert_eq!((row.attempts, row.first_attempt_at), (0, None));
        assert_eq!((row.maybe_stored, row.replay_id.clone()), (false, None));
        assert_eq!(claimed.next_due, None);
    }
}

pub(crate) async fn rows_come_by_when_they_are_due<S: Subject>(subject: S) {
    let journal = subject.journal();
    for (id, due) in [("1", 30), ("2", 10), ("3", 20), ("4", 10), ("5", -7)] {
        enqueue(journal, due, hook(id, "src", &["a"])).await;
    }
    let (ids, claimed) = claim(journal, all_of(lane("a", "src"))).await;
    assert_eq!(ids, ["5", "2", "4", "3", "1"]);
    assert_eq!(claimed.next_due, None);
}

pub(crate) async fn nothing_is_given_out_before_it_is_due<S: Subject>(subject: S) {
    let journal = subject.journal();
    for (id, due) in [("1", 10), ("2", 20), ("3", 30)] {
        enqueue(journal, due, hook(id, "src", &["a", "b/key"])).await;
    }
    let by = |due_by, to| Claim {
        due_by,
        ..all_of(lane(to, "src"))
    };
    let (ids, claimed) = claim(journal, by(9, "a")).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(10)));
    let (ids, claimed) = claim(journal, by(20, "a")).await;
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(claimed.next_due, Some(30));
    let (ids, claimed) = claim(journal, by(9, "b/key")).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(10)));
    let (ids, _) = claim(journal, by(9, "unknown")).await;
    assert!(ids.is_empty());
}

pub(crate) async fn a_claim_keeps_to_its_windows<S: Subject>(subject: S) {
    let journal = subject.journal();
    let mut bytes = 0;
    for id in ["1", "2", "3", "4", "5", "6"] {
        let hook = hook(id, "src", &["a"]);
        bytes = hook.envelope.bytes();
        enqueue(journal, NOW, hook).await;
    }
    let rows = |max_rows, max_bytes| Claim {
        max_rows,
        max_bytes,
        ..all_of(lane("a", "src"))
    };
    let (ids, claimed) = claim(journal, rows(2, usize::MAX)).await;
    assert_eq!((ids.len(), claimed.next_due), (2, Some(NOW)));
    let (ids, claimed) = claim(journal, rows(9, 2 * bytes + 1)).await;
    assert_eq!((ids.len(), claimed.next_due), (2, Some(NOW)));
    let (ids, claimed) = claim(journal, rows(9, bytes - 1)).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(NOW)));
    let (ids, claimed) = claim(journal, rows(0, usize::MAX)).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(NOW)));
    let (ids, claimed) = claim(journal, rows(9, 2 * bytes)).await;
    assert_eq!((ids.len(), claimed.next_due), (2, None));
}

pub(crate) async fn the_first_row_may_be_oversize<S: Subject>(subject: S) {
    let journal = subject.journal();
    let mut large = hook("1", "src", &["a"]);
    large.envelope = envelope("1", "src", &[7; 1_000_000]);
    enqueue(journal, NOW, large.clone()).await;
    enqueue(journal, NOW, hook("2", "src", &["a"])).await;
    let with = |oversize| Claim {
        max_bytes: 100,
        oversize,
        ..all_of(lane("a", "src"))
    };
    let (ids, claimed) = claim(journal, with(false)).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(NOW)));
    let (ids, claimed) = claim(journal, with(true)).await;
    assert_eq!((ids.len(), claimed.next_due), (1, Some(NOW)));
    assert_eq!(*claimed.rows[0].envelope, *large.envelope);
}

pub(crate) async fn a_released_row_is_due_as_it_was<S: Subject>(subject: S) {
    let journal = subject.journal();
    for (id, due) in [("1", 10), ("2", 20), ("3", 30)] {
        enqueue(journal, due, hook(id, "src", &["a"])).await;
    }
    let (_, claimed) = claim(journal, all_of(lane("a", "src"))).await;
    let [one, two, three] = [0, 1, 2].map(|n| claimed.rows[n].id);
    journal
        .record(vec![Record::Release { row: two }])
        .await
        .unwrap();
    let mixed = vec![Record::Release { row: one }, delivered(three)];
    journal.record(mixed).await.unwrap();
    let (ids, again) = claim(journal, all_of(lane("a", "src"))).await;
    assert_eq!(ids, ["1", "2"]);
    assert_eq!(again.rows[0], claimed.rows[0]);
}

pub(crate) async fn a_retried_row_waits_and_remembers<S: Subject>(subject: S) {
    let journal = subject.journal();
    for id in ["1", "2"] {
        enqueue(journal, NOW, hook(id, "src", &["a"])).await;
    }
    let (_, claimed) = claim(journal, all_of(lane("a", "src"))).await;
    let one = claimed.rows[0].id;
    journal.record(vec![retry(one, NOW + 50)]).await.unwrap();
    let mut by = all_of(lane("a", "src"));
    by.due_by = NOW;
    let (ids, claimed) = claim(journal, by).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(NOW + 50)));
    let subject = subject.restart();
    let (ids, claimed) = claim(subject.journal(), all_of(lane("a", "src"))).await;
    assert_eq!(ids, ["2", "1"]);
    let row = &claimed.rows[1];
    assert_eq!((row.due, row.enqueued_at), (NOW + 50, NOW));
    assert_eq!((row.attempts, row.first_attempt_at), (1, Some(NOW)));
    assert!(row.maybe_stored);
}

pub(crate) async fn a_row_is_recorded_once<S: Subject>(subject: S) {
    let journal = subject.journal();
    let row = enqueue(journal, NOW, hook("1", "src", &["a"])).await[0];
    let refused = Err(JournalError::NotClaimed(row));
    let records = || {
        [
            delivered(row),
            retry(row, 1),
            dead(row, false),
            Record::Release { row },
        ]
    };
    for record in records() {
        assert_eq!(journal.record(vec![record]).await, refused);
    }
    claim(journal, all_of(lane("a", "src"))).await;
    for record in records() {
        let twice = vec![record.clone(), record];
        assert_eq!(journal.record(twice).await, refused);
    }
    journal.record(vec![delivered(row)]).await.unwrap();
    for record in records() {
        assert_eq!(journal.record(vec![record]).await, refused);
    }
}

pub(crate) async fn records_are_kept_all_or_none<S: Subject>(subject: S) {
    let journal = subject.journal();
    for id in ["1", "2"] {
        enqueue(journal, NOW, hook(id, "src", &["a"])).await;
    }
    let (_, claimed) = claim(journal, all_of(lane("a", "src"))).await;
    let [one, two] = [0, 1].map(|n| claimed.rows[n].id);
    let lost = RowId(99);
    let refused = journal.record(vec![delivered(one), dead(two, true), delivered(lost)]);
    assert_eq!(refused.await, Err(JournalError::NotClaimed(lost)));
    journal
        .record(vec![delivered(two), retry(one, 5)])
        .await
        .unwrap();
    let (ids, _) = claim(journal, all_of(lane("a", "src"))).await;
    assert_eq!(ids, ["1"]);
}

pub(crate) async fn a_restart_forgets_claims_and_nothing_else<S: Subject>(subject: S) {
    for (id, due) in [("1", 10), ("2", 20), ("3", 30)] {
        enqueue(subject.journal(), due, hook(id, "src", &["a", "b/key"])).await;
    }
    let (_, before) = claim(subject.journal(), all_of(lane("a", "src"))).await;
    claim(subject.journal(), all_of(lane("b/key", "src"))).await;
    let row = before.rows[1].id;
    subject
        .journal()
        .record(vec![delivered(row)])
        .await
        .unwrap();
    let subject = subject.restart();
    let journal = subject.journal();
    let lanes = journal.lanes().await.unwrap();
    assert_eq!(lanes, [(lane("a", "src"), 10), (lane("b/key", "src"), 10)]);
    let record = journal.record(vec![delivered(before.rows[0].id)]).await;
    assert_eq!(record, Err(JournalError::NotClaimed(before.rows[0].id)));
    let (ids, after) = claim(journal, all_of(lane("a", "src"))).await;
    assert_eq!(ids, ["1", "3"]);
    assert_eq!(after.rows[0], before.rows[0]);
    // No number is used twice.
    let new = enqueue(journal, NOW, hook("4", "src", &["a"])).await;
    assert_eq!(new, [RowId(7)]);
}

pub(crate) async fn a_hook_for_nobody_is_stored_nowhere<S: Subject>(subject: S) {
    let journal = subject.journal();
    let answer = journal.enqueue(NOW, vec![hook("1", "src", &[])]).await;
    assert_eq!(answer.unwrap(), [Enqueued::Stored(Vec::new())]);
    assert_eq!(journal.enqueue(NOW, Vec::new()).await.unwrap(), []);
    journal.record(Vec::new()).await.unwrap();
    assert!(journal.lanes().await.unwrap().is_empty());
}

pub(crate) async fn a_dispatcher_begins_with_nothing_claimed<S: Subject>(subject: S) {
    let journal = subject.journal();
    for id in ["1", "2"] {
        enqueue(journal, 10, hook(id, "src", &["a", "b/key"])).await;
    }
    for to in ["a", "b/key"] {
        let (first, _) = claim(journal, all_of(lane(to, "src"))).await;
        let (none, _) = claim(journal, all_of(lane(to, "src"))).await;
        assert!(!first.is_empty() && none.is_empty());
        journal.begin();
        let (again, _) = claim(journal, all_of(lane(to, "src"))).await;
        assert_eq!(again, first);
    }
}
