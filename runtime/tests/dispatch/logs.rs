//! What dispatch tells a log: which hook it is about, and never what is in it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use pubsink_runtime::core::claim::ClaimError;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::dispatch::DispatchBuilder;
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::sink::LogSink;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::Subscriber;
use tracing::{Event, Metadata};

use crate::claims::Claiming;
use crate::store::{Says, Store};
use crate::support::{Heard, Scripted, What, block_on, hook, start, taken};
use crate::tricky::{Does, Tricky};

/// Fields by name.
type Fields = BTreeMap<String, String>;

/// Keeps every span and event of the project's own, for all tests of this process.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Line>>>);

/// A span's number, or 0; its name; what it says.
type Line = (u64, &'static str, Fields);

impl Log {
    /// Everything of a name, of spans, or of a message, of events.
    fn all(&self, name: &str) -> Vec<Fields> {
        let lines = self.0.lock().unwrap();
        lines
            .iter()
            .filter(|(_, named, fields)| {
                *named == name || fields.get("message").is_some_and(|it| it == name)
            })
            .map(|(_, _, fields)| fields.clone())
            .collect()
    }
}

struct Read<'a>(&'a mut Fields);

impl Visit for Read<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}");
        self.0.insert(field.name().to_owned(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("pubsink")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        span.record(&mut Read(&mut fields));
        let mut lines = self.0.lock().unwrap();
        let id = lines.len() as u64 + 1;
        lines.push((id, span.metadata().name(), fields));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &tracing::span::Record<'_>) {
        let mut lines = self.0.lock().unwrap();
        let line = lines.iter_mut().find(|line| line.0 == span.into_u64());
        values.record(&mut Read(&mut line.unwrap().2));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Read(&mut fields));
        self.0.lock().unwrap().push((0, "event", fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn log() -> Log {
    static LOG: Mutex<Option<Log>> = Mutex::new(None);
    let mut installed = LOG.lock().unwrap();
    let log = installed.get_or_insert_with(|| {
        let log = Log::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    });
    log.clone()
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn a_hook_is_told_of_without_what_is_in_it() {
    let (log, heard) = (log(), Heard::default());
    let sink = Scripted::new(|_, attempt| match attempt {
        1 => What::Answer(Err(Failure::transient("the secret of the sink"))),
        _ => taken(),
    });
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .sink("log of hooks", LogSink)
        .sink("scripted", sink)
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    let mut hook = hook("a hook to log");
    hook.headers.push(("TraceParent".to_owned(), TRACE.into()));
    block_on(dispatch.enqueue(hook)).unwrap();
    heard.wait_settled(2);

    let ours = |fields: &Fields| {
        fields
            .get("hook_id")
            .is_some_and(|id| id == "a hook to log")
    };
    let lines: Vec<_> = log.all("a hook").into_iter().filter(ours).collect();
    let expected = [
        ("attempt", "1"),
        ("hook_id", "a hook to log"),
        ("message", "a hook"),
        ("size", "8"),
        ("source_id", "github"),
        ("tenant_id", "acme"),
    ];
    let expected: Fields = expected
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    assert_eq!(lines, [expected]);

    let spans: Vec<_> = log.all("ankusa.dispatch.attempt");
    let spans: Vec<_> = spans.into_iter().filter(ours).collect();
    assert_eq!(spans.len(), 3);
    for span in &spans {
        assert_eq!(span["traceparent"], TRACE);
        assert_eq!(span["tenant_id"], "acme");
        let fails = span["sink"] == "scripted" && span["attempt"] == "1";
        let class = span.get("error_class").map(String::as_str);
        assert_eq!(class, fails.then_some("transient"));
        let text = format!("{span:?}");
        assert!(!text.contains("hunter2") && !text.contains("body") && !text.contains("secret"));
    }
}

#[test]
fn a_check_in_is_told_of_without_what_is_in_it() {
    let (log, heard) = (log(), Heard::default());
    let store = Store::new(|_, before| match before {
        0 => Says::Answer(Err(ClaimError::unavailable("the secret of the store"))),
        _ => Says::Answer(Ok(())),
    });
    let builder = DispatchBuilder::new(MemoryJournal::default())
        .claims(store)
        .sink("claiming", Claiming::new(Some(7), Scripted::taking()))
        .on_event(heard.observer());
    let dispatch = start(builder).unwrap();
    block_on(dispatch.enqueue(hook("a body to check in"))).unwrap();
    heard.wait_settled(1);
    let spans = log.all("ankusa.claim.check_in").into_iter();
    let spans = spans.filter(|span| span["hook_id"] == "a body to check in");
    let spans: Vec<_> = spans.collect();
    let told = |pairs: &[(&str, &str)]| -> Fields {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let well = [
        ("bytes", "8"),
        ("hook_id", "a body to check in"),
        ("source_id", "github"),
        ("tenant_id", "acme"),
    ];
    let mut failed = told(&well);
    failed.extend(told(&[
        ("error_kind", "unavailable"),
        ("otel.status_code", "ERROR"),
    ]));
    assert_eq!(spans, [failed, told(&well)]);
}

#[test]
fn a_sink_that_is_not_durable_behind_a_journal_that_is_is_told_of() {
    let log = log();
    let memory = Arc::default();
    // What it says of itself by default.
    let durable = Tricky::new(&memory, |_| Does::AsAsked);
    start(DispatchBuilder::new(durable).sink("a lossy one", LogSink)).unwrap();
    start(DispatchBuilder::new(memory).sink("lossy as its journal", LogSink)).unwrap();
    let told = |name: &str| {
        let lines = log.0.lock().unwrap();
        lines
            .iter()
            .filter(|(_, event, fields)| {
                *event == "event" && fields.get("sink").is_some_and(|sink| sink == name)
            })
            .count()
    };
    assert_eq!((told("a lossy one"), told("lossy as its journal")), (1, 0));
}
