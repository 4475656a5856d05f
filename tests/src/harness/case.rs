//! What a case is.

use std::time::Duration;

use futures_util::future::BoxFuture;
use pubsink_core::subscribe::Wire;

use super::env::Env;
use super::host::Flavor;

/// For a case that is run on both wires.
pub(crate) const BOTH: &[Wire] = &[Wire::Grpc, Wire::Rest];

/// What a case needs of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Topics, subscriptions, publish, pull and acknowledge.
    Anything,
    /// Messages of one ordering key delivered in order.
    Ordering,
    /// Requests that are compressed.
    Gzip,
    /// Avro schemas on topics.
    Schemas,
    /// A script of faults, a log of requests and a look at what is stored.
    Faults,
}

/// A rule of the publishing library, and what shows that it holds.
#[derive(Debug)]
pub(crate) struct Case {
    /// The rule, as a sentence.
    pub(crate) name: &'static str,
    pub(crate) needs: Needs,
    pub(crate) flavor: Flavor,
    /// It is run on each of these.
    pub(crate) wires: &'static [Wire],
    /// Whether that is what is published over; a subscription's publishers speak REST.
    pub(crate) publishes: bool,
    /// How long it may take at most.
    pub(crate) limit: Duration,
    /// Whether it runs in a process of its own, where nothing else may write to stderr or take
    /// memory.
    pub(crate) own_process: bool,
    pub(crate) measures_memory: bool,
    /// Whether it does little but wait, so that it takes no other's place.
    pub(crate) waits: bool,
    pub(crate) run: fn(Env) -> BoxFuture<'static, ()>,
}

impl Case {
    /// A case that runs on a runtime of two workers within half a minute.
    pub(crate) const fn new(
        needs: Needs,
        name: &'static str,
        run: fn(Env) -> BoxFuture<'static, ()>,
    ) -> Self {
        Self {
            name,
            needs,
            flavor: Flavor::Workers(2),
            wires: &[Wire::Rest],
            publishes: false,
            limit: Duration::from_secs(30),
            own_process: false,
            measures_memory: false,
            waits: false,
            run,
        }
    }

    pub(crate) const fn on(self, flavor: Flavor) -> Self {
        Self { flavor, ..self }
    }

    pub(crate) const fn wires(self, wires: &'static [Wire]) -> Self {
        Self { wires, ..self }
    }

    /// Publishes over each of these.
    pub(crate) const fn publishes(self, wires: &'static [Wire]) -> Self {
        Self {
            wires,
            publishes: true,
            ..self
        }
    }

    pub(crate) const fn waits(self) -> Self {
        Self {
            waits: true,
            ..self
        }
    }

    pub(crate) const fn limit(self, seconds: u64) -> Self {
        Self {
            limit: Duration::from_secs(seconds),
            ..self
        }
    }

    pub(crate) const fn own_process(self) -> Self {
        Self {
            own_process: true,
            ..self
        }
    }

    pub(crate) const fn measures_memory(self) -> Self {
        Self {
            measures_memory: true,
            own_process: true,
            ..self
        }
    }
}

/// Declares the cases of a module: `needs, "rule" => function` with any settings after it.
macro_rules! cases {
    ($($needs:ident, $name:literal => $run:path $(, . $setting:ident ( $($value:expr)? ))*;)*) => {
        pub(super) const CASES: &[$crate::harness::case::Case] = &[$(
            $crate::harness::case::Case::new(
                $crate::harness::case::Needs::$needs,
                $name,
                |env| Box::pin($run(env)),
            )$(.$setting($($value)?))*,
        )*];
    };
}
pub(crate) use cases;
