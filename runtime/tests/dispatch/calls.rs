//! What operators ask of a dispatcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{DispatchOptions, Event, OnDead};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::journal::{DeadId, Filter, JournalError, ReplayJob, ReplayState};
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder};
use pubsink_runtime::journal::{Journal as _, MemoryJournal};
use pubsink_runtime::sink::Sink;

use crate::support::{Heard, Scripted, What, hook, start, taken, wait_until, within};
use crate::tricky::{Does, Tricky};

/// A dispatcher whose sink refuses everything until it is mended.
fn broken(heard: &Heard, journal: &Arc<MemoryJournal>) -> (Dispatch, Arc<AtomicBool>, Scripted) {
    let mended = Arc::new(AtomicBool::new(false));
    let works = Arc::clone(&mended);
    let sink = Scripted::new(move |_, _| match works.load(Ordering::SeqCst) {
        true => taken(),
        false => What::Answer(Err(Failure::config("no such topic"))),
    });
    let builder = DispatchBuilder::new(Arc::clone(journal))
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    (start(builder).unwrap(), mended, sink)
}

#[test]
fn dead_letters_are_sent_again() {
    let (heard, journal) = (Heard::default(), Arc::default());
    let (dispatch, mended, sink) = broken(&heard, &journal);
    for id in ["1", "2", "3"] {
        within(dispatch.enqueue(hook(id))).unwrap();
    }
    heard.wait_settled(3);
    mended.store(true, Ordering::SeqCst);
    let job = ReplayJob::new("after the fix", Filter::default());
    let begun = within(dispatch.begin_replay(job.clone())).unwrap();
    assert_eq!(begun.state, ReplayState::Running);
    let again = within(dispatch.begin_replay(job)).unwrap_err();
    assert_eq!(again, JournalError::ReplayExists("after the fix".into()));
    for settled in heard.wait_settled(6).split_off(3) {
        assert!(settled.outcome.is_ok());
        assert_eq!(settled.row.replay_id.as_deref(), Some("after the fix"));
    }
    assert_eq!(sink.attempts("2"), 2);
    wait_until("done", || {
        let events = heard.events();
        events
            .iter()
            .any(|event| matches!(event, Event::Replay(job) if job.state == ReplayState::Done))
    });
}

