//! A simulation in the making.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Answer, Event, SentRequest, Simulation, TokenAnswer};
use crate::options::PublisherOptions;
use crate::token::Token;

pub(super) type Server = Box<dyn FnMut(&SentRequest) -> Answer>;
pub(super) type Tokens = Box<dyn FnMut(Option<&Token>) -> TokenAnswer>;
pub(super) type Watcher<T> = Box<dyn FnMut(Duration, Event<'_, T>)>;

/// What a [`Simulation`] is made of, beside its server.
pub struct SimulationBuilder<T> {
    pub(super) options: Arc<PublisherOptions>,
    pub(super) start: Instant,
    pub(super) seed: u64,
    pub(super) latency: Duration,
    pub(super) tokens: Option<Tokens>,
    pub(super) watcher: Option<Watcher<T>>,
    pub(super) record: bool,
}

impl<T: fmt::Debug> SimulationBuilder<T> {
    pub(super) fn new(options: Arc<PublisherOptions>, start: Instant) -> Self {
        Self {
            options,
            start,
            seed: 42,
            latency: Duration::from_millis(50),
            tokens: None,
            watcher: None,
            record: false,
        }
    }

    /// The seed of the machine, which decides the pauses of throttled messages. Default 42.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How long the server takes where its answer does not say. Default 50 ms.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The token provider, asked before each request, with the refused token where a fresh one is
    /// wanted. Default none: requests go without a token.
    #[must_use]
    pub fn tokens(mut self, tokens: impl FnMut(Option<&Token>) -> TokenAnswer + 'static) -> Self {
        self.tokens = Some(Box::new(tokens));
        self
    }

    /// Shows everything that happens, with its time from the start: for what must hold at every
    /// step.
    #[must_use]
    pub fn watch(mut self, watcher: impl FnMut(Duration, Event<'_, T>) + 'static) -> Self {
        self.watcher = Some(Box::new(watcher));
        self
    }

    /// Keeps a [trace](super::trace) of the run, for [`Simulation::trace`].
    #[must_use]
    pub fn record(mut self) -> Self {
        self.record = true;
        self
    }

    /// The simulation, with the server that answers every request.
    #[must_use]
    pub fn serve(self, server: impl FnMut(&SentRequest) -> Answer + 'static) -> Simulation<T> {
        Simulation::build(self, Box::new(server))
    }
}

impl<T> fmt::Debug for SimulationBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulationBuilder")
            .field("options", &self.options)
            .field("seed", &self.seed)
            .field("latency", &self.latency)
            .finish_non_exhaustive()
    }
}
