//! What a dispatcher tells its observer.

use std::sync::{Arc, Mutex};

use pubsink_core::dispatch::{Event, Settled};
use pubsink_core::failure::Failure;

pub(crate) type Observer = Box<dyn Fn(&Event) + Send + Sync>;

/// What an observer heard.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Event>>>);

impl Heard {
    pub(crate) fn observer(&self) -> Observer {
        let heard = self.clone();
        Box::new(move |event| heard.0.lock().unwrap().push(event.clone()))
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, is: impl Fn(&Event) -> bool) -> usize {
        let events = self.0.lock().unwrap();
        events.iter().filter(|event| is(event)).count()
    }

    pub(crate) fn settled_count(&self) -> usize {
        self.count(|event| matches!(event, Event::Settled(_)))
    }

    pub(crate) fn settled(&self) -> Vec<Settled> {
        let events = self.events().into_iter();
        let settled = events.filter_map(|event| match event {
            Event::Settled(settled) => Some(settled),
            _ => None,
        });
        settled.collect()
    }

    /// The attempts that failed and were to be followed by another: the hook, and why.
    pub(crate) fn retried(&self) -> Vec<(String, Failure)> {
        let events = self.events().into_iter();
        let retried = events.filter_map(|event| match event {
            Event::Retry { row, failure, .. } => Some((row.envelope.id.clone(), failure)),
            _ => None,
        });
        retried.collect()
    }

    pub(crate) fn journal_failures(&self) -> usize {
        self.count(|event| matches!(event, Event::Journal { .. }))
    }
}
