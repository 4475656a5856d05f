//! Replay jobs.

use pubsink_core::journal::{
    DeadId, Enqueued, Filter, JournalError, Progress, ReplayJob, ReplayState,
};
use pubsink_runtime::journal::Journal;

use crate::Subject;
use crate::common::{NOW, all_of, claim, dead, delivered, enqueue, hook, lane, named};

/// Hooks of one source that died.
async fn die<J: Journal>(journal: &J, source: &str, count: usize) {
    for n in 0..count {
        enqueue(journal, NOW, hook(&n.to_string(), source, &["a"])).await;
    }
    settle(journal, source, false).await;
}

/// Everything of a source is claimed, and is delivered or dies.
async fn settle<J: Journal>(journal: &J, source: &str, ok: bool) {
    let (_, claimed) = claim(journal, all_of(lane("a", source))).await;
    let rows = claimed.rows.iter().map(|row| row.id);
    let records = rows.map(|row| if ok { delivered(row) } else { dead(row, false) });
    journal.record(records.collect()).await.unwrap();
}

fn job(id: &str) -> ReplayJob {
    ReplayJob::new(id, Filter::default())
}

async fn left<J: Journal>(journal: &J) -> usize {
    let letters = journal.dead_letters(Filter::default(), DeadId(0), usize::MAX);
    letters.await.unwrap().len()
}

pub(crate) async fn letters_are_sent_again<S: Subject>(subject: S) {
    let journal = subject.journal();
    let sent = || vec![named(hook("1", "src", &["a/key"]), "name")];
    journal.enqueue(NOW, sent()).await.unwrap();
    let (_, claimed) = claim(journal, all_of(lane("a/key", "src"))).await;
    journal
        .record(vec![dead(claimed.rows[0].id, false)])
        .await
        .unwrap();
    let begun = journal.begin_replay(job("again")).await.unwrap();
    assert_eq!(begun.progress.until, DeadId(1));
    let later = NOW + 1_000;
    let (job, rows) = journal.replay(later, "again".into(), 10).await.unwrap();
    assert_eq!((job.state, job.progress.sent), (ReplayState::Done, 1));
    let (_, claimed) = claim(journal, all_of(lane("a/key", "src"))).await;
    let row = &claimed.rows[0];
    assert_eq!(rows, [(row.id, lane("a/key", "src"))]);
    assert_eq!((row.attempts, row.first_attempt_at), (0, None));
    assert_eq!((row.enqueued_at, row.due), (NOW, later));
    assert_eq!(row.replay_id.as_deref(), Some("again"));
    assert_eq!(row.once.as_deref(), Some("name"));
    assert!(row.maybe_stored, "by the attempts before");
    assert_eq!(left(journal).await, 0);
    let known = journal.enqueue(NOW, sent()).await.unwrap();
    let pending = |known: &Enqueued| match known {
        Enqueued::Known(known) => (known.pending, known.dead),
        Enqueued::Stored(_) => panic!("{known:?}"),
    };
    assert_eq!(pending(&known[0]), (1, 0));
    let records = vec![dead(row.id, false)];
    journal.record(records).await.unwrap();
    let letters = journal.dead_letters(Filter::default(), DeadId(0), 9).await;
    let letter = &letters.unwrap()[0];
    assert_eq!(letter.id, DeadId(2));
    assert_eq!(letter.replay_id.as_deref(), Some("again"));
}

pub(crate) async fn a_job_means_the_letters_that_were_there<S: Subject>(subject: S) {
    let journal = subject.journal();
    die(journal, "src", 5).await;
    journal.begin_replay(job("again")).await.unwrap();
    die(journal, "src", 2).await;
    for sent in [2, 4, 5] {
        let (job, rows) = journal.replay(NOW, "again".into(), 2).await.unwrap();
        assert_eq!(job.progress.sent, sent);
        assert_eq!(rows.len(), if sent == 5 { 1 } else { 2 });
        let done = job.state == ReplayState::Done;
        assert_eq!(done, sent == 5);
        // Dying again, it is not the job's any more.
        settle(journal, "src", false).await;
    }
    assert_eq!(left(journal).await, 7);
    let (_, rows) = journal.replay(NOW, "again".into(), 2).await.unwrap();
    assert!(rows.is_empty());
}

