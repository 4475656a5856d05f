//! The library's own simulation, with everything checked that must hold at every step.

// Each test binary uses its own part of this module.
#![allow(dead_code)]

pub(crate) mod answers;
pub(crate) mod holding;
pub(crate) mod look;
pub(crate) mod messages;
pub(crate) mod protobuf;
pub(crate) mod watch;

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use pubsink_core::options::{PublisherOptions, PublisherOptionsBuilder};
use pubsink_core::publish::{Input, Message};
use pubsink_core::testing::{Simulation, SimulationBuilder};
use pubsink_core::token::Token;

pub(crate) use pubsink_core::testing::SentRequest as Recorded;

use answers::{Answer, TokenAnswer};
use watch::Watch;

/// A simulation under watch.
pub(crate) struct Sim {
    simulation: Simulation<u64>,
    watch: Rc<RefCell<Watch>>,
}

/// The same beginning of time for every simulation, so that equal runs look equal.
pub(crate) fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "simulated time has to begin somewhere"
    )]
    *ORIGIN.get_or_init(Instant::now)
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn options(
    set: impl FnOnce(PublisherOptionsBuilder) -> PublisherOptionsBuilder,
) -> Arc<PublisherOptions> {
    let builder = PublisherOptions::builder("proj", "hooks");
    Arc::new(set(builder).build().unwrap())
}

pub(crate) fn defaults() -> Arc<PublisherOptions> {
    options(|builder| builder)
}

impl Sim {
    /// A publisher without credentials.
    pub(crate) fn new(
        options: &Arc<PublisherOptions>,
        server: impl FnMut(&Recorded) -> Answer + 'static,
    ) -> Self {
        Self::build(options, |builder| builder, server)
    }

    /// A publisher that asks `tokens` before each request; given the refused token where there is
    /// one.
    pub(crate) fn authorized(
        options: &Arc<PublisherOptions>,
        tokens: impl FnMut(Option<&Token>) -> TokenAnswer + 'static,
        server: impl FnMut(&Recorded) -> Answer + 'static,
    ) -> Self {
        Self::build(options, |builder| builder.tokens(tokens), server)
    }

    pub(crate) fn build(
        options: &Arc<PublisherOptions>,
        set: impl FnOnce(SimulationBuilder<u64>) -> SimulationBuilder<u64>,
        server: impl FnMut(&Recorded) -> Answer + 'static,
    ) -> Self {
        let watch = Rc::new(RefCell::new(Watch::new(options)));
        let watcher = Rc::clone(&watch);
        let builder = Simulation::builder(Arc::clone(options), origin());
        let simulation = set(builder)
            .watch(move |at, event| watcher.borrow_mut().see(at, event))
            .serve(server);
        Self { simulation, watch }
    }

    /// Admits a message that is sent in a request of its own.
    pub(crate) fn admit_direct(&mut self, tag: u64, message: Message) {
        let admission = messages::direct(message);
        self.handle(Input::Admit { tag, admission }).unwrap();
    }
}

impl Deref for Sim {
    type Target = Simulation<u64>;

    fn deref(&self) -> &Simulation<u64> {
        &self.simulation
    }
}

impl DerefMut for Sim {
    fn deref_mut(&mut self) -> &mut Simulation<u64> {
        &mut self.simulation
    }
}
