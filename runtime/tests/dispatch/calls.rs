//! What operators ask of a dispatcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{DispatchOptions, Event, OnDead};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::journal::{Filter, JournalError, ReplayJob, ReplayState};
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder};
use pubsink_runtime::journal::{Journal as _, MemoryJournal};
use pubsink_runtime::sink::Sink;

use crate::support::{Heard, Scripted, What, hook, start, taken, wait_until, within};

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
    within(dispatch.shutdown(std::time::Duration::from_secs(5)));
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
