//! Whatever a journal does is the answer to the one call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pubsink_runtime::core::dispatch::{EnqueueError, Event};
use pubsink_runtime::core::journal::{Destination, Enqueue, JournalError, TableLimits};
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::{Journal as _, MemoryJournal};

use crate::support::{Heard, Scripted, hook, start, taken, within};
use crate::tricky::{Does, Tricky};

#[test]
fn a_journal_that_breaks_once_loses_nothing() {
    let cases = ["lanes", "replays", "enqueue", "claim", "record"]
        .into_iter()
        .flat_map(|what| [(what, Does::Panic), (what, Does::Fail)]);
    let tests: Vec<_> = cases
        .map(|(what, fault)| std::thread::spawn(move || broken_once(what, fault)))
        .collect();
    for test in tests {
        test.join().unwrap();
    }
}

fn broken_once(what: &'static str, fault: Does) {
    let memory = Arc::new(MemoryJournal::default());
    let heard = Heard::default();
    // One row is there from an earlier time.
    leave_behind(&memory, "earlier");
    let asked = AtomicUsize::new(0);
    let breaking = Tricky::new(&memory, move |call| {
        match call == what && asked.fetch_add(1, Ordering::SeqCst) == 0 {
            true => fault,
            false => Does::AsAsked,
        }
    });
    let builder = DispatchBuilder::new(breaking)
        .sink("sink", Scripted::taking())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let said = match fault {
        Does::Panic => "panicked",
        _ => "the disk is full",
    };
    match within(dispatch.enqueue(hook("1"))) {
        Ok(_) => assert_ne!(what, "enqueue"),
        Err(EnqueueError::Journal(error)) => {
            assert_eq!(what, "enqueue");
            assert!(error.to_string().contains(said), "{error}");
            within(dispatch.enqueue(hook("1"))).unwrap();
        }
        Err(other) => panic!("{other}"),
    }
    let mut ids: Vec<_> = heard
        .wait_settled(2)
        .into_iter()
        .map(|settled| {
            assert!(settled.outcome.is_ok());
            settled.row.envelope.id.clone()
        })
        .collect();
    ids.sort();
    assert_eq!(ids, ["1", "earlier"]);
    let told = heard.events().into_iter().any(|event| match event {
        Event::Journal { what: asked, error } => {
            assert_eq!(asked, what);
            error.to_string().contains(said)
        }
        _ => false,
    });
    // Who came with the hook was told of that one.
    assert_eq!(told, what != "enqueue");
}

fn leave_behind(memory: &Arc<MemoryJournal>, id: &str) {
    let memory = Arc::clone(memory);
    let hook = Enqueue {
        envelope: Arc::new(hook(id)),
        to: vec![Destination {
            sink: "sink".into(),
            key: None,
        }],
        claim: None,
        check_in: false,
        once: None,
    };
    within(async move { memory.enqueue(0, vec![hook]).await }).unwrap();
}

#[test]
fn what_an_earlier_dispatcher_left_is_delivered() {
    let memory = Arc::new(MemoryJournal::default());
    let heard = Heard::default();
    leave_behind(&memory, "earlier");
    let sink = Scripted::taking();
    let builder = DispatchBuilder::new(memory)
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let _dispatch = start(builder).unwrap();
    heard.wait_settled(1);
    assert_eq!(sink.attempts("earlier"), 1);
}

#[test]
fn rows_for_a_sink_that_there_is_not_are_kept() {
    let memory = Arc::new(MemoryJournal::default());
    let heard = Heard::default();
    leave_behind(&memory, "earlier");
    let builder = DispatchBuilder::new(Arc::clone(&memory))
        .sink("another", Scripted::taking())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    within(dispatch.enqueue(hook("1"))).unwrap();
    heard.wait_settled(1);
    assert!(heard.events().contains(&Event::UnknownSink("sink".into())));
    within(dispatch.shutdown(Duration::from_secs(5)));
    let lanes = within(async move { memory.lanes().await }).unwrap();
    assert_eq!(lanes.len(), 1);
}

#[test]
fn a_full_journal_refuses_a_hook_and_says_so() {
    let limits = TableLimits {
        rows: 1,
        bytes: 1_000_000,
    };
    let held = Arc::new(Mutex::new(()));
    let guard = held.lock().unwrap();
    let blocked = Arc::clone(&held);
    let sink = Scripted::new(move |_, _| {
        drop(blocked.lock());
        taken()
    });
    let builder = DispatchBuilder::new(MemoryJournal::new(limits)).sink("sink", sink);
    let dispatch = start(builder).unwrap();
    within(dispatch.enqueue(hook("1"))).unwrap();
    let refused = within(dispatch.enqueue(hook("2"))).unwrap_err();
    drop(guard);
    let EnqueueError::Journal(JournalError::Full {
        held: 1, max: 1, ..
    }) = refused
    else {
        panic!("{refused}");
    };
}
