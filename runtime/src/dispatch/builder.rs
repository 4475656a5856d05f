//! What a dispatcher is made of.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pubsink_core::dispatch::{DispatchOptions, Dispatcher, Event};
use pubsink_core::options::OptionError;
use pubsink_core::text::Text;

use super::driver::driver;
use super::handle::Dispatch;
use super::journal::AnyJournal;
use super::shared::Shared;
use super::sinks::Sinks;
use super::tasks::Tasks;
use super::tell::Observer;
use crate::claims::{AnyClaimStore, ClaimStore};
use crate::driver::Driver;
use crate::journal::Journal;
use crate::metrics::DispatchMetrics;
use crate::seam::Runtime;
use crate::sink::{AnySink, Sink};

/// What a dispatcher is made of: a journal, and sinks by name.
pub struct DispatchBuilder {
    journal: Arc<dyn AnyJournal>,
    sinks: Vec<(Text, Arc<dyn AnySink>)>,
    claims: Option<Arc<dyn AnyClaimStore>>,
    options: DispatchOptions,
    observer: Option<Observer>,
}

impl DispatchBuilder {
    /// A dispatcher of what `journal` keeps. Give it an `Arc` to look into the journal beside it.
    #[must_use]
    pub fn new(journal: impl Journal) -> Self {
        Self {
            journal: Arc::new(journal),
            sinks: Vec::new(),
            claims: None,
            options: DispatchOptions::default(),
            observer: None,
        }
    }

    /// Delivers to `sink`, too. Its name stands in rows and dead letters: it must stay the same
    /// over restarts.
    #[must_use]
    pub fn sink(mut self, name: impl Into<Text>, sink: impl Sink) -> Self {
        self.sinks.push((name.into(), Arc::new(sink)));
        self
    }

    /// Where bodies are checked in that are larger than what one of their sinks
    /// [sends itself](Sink::inline_max_bytes): once, before any sink is handed the hook, and every
    /// sink and every retry gets the same [ref](pubsink_core::delivery::DeliveryContext::claim).
    /// Nothing is ever deleted there. Default: nowhere; such a hook needs to come with its claim,
    /// or the sink gives it up.
    #[must_use]
    pub fn claims(mut self, store: impl ClaimStore) -> Self {
        self.claims = Some(Arc::new(store));
        self
    }

    /// How it goes about its work.
    #[must_use]
    pub fn options(mut self, options: DispatchOptions) -> Self {
        self.options = options;
        self
    }

    /// Tells `observer` of everything worth telling, once it is kept. It is called in the driver,
    /// one event after the other, and should return soon: everything waits for it.
    #[must_use]
    pub fn on_event(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// A dispatcher and the driver that runs it. Spawn the driver on the runtime, or nothing is
    /// delivered. `seed` decides the jitter of retries and nothing else.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn connect<R: Runtime>(
        self,
        runtime: R,
        seed: u64,
    ) -> Result<(Dispatch, Driver), StartError> {
        let sinks = Sinks::new(self.sinks)?;
        // The journal is the user's code as well; what it does not say is the default.
        let durable = catch_unwind(AssertUnwindSafe(|| self.journal.durable()));
        if durable.unwrap_or(true) {
            sinks.warn_of_lossy();
        }
        if catch_unwind(AssertUnwindSafe(|| self.journal.begin())).is_err() {
            tracing::error!("the journal panicked when a dispatcher began");
        }
        let unix_ms = i64::try_from(runtime.unix_ms()).unwrap_or(i64::MAX);
        let now = runtime.now();
        let specs = sinks.specs(self.claims.is_some());
        let machine = Dispatcher::new(self.options, specs, now, unix_ms, seed)?;
        let tasks = Arc::new(Tasks {
            place: Arc::new(runtime.clone()),
            shared: Arc::new(Shared::new(machine, DispatchMetrics::new(sinks.names()))),
            journal: self.journal,
            claims: self.claims,
            sinks,
            observer: self.observer,
        });
        let dispatch = Dispatch::new(Arc::clone(&tasks));
        Ok((dispatch, driver(tasks, runtime, seed)))
    }
}

impl fmt::Debug for DispatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.sinks.iter().map(|(name, _)| name).collect();
        f.debug_struct("DispatchBuilder")
            .field("sinks", &names)
            .field("claims", &self.claims.is_some())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Why a dispatcher was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An option is out of range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// It has no sink to deliver to.
    #[error("a dispatcher needs a sink")]
    NoSink,
    /// A sink's name is empty.
    #[error("a sink's name is empty")]
    NamelessSink,
    /// Two sinks have one name.
    #[error("there are two sinks {0:?}")]
    SinkTwice(Text),
    /// A sink's `inline_max_bytes` is 0, or panicked.
    #[error("inline_max_bytes of sink {0:?} is not at least 1: it answered 0 or panicked")]
    InlineMaxBytes(Text),
    /// There is no async runtime here to spawn it on.
    #[error("a dispatcher has to be spawned inside an async runtime")]
    NoRuntime,
}
