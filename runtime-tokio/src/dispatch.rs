//! The constructor of a dispatcher.

use pubsink_runtime::claims::ClaimStore;
use pubsink_runtime::core::dispatch::{DispatchOptions, Event};
use pubsink_runtime::core::text::Text;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder as Parts, StartError};
use pubsink_runtime::journal::Journal;
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::sink::Sink;

use crate::runtime::Tokio;

/// A dispatcher of what `journal` keeps. Give it an `Arc` to look into the journal beside it.
#[must_use]
pub fn dispatch(journal: impl Journal) -> DispatchBuilder {
    DispatchBuilder {
        parts: Parts::new(journal),
        seed: None,
    }
}

/// What a dispatcher is made of beside its journal.
#[derive(Debug)]
pub struct DispatchBuilder {
    parts: Parts,
    seed: Option<u64>,
}

impl DispatchBuilder {
    /// Delivers to `sink`, too. See [`sink`](Parts::sink).
    #[must_use]
    pub fn sink(mut self, name: impl Into<Text>, sink: impl Sink) -> Self {
        self.parts = self.parts.sink(name, sink);
        self
    }

    /// Checks large bodies in at `store`. See [`claims`](Parts::claims).
    #[must_use]
    pub fn claims(mut self, store: impl ClaimStore) -> Self {
        self.parts = self.parts.claims(store);
        self
    }

    /// How it goes about its work.
    #[must_use]
    pub fn options(mut self, options: DispatchOptions) -> Self {
        self.parts = self.parts.options(options);
        self
    }

    /// Tells `observer` of everything worth telling. See [`on_event`](Parts::on_event).
    #[must_use]
    pub fn on_event(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.parts = self.parts.on_event(observer);
        self
    }

    /// Makes the jitter of retries the same in every run. Default: by chance.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts the dispatcher on the tokio runtime this is called in.
    ///
    /// # Errors
    ///
    /// [`StartError`]: [`NoRuntime`](StartError::NoRuntime) outside of one.
    pub fn spawn(self) -> Result<Dispatch, StartError> {
        let runtime = Tokio::current().map_err(|_| StartError::NoRuntime)?;
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        let (dispatch, driver) = self.parts.connect(runtime.clone(), seed)?;
        runtime.spawn(driver);
        Ok(dispatch)
    }
}