#[test]
fn dead_letters_are_listed_in_pages_and_removed() {
    let (heard, journal) = (Heard::default(), Arc::default());
    let (dispatch, _, _) = broken(&heard, &journal);
    for id in ["1", "2", "3"] {
        within(dispatch.enqueue(hook(id))).unwrap();
        heard.wait_settled(id.parse().unwrap());
    }
    let list = |after, max| within(dispatch.dead_letters(Filter::default(), after, max)).unwrap();
    let first = list(DeadId::default(), 2);
    let rest = list(first[1].id, 2);
    let ids = first.iter().chain(&rest).map(|letter| &*letter.envelope.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(first[0].cause.config);
    let other = Filter {
        source: Some("another".to_owned()),
        ..Filter::default()
    };
    assert_eq!(
        within(dispatch.dead_letters(other, DeadId::default(), 9)),
        Ok(vec![])
    );

    let gone = [first[0].id, rest[0].id];
    assert_eq!(within(dispatch.discard(gone)), Ok(2));
    assert_eq!(within(dispatch.discard(gone)), Ok(0));
    assert_eq!(list(DeadId::default(), 9), first[1..]);
}

#[test]
fn a_replay_tells_when_it_is_settled() {
    let (heard, journal) = (Heard::default(), Arc::default());
    let (dispatch, mended, _) = broken(&heard, &journal);
    assert_eq!(within(dispatch.replays()), Ok(vec![]));
    within(dispatch.enqueue(hook("1"))).unwrap();
    heard.wait_settled(1);
    mended.store(true, Ordering::SeqCst);
    within(dispatch.begin_replay(ReplayJob::new("job", Filter::default()))).unwrap();
    wait_until("settled", || {
        let jobs = within(dispatch.replays()).unwrap();
        let [job] = &jobs[..] else {
            panic!("{jobs:?}");
        };
        job.state == ReplayState::Done && job.is_settled()
    });
    let jobs = within(dispatch.replays()).unwrap();
    assert_eq!((jobs[0].progress.sent, jobs[0].progress.delivered), (1, 1));
}

#[test]
fn what_the_journal_cannot_tell_is_the_answer_to_the_call() {
    let tricky = Tricky::new(&Arc::default(), |what| match what {
        "dead_letters" => Does::Panic,
        "discard" => Does::Fail,
        _ => Does::AsAsked,
    });
    let builder = DispatchBuilder::new(tricky).sink("sink", Scripted::taking());
    let dispatch = start(builder).unwrap();
    let listed = within(dispatch.dead_letters(Filter::default(), DeadId::default(), 1));
    assert!(matches!(listed, Err(JournalError::Storage(_))));
    let discarded = within(dispatch.discard([DeadId(1)]));
    let full = JournalError::Storage("the disk is full".into());
    assert_eq!(discarded, Err(full));

    within(dispatch.shutdown(Duration::from_secs(5)));
    let closed = Err(JournalError::Closed);
    assert_eq!(within(dispatch.discard([DeadId(1)])), closed);
    assert_eq!(within(dispatch.replays()).err(), Some(JournalError::Closed));
}

#[test]
fn a_replay_that_is_paused_goes_on_when_it_is_told() {
    let (heard, journal) = (Heard::default(), Arc::<MemoryJournal>::default());
    let (dispatch, mended, _) = broken(&heard, &journal);
    within(dispatch.enqueue(hook("1"))).unwrap();
    heard.wait_settled(1);
    mended.store(true, Ordering::SeqCst);
    // Begun and paused where the dispatcher does not see it.
    let begun = async move {
        let job = ReplayJob::new("job", Filter::default());
        journal.begin_replay(job).await?;
        journal.set_replay("job".into(), false).await
    };
    assert_eq!(within(begun).unwrap().state, ReplayState::Paused);
    let set = within(dispatch.set_replay("job", true)).unwrap();
    assert_eq!(set.state, ReplayState::Running);
    heard.wait_settled(2);
    let unknown = within(dispatch.set_replay("another", true)).unwrap_err();
    assert_eq!(unknown, JournalError::UnknownReplay("another".into()));
}

#[test]
fn a_replay_found_at_the_start_goes_on() {
    let (heard, journal) = (Heard::default(), Arc::<MemoryJournal>::default());
    let (dispatch, _, _) = broken(&heard, &journal);
    within(dispatch.enqueue(hook("1"))).unwrap();
    heard.wait_settled(1);
    within(dispatch.shutdown(Duration::from_secs(5)));
    let kept = Arc::clone(&journal);
    let begin = async move {
        kept.begin_replay(ReplayJob::new("job", Filter::default()))
            .await
    };
    within(begin).unwrap();

    let heard = Heard::default();
    let (_dispatch, mended, _) = broken(&heard, &journal);
    mended.store(true, Ordering::SeqCst);
    let settled = heard.wait_settled(1);
    assert_eq!(settled[0].row.replay_id.as_deref(), Some("job"));
}

/// One ordering key for all.
struct OneKey(Scripted);

impl Sink for OneKey {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        self.0.deliver(envelope, context).await
    }

    fn ordered(&self) -> bool {
        true
    }

    fn ordering_key(&self, _: &Envelope) -> Option<String> {
        Some("key".to_owned())
    }
}

#[test]
fn a_queue_that_stopped_goes_on_when_it_is_told() {
    let heard = Heard::default();
    let sink = Scripted::new(|hook, _| match hook.id.as_str() {
        "bad" => What::Answer(Err(Failure::permanent("unreadable"))),
        _ => taken(),
    });
    let options = DispatchOptions {
        on_dead: OnDead::Stop,
        ..DispatchOptions::default()
    };
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", OneKey(sink.clone()))
        .options(options)
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    assert_eq!(within(dispatch.stopped()), Ok(vec![]));
    within(dispatch.enqueue(hook("bad"))).unwrap();
    heard.wait_settled(1);
    within(dispatch.enqueue(hook("good"))).unwrap();
    let stopped = within(dispatch.stopped()).unwrap();
    let [stopped] = &stopped[..] else {
        panic!("{stopped:?}");
    };
    assert_eq!(&*stopped.cause.kind, "sink");
    assert_eq!(sink.attempts("good"), 0);
    let due = within(dispatch.resume(stopped.lane.clone())).unwrap();
    assert!(due.is_some());
    heard.wait_settled(2);
    assert_eq!(within(dispatch.resume(stopped.lane.clone())), Ok(None));
}
