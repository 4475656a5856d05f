//! Bodies that were checked in after their hook was stored.

use pubsink_core::claim::ClaimRef;
use pubsink_core::journal::{DeadId, Enqueue, Filter, ReplayJob, Row, RowId};
use pubsink_runtime::journal::Journal;

use crate::Subject;
use crate::common::{
    NOW, all_of, claim, claimed, dead, delivered, enqueue, hook, lane, named, retry,
};

fn large(id: &str, to: &[&str]) -> Enqueue {
    Enqueue {
        check_in: true,
        ..hook(id, "src", to)
    }
}

fn checked_in(id: &str) -> ClaimRef {
    ClaimRef::derive(Some("tenant"), NOW, id).unwrap()
}

/// The only row of a lane.
async fn row<J: Journal>(journal: &J, to: &str) -> Row {
    let (_, claimed) = claim(journal, all_of(lane(to, "src"))).await;
    let [row] = &*claimed.rows else {
        panic!("{claimed:?}");
    };
    row.clone()
}

pub(crate) async fn a_row_waits_for_its_check_in_after_a_restart<S: Subject>(subject: S) {
    enqueue(subject.journal(), NOW, large("1", &["a", "b"])).await;
    enqueue(subject.journal(), NOW, hook("2", "src", &["c"])).await;
    let subject = subject.restart();
    for (to, check_in) in [("a", true), ("b", true), ("c", false)] {
        let row = row(subject.journal(), to).await;
        assert_eq!((row.check_in, row.claim), (check_in, None), "{to}");
    }
}

pub(crate) async fn what_one_row_learns_every_row_of_its_hook_knows<S: Subject>(subject: S) {
    let known = checked_in("1");
    let journal = subject.journal();
    let ids = enqueue(journal, NOW, large("1", &["a", "b", "c", "d/key"])).await;
    enqueue(journal, NOW, large("2", &["other"])).await;
    for to in ["a", "c"] {
        assert_eq!(row(journal, to).await.claim, None);
    }
    let records = vec![claimed(delivered(ids[0]), &known), retry(ids[2], NOW)];
    journal.record(records).await.unwrap();
    assert_eq!(row(journal, "b").await.claim, Some(known.clone()));
    assert_eq!(row(journal, "c").await.claim, Some(known.clone()));
    let subject = subject.restart();
    let journal = subject.journal();
    for to in ["b", "c", "d/key"] {
        let row = row(journal, to).await;
        assert_eq!(
            (row.claim, row.check_in),
            (Some(known.clone()), true),
            "{to}"
        );
    }
    assert_eq!(row(journal, "other").await.claim, None);
    // With the last row of it nothing of the hook is left, and no number is used twice.
    let rest = ids[1..].iter().map(|id| delivered(*id));
    journal.record(rest.collect()).await.unwrap();
    enqueue(journal, NOW, large("3", &["a"])).await;
    assert_eq!(row(journal, "a").await.claim, None);
}

pub(crate) async fn a_row_that_is_tried_again_knows_it<S: Subject>(subject: S) {
    let known = checked_in("1");
    let ids = enqueue(subject.journal(), NOW, large("1", &["a"])).await;
    row(subject.journal(), "a").await;
    let record = claimed(retry(ids[0], NOW), &known);
    subject.journal().record(vec![record]).await.unwrap();
    let subject = subject.restart();
    let journal = subject.journal();
    assert_eq!(row(journal, "a").await.claim, Some(known.clone()));
    // The first one stays.
    let record = claimed(retry(ids[0], NOW), &checked_in("another"));
    journal.record(vec![record]).await.unwrap();
    assert_eq!(row(journal, "a").await.claim, Some(known));
}

pub(crate) async fn the_ref_a_hook_came_with_stays<S: Subject>(subject: S) {
    let came = checked_in("1");
    let sent = Enqueue {
        claim: Some(came.clone()),
        ..large("1", &["a"])
    };
    let ids = enqueue(subject.journal(), NOW, sent).await;
    row(subject.journal(), "a").await;
    let record = claimed(retry(ids[0], NOW), &checked_in("another"));
    subject.journal().record(vec![record]).await.unwrap();
    let subject = subject.restart();
    assert_eq!(row(subject.journal(), "a").await.claim, Some(came));
}

pub(crate) async fn dead_letters_and_replays_know_it<S: Subject>(subject: S) {
    let known = checked_in("1");
    let journal = subject.journal();
    // One dies before the body was checked in, one learns it as it dies.
    let sent = named(large("1", &["a", "b"]), "name");
    let ids = enqueue(journal, NOW, sent).await;
    for (to, id) in [("a", ids[0]), ("b", ids[1])] {
        row(journal, to).await;
        let record = dead(id, false);
        let record = match to {
            "b" => claimed(record, &known),
            _ => record,
        };
        journal.record(vec![record]).await.unwrap();
    }
    let subject = subject.restart();
    let journal = subject.journal();
    let letters = journal.dead_letters(Filter::default(), DeadId(0), 9).await;
    for letter in letters.unwrap() {
        assert_eq!(letter.claim, Some(known.clone()), "{:?}", letter.lane);
        assert!(letter.check_in);
    }
    let job = ReplayJob::new("job", Filter::default());
    journal.begin_replay(job).await.unwrap();
    let (_, rows) = journal.replay(NOW, "job".into(), 9).await.unwrap();
    let rows: Vec<RowId> = rows.into_iter().map(|(row, _)| row).collect();
    assert_eq!(rows, [RowId(3), RowId(4)]);
    let subject = subject.restart();
    for to in ["a", "b"] {
        let row = row(subject.journal(), to).await;
        assert_eq!((row.claim, row.check_in), (Some(known.clone()), true));
        assert_eq!(row.replay_id.as_deref(), Some("job"));
    }
}
