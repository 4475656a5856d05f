//! The sinks of a dispatcher, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use pubsink_core::dispatch::SinkSpec;
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::Destination;
use pubsink_core::sink::{Description, Subject};
use pubsink_core::text::Text;

use super::builder::StartError;
use crate::sink::{AnySink, Panicked, asked};

/// The sinks of a dispatcher.
pub(super) struct Sinks {
    /// In the order they were given.
    named: Vec<Named>,
    by_name: BTreeMap<Text, usize>,
}

struct Named {
    name: Text,
    sink: Arc<dyn AnySink>,
    batched: bool,
    ordered: bool,
    inline_max_bytes: Option<usize>,
}

impl Sinks {
    /// Asks each sink what it promises.
    pub(super) fn new(sinks: Vec<(Text, Arc<dyn AnySink>)>) -> Result<Self, StartError> {
        if sinks.is_empty() {
            return Err(StartError::NoSink);
        }
        let named: Vec<_> = sinks
            .into_iter()
            .map(|(name, sink)| Named::new(name, sink))
            .collect::<Result<_, _>>()?;
        let mut by_name = BTreeMap::new();
        for (index, named) in named.iter().enumerate() {
            if by_name.insert(named.name.clone(), index).is_some() {
                return Err(StartError::SinkTwice(named.name.clone()));
            }
        }
        Ok(Self { named, by_name })
    }

    /// What the machine has to know of them. Without a claim store none of them uses claims.
    pub(super) fn specs(&self, claims: bool) -> Vec<SinkSpec> {
        let named = self.named.iter();
        named
            .map(|named| SinkSpec {
                name: named.name.clone(),
                batched: named.batched,
                ordered: named.ordered,
                inline_max_bytes: named.inline_max_bytes.filter(|_| claims),
            })
            .collect()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Text> {
        self.named.iter().map(|named| &named.name)
    }

    pub(super) fn get(&self, name: &Text) -> Option<Arc<dyn AnySink>> {
        let index = self.by_name.get(name)?;
        Some(Arc::clone(&self.named[*index].sink))
    }

    /// Where a hook is to go: to the sinks of these names, or to every one. A name that there is
    /// not stays in it, to be refused.
    pub(super) fn destinations(
        &self,
        names: Option<Vec<Text>>,
        envelope: &Envelope,
    ) -> Vec<Destination> {
        let names = names.unwrap_or_else(|| {
            let named = self.named.iter();
            named.map(|named| named.name.clone()).collect()
        });
        let destination = |sink: Text| {
            let named = self.by_name.get(&sink).map(|index| &self.named[*index]);
            let key = named.and_then(|named| named.key(envelope));
            Destination { sink, key }
        };
        names.into_iter().map(destination).collect()
    }

    /// The smallest body that one of them does not send itself, less one.
    pub(super) fn inline_max_bytes(&self) -> Option<usize> {
        self.named
            .iter()
            .filter_map(|named| named.inline_max_bytes)
            .min()
    }

    pub(super) fn describe(&self, subject: &Subject) -> Vec<(Text, Description)> {
        let describe = |named: &Named| {
            let asked = asked(&named.name, "describe", || named.sink.describe(subject));
            let description = asked.unwrap_or_default()?;
            Some((named.name.clone(), description))
        };
        self.named.iter().filter_map(describe).collect()
    }

    /// Tells the log of each sink that could lose a hook the journal had kept.
    pub(super) fn warn_of_lossy(&self) {
        for named in &self.named {
            let durable = asked(&named.name, "durable", || named.sink.durable());
            if !durable.unwrap_or(true) {
                tracing::warn!(
                    sink = named.name.as_str(),
                    "the journal outlives the process and this sink does not promise it: a hook \
                     that it took is let go from the journal"
                );
            }
        }
    }
}

impl Named {
    fn new(name: Text, sink: Arc<dyn AnySink>) -> Result<Self, StartError> {
        if name.is_empty() {
            return Err(StartError::NamelessSink);
        }
        let inline_max_bytes = match asked(&name, "inline_max_bytes", || sink.inline_max_bytes()) {
            Ok(Some(0)) | Err(Panicked) => return Err(StartError::InlineMaxBytes(name)),
            Ok(max) => max,
        };
        Ok(Self {
            batched: asked(&name, "batched", || sink.batched()).unwrap_or(false),
            ordered: asked(&name, "ordered", || sink.ordered()).unwrap_or(false),
            inline_max_bytes,
            name,
            sink,
        })
    }

    fn key(&self, envelope: &Envelope) -> Option<Text> {
        if !self.ordered {
            return None;
        }
        let key = asked(&self.name, "ordering_key", || {
            self.sink.ordering_key(envelope)
        });
        key.unwrap_or_default().map(Text::from)
    }
}
