//! An observer is somebody else's code, too.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use pubsink_runtime::core::dispatch::Event;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder};
use pubsink_runtime::journal::MemoryJournal;

use crate::support::{Scripted, hook, start, wait_until, within};

#[test]
fn an_observer_that_panics_hears_the_next_event_all_the_same() {
    let heard = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&heard);
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", Scripted::taking())
        .on_event(move |_| {
            counts.fetch_add(1, Ordering::SeqCst);
            panic!("an observer that panics")
        });
    let dispatch = start(builder).unwrap();
    for id in ["1", "2", "3"] {
        within(dispatch.enqueue(hook(id))).unwrap();
    }
    wait_until("heard", || heard.load(Ordering::SeqCst) == 3);
    assert!(dispatch.is_alive());
}

#[test]
fn an_observer_may_call_back() {
    let handle: Arc<OnceLock<Dispatch>> = Arc::default();
    let sink = Scripted::taking();
    let calls = Arc::clone(&handle);
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink.clone())
        .on_event(move |event| {
            let Event::Settled(settled) = event else {
                return;
            };
            let dispatch = calls.wait();
            assert!(dispatch.gauges().rows <= 1);
            if settled.row.envelope.id == "first" {
                drop(dispatch.enqueue(hook("second")));
            }
        });
    let dispatch = handle.get_or_init(|| start(builder).unwrap());
    within(dispatch.enqueue(hook("first"))).unwrap();
    wait_until("the second", || sink.attempts("second") == 1);
}