pub(crate) async fn a_filter_passes_over_others<S: Subject>(subject: S) {
    let journal = subject.journal();
    for source in ["a", "b", "a"] {
        die(journal, source, 3).await;
    }
    let filter = Filter {
        source: Some("b".into()),
        ..Filter::default()
    };
    let job = ReplayJob::new("again", filter);
    journal.begin_replay(job).await.unwrap();
    let (job, rows) = journal.replay(NOW, "again".into(), 100).await.unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        (job.state, job.progress.cursor),
        (ReplayState::Done, DeadId(9))
    );
    assert_eq!(left(journal).await, 6);
}

pub(crate) async fn a_job_can_be_paused_and_pauses_itself<S: Subject>(subject: S) {
    die(subject.journal(), "src", 10).await;
    let mut job = job("again");
    job.pause_after = 2;
    subject.journal().begin_replay(job).await.unwrap();
    let paused = subject.journal().set_replay("again".into(), false).await;
    assert_eq!(paused.unwrap().state, ReplayState::Paused);
    let subject = subject.restart();
    let journal = subject.journal();
    let (_, rows) = journal.replay(NOW, "again".into(), 5).await.unwrap();
    assert!(rows.is_empty());
    let running = journal.set_replay("again".into(), true).await.unwrap();
    assert_eq!(running.state, ReplayState::Running);
    let (_, rows) = journal.replay(NOW, "again".into(), 2).await.unwrap();
    assert_eq!(rows.len(), 2);
    settle(journal, "src", false).await;
    let job = journal.replays().await.unwrap().remove(0);
    assert_eq!(
        (job.state, job.progress.died_in_a_row),
        (ReplayState::Failing, 2)
    );
    let (_, rows) = journal.replay(NOW, "again".into(), 5).await.unwrap();
    assert!(rows.is_empty());
    // Pausing what does not run changes nothing.
    let paused = journal.set_replay("again".into(), false).await.unwrap();
    assert_eq!(paused.state, ReplayState::Failing);
    let running = journal.set_replay("again".into(), true).await.unwrap();
    assert_eq!(running.progress.died_in_a_row, 0);
}

pub(crate) async fn jobs_are_known_by_their_ids<S: Subject>(subject: S) {
    let journal = subject.journal();
    let unknown = Err(JournalError::UnknownReplay("x".into()));
    assert_eq!(journal.set_replay("x".into(), true).await, unknown);
    let answer = journal.replay(NOW, "x".into(), 1).await;
    assert_eq!(answer.map(|(job, _)| job), unknown);
    for id in ["b", "a"] {
        journal.begin_replay(job(id)).await.unwrap();
    }
    let again = journal.begin_replay(job("a")).await;
    assert_eq!(again, Err(JournalError::ReplayExists("a".into())));
    let jobs = journal.replays().await.unwrap();
    let ids: Vec<_> = jobs.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

pub(crate) async fn what_a_replay_became_is_counted_over_restarts<S: Subject>(subject: S) {
    die(subject.journal(), "src", 6).await;
    let filter = Filter {
        since: Some(1),
        ..Filter::default()
    };
    let job = ReplayJob::new("again", filter);
    subject.journal().begin_replay(job.clone()).await.unwrap();
    let (_, rows) = subject
        .journal()
        .replay(NOW, "again".into(), 4)
        .await
        .unwrap();
    assert_eq!(rows.len(), 4);
    let mut some = all_of(lane("a", "src"));
    some.max_rows = 3;
    let (_, claimed) = claim(subject.journal(), some).await;
    let [one, two, three] = [0, 1, 2].map(|n| claimed.rows[n].id);
    let records = vec![delivered(one), dead(two, false), dead(three, false)];
    subject.journal().record(records).await.unwrap();
    let subject = subject.restart();
    let jobs = subject.journal().replays().await.unwrap();
    let expected = ReplayJob {
        progress: Progress {
            cursor: DeadId(4),
            until: DeadId(6),
            sent: 4,
            delivered: 1,
            died: 2,
            died_in_a_row: 2,
        },
        ..job
    };
    assert_eq!(jobs, [expected]);
    settle(subject.journal(), "src", true).await;
    let jobs = subject.journal().replays().await.unwrap();
    assert_eq!(jobs[0].progress.died_in_a_row, 0);
    assert_eq!(jobs[0].progress.delivered, 2);
    assert!(jobs[0].is_settled());
}
