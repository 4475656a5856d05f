//! The constructor of a dispatcher.

use std::sync::Arc;

use pubsink_runtime::claims::ClaimStore;
use pubsink_runtime::core::dispatch::{DispatchOptions, Event};
use pubsink_runtime::core::text::Text;
use pubsink_runtime::dispatch::{Dispatch, DispatchBuilder as Parts, StartError};
use pubsink_runtime::journal::Journal;
use pubsink_runtime::seam::Runtime as _;
use pubsink_runtime::sink::Sink;
use smol::Executor;

use crate::driver::Driver;
use crate::runtime::Smol;

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

    /// Starts the dispatcher on smol's global executor, from any thread.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn spawn(self) -> Result<Dispatch, StartError> {
        self.spawn_on(Smol::global())
    }

    /// Starts the dispatcher on an executor of your own: a `&Arc<Executor<'static>>`, which it
    /// does not keep alive, or a `&'static Executor<'static>`.
    ///
    /// It runs while someone runs the executor. When that is dropped, whoever waits is told.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn spawn_on(self, executor: impl Into<Smol>) -> Result<Dispatch, StartError> {
        let runtime = executor.into();
        let (dispatch, driver) = self.connect(runtime.clone())?;
        runtime.spawn(driver);
        Ok(dispatch)
    }

    /// The dispatcher, and a driver that runs wherever it is polled: in a local executor, beside
    /// other futures, or in `block_on` on the main thread.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn build(self) -> Result<(Dispatch, Driver), StartError> {
        let executor = Arc::new(Executor::new());
        let (dispatch, driver) = self.connect(Smol::from(&executor))?;
        Ok((dispatch, Driver::new(executor, driver)))
    }

    fn connect(self, runtime: Smol) -> Result<(Dispatch, pubsink_runtime::Driver), StartError> {
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        self.parts.connect(runtime, seed)
    }
}
