//! What some messages cost.

use std::fmt;
use std::time::Duration;

/// The CPU time of each phase.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Costs {
    /// How many messages were settled.
    pub(crate) messages: usize,
    /// The checks, and the way into the queue.
    pub(crate) admission: Duration,
    /// The way out of it, in batches.
    pub(crate) batching: Duration,
    pub(crate) encoding: Duration,
    /// The reply read, and each message's outcome given out.
    pub(crate) settlement: Duration,
    /// The dearest admission of [`CHUNK`](crate::rig::CHUNK) messages: where a table grows.
    pub(crate) dearest: Duration,
}

/// Nanoseconds a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PerMessage {
    pub(crate) phases: [f64; 4],
    pub(crate) total: f64,
    /// Milliseconds of [`Costs::dearest`].
    pub(crate) dearest_ms: f64,
}

impl Costs {
    #[expect(clippy::cast_precision_loss, reason = "figures for a person")]
    pub(crate) fn per_message(&self) -> PerMessage {
        let each = |cost: Duration| cost.as_nanos() as f64 / self.messages as f64;
        let phases = [
            each(self.admission),
            each(self.batching),
            each(self.encoding),
            each(self.settlement),
        ];
        PerMessage {
            phases,
            total: phases.iter().sum(),
            dearest_ms: self.dearest.as_secs_f64() * 1e3,
        }
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PerMessage {
            phases: [admission, batching, encoding, settlement],
            total,
            dearest_ms,
        } = self.per_message();
        write!(
            f,
            "{admission:.0} + {batching:.0} + {encoding:.0} + {settlement:.0} = {total:.0} ns, dearest 1,000 admissions {dearest_ms:.2} ms"
        )
    }
}
