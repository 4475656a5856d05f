//! Lanes that keep order, lanes that stop.

use pubsink_core::journal::{Record, StoppedLane};
use pubsink_runtime::journal::Journal as _;

use crate::Subject;
use crate::common::{NOW, all_of, cause, claim, dead, delivered, enqueue, hook, lane, retry};

pub(crate) async fn rows_of_a_key_go_one_at_a_time_and_in_order<S: Subject>(subject: S) {
    let journal = subject.journal();
    // Their times go backwards, their order does not.
    for (id, due) in [("1", 30), ("2", 20), ("3", 10)] {
        enqueue(journal, due, hook(id, "src", &["a/key"])).await;
    }
    enqueue(journal, 5, hook("other", "src", &["a/other"])).await;
    let key = || all_of(lane("a/key", "src"));
    let (ids, first) = claim(journal, key()).await;
    assert_eq!((ids, first.next_due), (vec!["1".to_owned()], None));
    let (ids, claimed) = claim(journal, key()).await;
    assert_eq!(
        (ids.len(), claimed.next_due),
        (0, None),
        "the first is claimed"
    );
    let (ids, _) = claim(journal, all_of(lane("a/other", "src"))).await;
    assert_eq!(ids, ["other"]);
    journal
        .record(vec![delivered(first.rows[0].id)])
        .await
        .unwrap();
    let (ids, second) = claim(journal, key()).await;
    assert_eq!(ids, ["2"]);
    let row = second.rows[0].id;
    journal.record(vec![dead(row, false)]).await.unwrap();
    let (ids, third) = claim(journal, key()).await;
    assert_eq!((ids, third.next_due), (vec!["3".to_owned()], None));
}

pub(crate) async fn a_retried_row_keeps_its_place_in_its_key<S: Subject>(subject: S) {
    for id in ["1", "2"] {
        enqueue(subject.journal(), NOW, hook(id, "src", &["a/key"])).await;
    }
    let mut by_now = all_of(lane("a/key", "src"));
    by_now.due_by = NOW;
    let (_, first) = claim(subject.journal(), by_now.clone()).await;
    let row = first.rows[0].id;
    let later = NOW + 60_000;
    subject
        .journal()
        .record(vec![retry(row, later)])
        .await
        .unwrap();
    let subject = subject.restart();
    let journal = subject.journal();
    let (ids, claimed) = claim(journal, by_now).await;
    assert_eq!((ids.len(), claimed.next_due), (0, Some(later)));
    assert_eq!(
        journal.lanes().await.unwrap(),
        [(lane("a/key", "src"), later)]
    );
    let (ids, claimed) = claim(journal, all_of(lane("a/key", "src"))).await;
    assert_eq!(ids, ["1"]);
    let row = claimed.rows[0].id;
    journal.record(vec![Record::Release { row }]).await.unwrap();
    let (ids, _) = claim(journal, all_of(lane("a/key", "src"))).await;
    assert_eq!(ids, ["1"]);
}

pub(crate) async fn a_lane_stops_with_its_dead_letter_and_goes_on<S: Subject>(subject: S) {
    let stopped = lane("a/key", "src");
    for id in ["1", "2", "3"] {
        enqueue(subject.journal(), NOW, hook(id, "src", &["a/key", "b"])).await;
    }
    // A lane without a key does not stop.
    let (_, claimed) = claim(subject.journal(), all_of(lane("b", "src"))).await;
    let records = claimed.rows.iter().map(|row| dead(row.id, true)).collect();
    subject.journal().record(records).await.unwrap();
    assert_eq!(subject.journal().stopped().await.unwrap(), []);

    let (_, claimed) = claim(subject.journal(), all_of(stopped.clone())).await;
    let row = claimed.rows[0].id;
    subject
        .journal()
        .record(vec![dead(row, true)])
        .await
        .unwrap();
    let subject = subject.restart();
    let journal = subject.journal();
    let told = StoppedLane {
        lane: stopped.clone(),
        cause: cause(),
        since: NOW + 10,
    };
    assert_eq!(journal.stopped().await.unwrap(), [told]);
    assert!(journal.lanes().await.unwrap().is_empty());
    let (ids, claimed) = claim(journal, all_of(stopped.clone())).await;
    assert_eq!((ids.len(), claimed.next_due), (0, None));
    enqueue(journal, NOW, hook("4", "src", &["a/key"])).await;
    assert_eq!(journal.resume(lane("a/other", "src")).await.unwrap(), None);
    assert_eq!(journal.resume(stopped.clone()).await.unwrap(), Some(NOW));
    assert_eq!(journal.resume(stopped.clone()).await.unwrap(), None);
    assert_eq!(journal.stopped().await.unwrap(), []);
    for id in ["2", "3", "4"] {
        let (ids, claimed) = claim(journal, all_of(stopped.clone())).await;
        assert_eq!(ids, [id]);
        journal
            .record(vec![delivered(claimed.rows[0].id)])
            .await
            .unwrap();
    }
    // Stopped with its last row, it has nothing to be resumed to.
    enqueue(journal, NOW, hook("5", "src", &["a/key"])).await;
    let (_, claimed) = claim(journal, all_of(stopped.clone())).await;
    journal
        .record(vec![dead(claimed.rows[0].id, true)])
        .await
        .unwrap();
    assert_eq!(journal.resume(stopped).await.unwrap(), None);
}

pub(crate) async fn lanes_are_told_by_when_they_are_due<S: Subject>(subject: S) {
    for n in 0..50 {
        let source = format!("src-{}", n % 7);
        let key = format!("b/key-{}", n % 11);
        let hook = hook(&n.to_string(), &source, &["a", &key]);
        enqueue(subject.journal(), 1_000 - n, hook).await;
    }
    let subject = subject.restart();
    let lanes = subject.journal().lanes().await.unwrap();
    // By due time, the last one that came; in order, the first.
    let mut expected: Vec<_> = (0..7)
        .map(|s| {
            let last = (0..50).rev().find(|n| n % 7 == s).unwrap();
            (lane("a", &format!("src-{s}")), 1_000 - last)
        })
        .collect();
    for s in 0..7 {
        for k in 0..11 {
            let first = (0..50).find(|n| n % 7 == s && n % 11 == k);
            let key = lane(&format!("b/key-{k}"), &format!("src-{s}"));
            expected.extend(first.map(|n| (key, 1_000 - n)));
        }
    }
    expected.sort();
    assert_eq!(lanes, expected);
}

pub(crate) async fn lanes_without_a_row_to_give_are_not_told<S: Subject>(subject: S) {
    let journal = subject.journal();
    for (id, due) in [("1", 10), ("2", 20)] {
        enqueue(journal, due, hook(id, "src", &["a", "b/key"])).await;
    }
    let mut one = all_of(lane("a", "src"));
    one.max_rows = 1;
    claim(journal, one).await;
    claim(journal, all_of(lane("b/key", "src"))).await;
    let lanes = journal.lanes().await.unwrap();
    assert_eq!(lanes, [(lane("a", "src"), 20)]);
    claim(journal, all_of(lane("a", "src"))).await;
    assert!(journal.lanes().await.unwrap().is_empty());
}
