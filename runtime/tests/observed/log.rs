//! A subscriber that keeps everything.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Fields by name.
pub(crate) type Fields = BTreeMap<String, String>;

/// Every span and event, of whatever level and crate. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Line>>>);

/// Its name, or an event's target, and what it says.
pub(crate) type Line = (&'static str, Fields);

impl Log {
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    /// The spans of a hook's attempts, in order.
    pub(crate) fn attempts(&self, hook: &str) -> Vec<Fields> {
        let lines = self.lines().into_iter();
        let of_hook =
            |(name, fields): &Line| *name == "ankusa.dispatch.attempt" && fields["hook_id"] == hook;
        lines.filter(of_hook).map(|(_, fields)| fields).collect()
    }
}

struct Read<'a>(&'a mut Fields);

impl Visit for Read<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        span.record(&mut Read(&mut fields));
        let mut lines = self.0.lock().unwrap();
        lines.push((span.metadata().name(), fields));
        Id::from_u64(lines.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let place = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Read(&mut self.0.lock().unwrap()[place].1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Read(&mut fields));
        let line = (event.metadata().target(), fields);
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
