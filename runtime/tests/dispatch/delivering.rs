//! Hooks reach their sinks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::{Accepted, EnqueueError};
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::{ErrorClass, Failure};
use pubsink_runtime::core::journal::{DeadId, Filter};
use pubsink_runtime::core::sink::Receipt;
use pubsink_runtime::dispatch::{DispatchBuilder, Incoming};
use pubsink_runtime::journal::{Journal as _, MemoryJournal};
use pubsink_runtime::sink::Sink;

use crate::support::{Heard, Scripted, What, hook, start, taken, wait_until, within};

#[test]
fn a_hook_goes_to_every_sink_or_to_those_it_names() {
    let (one, two, heard) = (Scripted::taking(), Scripted::taking(), Heard::default());
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("one", one.clone())
        .sink("two", two.clone())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let rows = |accepted| match accepted {
        Ok(Accepted::Stored(rows)) => rows.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rows(within(dispatch.enqueue(hook("both")))), 2);
    assert_eq!(rows(within(dispatch.enqueue_to(hook("two"), ["two"]))), 1);
    for settled in heard.wait_settled(3) {
        assert_eq!(settled.attempts, 1);
        let receipt = settled.outcome.unwrap();
        assert_eq!(receipt.message_id.unwrap().as_str(), "17");
    }
    assert_eq!((one.attempts("both"), one.attempts("two")), (1, 0));
    assert_eq!((two.attempts("both"), two.attempts("two")), (1, 1));
    for nowhere in [vec!["three"], vec!["one", "three"]] {
        let refused = within(dispatch.enqueue_to(hook("x"), nowhere)).unwrap_err();
        assert_eq!(refused, EnqueueError::UnknownSink("three".into()));
    }
    let nowhere: [&str; 0] = [];
    let refused = within(dispatch.enqueue_to(hook("x"), nowhere)).unwrap_err();
    assert_eq!(refused, EnqueueError::NoSink);
    wait_until("all is let go", || dispatch.gauges().rows == 0);
}

#[test]
fn a_hook_goes_on_its_way_though_nobody_waits_for_it() {
    let (sink, heard) = (Scripted::taking(), Heard::default());
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    drop(dispatch.enqueue(hook("dropped")));
    let _unpolled = dispatch.enqueue(hook("unpolled"));
    heard.wait_settled(2);
    assert_eq!(
        (sink.attempts("dropped"), sink.attempts("unpolled")),
        (1, 1)
    );
}

#[test]
fn a_hook_under_a_name_is_stored_once() {
    let (sink, heard) = (Scripted::taking(), Heard::default());
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let first = within(dispatch.enqueue_once("line 3", hook("1"))).unwrap();
    assert!(matches!(first, Accepted::Stored(_)));
    heard.wait_settled(1);
    let again = dispatch.enqueue(Incoming::new(hook("1")).to(["sink"]).once("line 3"));
    let Accepted::Known(known) = within(again).unwrap() else {
        panic!("stored twice");
    };
    assert_eq!((known.delivered, known.pending, known.dead), (1, 0, 0));
    assert_eq!(known.message_id.as_deref(), Some("17"));
    assert_eq!(sink.attempts("1"), 1);
}

#[test]
fn what_a_sink_answers_decides_what_follows() {
    let heard = Heard::default();
    let pause = Duration::from_millis(300);
    let sink = Scripted::new(move |hook, attempt| {
        What::Answer(match (hook.id.as_str(), attempt) {
            ("gone", _) => Err(Failure::permanent("410 Gone")),
            ("locked", _) => Err(Failure::config("403 Forbidden")),
            ("busy", 1) => Err(Failure::retry_after(pause, "429")),
            ("unlucky", 1 | 2) => Err(Failure::transient("503")),
            _ => Ok(Receipt::new()),
        })
    });
    let journal = Arc::new(MemoryJournal::default());
    let builder = DispatchBuilder::new(Arc::clone(&journal))
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let started = std::time::Instant::now();
    for id in ["gone", "locked", "busy", "unlucky"] {
        within(dispatch.enqueue(hook(id))).unwrap();
    }
    heard.wait_settled(4);
    assert!(started.elapsed() >= pause);
    let attempts = ["gone", "locked", "busy", "unlucky"].map(|id| sink.attempts(id));
    assert_eq!(attempts, [1, 1, 2, 3]);
    let all = async move { journal.dead_letters(Filter::default(), DeadId(0), 9).await };
    let mut dead: Vec<_> = within(all)
        .unwrap()
        .into_iter()
        .map(|dead| {
            let cause = dead.cause;
            assert_eq!(
                (cause.error_class, &*cause.kind),
                (ErrorClass::Permanent, "sink")
            );
            (
                dead.envelope.id.clone(),
                cause.config,
                cause.message.to_string(),
            )
        })
        .collect();
    dead.sort();
    let gone = ("gone".into(), false, "the sink failed: 410 Gone".into());
    let locked = (
        "locked".into(),
        true,
        "the sink failed: 403 Forbidden".into(),
    );
    assert_eq!(dead, [gone, locked]);
}

/// Keeps order by the hook's path, and notes what it was given.
#[derive(Clone)]
struct Ordered {
    inner: Scripted,
    order: Arc<Mutex<Vec<String>>>,
}

impl Sink for Ordered {
    async fn deliver(
        &self,
        envelope: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        assert!(context.resume_key && !context.batch);
        let delivered = self.inner.deliver(envelope, context).await?;
        self.order.lock().unwrap().push(envelope.id.clone());
        Ok(delivered)
    }

    fn ordered(&self) -> bool {
        true
    }

    fn ordering_key(&self, envelope: &Envelope) -> Option<String> {
        Some(envelope.path.clone())
    }
}

#[test]
fn an_ordering_key_keeps_its_order_over_retries() {
    let heard = Heard::default();
    let sink = Ordered {
        inner: Scripted::new(|hook, attempt| match hook.id.as_str() {
            "0" | "3" if attempt < 3 => What::Answer(Err(Failure::transient("503"))),
            _ => taken(),
        }),
        order: Arc::default(),
    };
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("sink", sink.clone())
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let all: Vec<_> = (0..6).map(|n| n.to_string()).collect();
    for id in &all {
        drop(dispatch.enqueue(hook(id)));
    }
    for settled in heard.wait_settled(6) {
        assert!(settled.outcome.is_ok(), "{settled:?}");
        assert_eq!(settled.row.lane.key.as_deref(), Some("/hooks/github"));
    }
    assert_eq!(*sink.order.lock().unwrap(), all);
}
