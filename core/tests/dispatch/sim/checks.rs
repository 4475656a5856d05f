//! What holds at every moment of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use pubsink_core::claim::ClaimRef;
use pubsink_core::dispatch::BreakerState;
use pubsink_core::journal::{Row, RowId};

use super::Sim;

impl Sim {
    pub(super) fn check_attempt(&self, row: RowId, sink: &str) {
        let rows: BTreeSet<_> = self.running.values().map(|(row, ..)| *row).collect();
        assert!(
            !rows.contains(&row),
            "row {row:?} is attempted twice at once"
        );
        let breakers = self.machine.breakers();
        let open = breakers
            .iter()
            .any(|(name, state)| name.as_str() == sink && *state == BreakerState::Open);
        assert!(!open, "an attempt on {sink} while it is parked");
    }

    /// A body that is too large for one of its sinks lies in the store before any is handed it.
    pub(super) fn check_claim(&self, row: &Row, claim: Option<&ClaimRef>) {
        assert_eq!(row.claim.as_ref(), claim);
        let (id, body) = (&row.envelope.id, &row.envelope.body);
        let max = self.sinks[row.lane.sink.as_str()].inline_max_bytes;
        let too_large = max.is_some_and(|max| body.len() > max);
        let mut sinks = self.sinks.values();
        let has_store = sinks.any(|sink| sink.inline_max_bytes.is_some());
        assert_eq!(
            claim.is_some(),
            has_store && (too_large || row.check_in),
            "{id}: {claim:?}"
        );
        if let Some(claim) = claim {
            assert_eq!(self.store.bodies.get(claim), Some(body), "{id}");
        }
    }

    pub(super) fn check_ceilings(&mut self) {
        let gauges = self.machine.gauges();
        self.seen.most_rows = self.seen.most_rows.max(gauges.rows);
        self.seen.most_bytes = self.seen.most_bytes.max(gauges.bytes);
        assert!(gauges.rows <= self.options.window_rows);
        let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, sink, _) in self.running.values() {
            *counted.entry(sink).or_default() += 1;
        }
        let mut all = 0;
        for (name, count) in counted {
            let most = self.seen.most_counted.entry(name.to_owned()).or_default();
            *most = count.max(*most);
            if !self.sinks[name].batched {
                assert!(count <= self.options.sink_concurrency, "{name}: {count}");
                all += count;
            }
        }
        assert!(all <= self.options.concurrency);
    }
}
