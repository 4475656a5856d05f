//! Hours of simulated time under seeded faults.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use pubsink_core::retry::Rng;
use pubsink_core::subscribe::{
    AckId, CallClass, CallFailure, IdFailure, Settlement, SubscribeWait, SubscriberOptionsBuilder,
    Wire,
};
use pubsink_core::token::Token;

use crate::network::{Fate, Network, Sent, What, fails, ms, secs};
use crate::server::per_id;
use crate::sim::{Script, Sim, options};

/// How a run goes.
#[derive(Debug, Clone)]
struct Plan {
    seed: u64,
    rest: bool,
    messages: usize,
    keys: usize,
    bytes: usize,
    exactly_once: bool,
    ordered: bool,
    /// Only acks and extensions fail, never long enough for a lease to end, and those that do have
    /// done nothing and say so soon.
    clean: bool,
    handlers: usize,
    max_outstanding: usize,
    max_bytes: usize,
    max_held: usize,
    extension: u64,
    attempts: Option<u32>,
    /// Percent of calls that fail, and of handlers that do.
    bad: u8,
    bad_handlers: u8,
    /// Streams break at these seconds.
    cuts: Vec<u64>,
}

/// How long there are faults.
const FAULTS: u64 = 400;

fn plan() -> impl Strategy<Value = Plan> {
    let shape = (
        any::<u64>(),
        any::<bool>(),
        1..250usize,
        0..6usize,
        1..2_000usize,
    );
    let server = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::option::of(5..20u32),
    );
    let limits = (1..20usize, 1..200usize, 1_000..100_000usize, 0..10usize);
    let faults = (
        prop::sample::select(vec![10u64, 10, 20, 60]),
        0..70u8,
        0..60u8,
        prop::collection::vec(0..FAULTS, 0..6),
    );
    (shape, server, limits, faults).prop_map(|(shape, server, limits, faults)| Plan {
        seed: shape.0,
        rest: shape.1,
        messages: shape.2,
        keys: shape.3,
        bytes: shape.4,
        exactly_once: server.0,
        ordered: server.1,
        clean: server.2,
        attempts: server.3,
        handlers: limits.0,
        max_outstanding: limits.1,
        max_bytes: limits.2,
        max_held: limits.3,
        extension: faults.0,
        bad: faults.1,
        bad_handlers: faults.2,
        cuts: faults.3,
    })
}

impl Plan {
    fn options(&self) -> SubscriberOptionsBuilder {
        options()
            .wire(if self.rest { Wire::Rest } else { Wire::Grpc })
            .handlers(self.handlers)
            .max_outstanding(self.max_outstanding)
            .max_outstanding_bytes(self.max_bytes)
            .max_held(self.max_held)
            .extension_min(secs(self.extension))
            .max_delivery_attempts(self.attempts)
            .exactly_once(self.exactly_once)
            .config_patience(secs(100_000))
    }

    fn script(&self) -> Script {
        let mut rng = Rng::with_seed(self.seed);
        let bad = self.bad_handlers;
        Box::new(move |at, _, _| {
            let takes = match rng.u8(..10) {
                0 => ms(rng.u64(..60_000)),
                1 | 2 => ms(rng.u64(..5_000)),
                3 => Duration::ZERO,
                _ => ms(rng.u64(..200)),
            };
            let good = at > secs(2 * FAULTS) || rng.u8(..100) >= bad;
            let settlement = match rng.u8(..8) {
                _ if good => Settlement::Ack,
                0 => Settlement::Drop,
                1..=3 => Settlement::Retry,
                4 => Settlement::RetryAfter(secs(100_000)),
                _ => Settlement::RetryAfter(ms(rng.u64(..30_000))),
            };
            (takes, settlement)
        })
    }

    fn network(&self) -> Network {
        let mut rng = Rng::with_seed(self.seed ^ 1);
        let (bad, clean) = (self.bad, self.clean);
        let mut failed = BTreeMap::new();
        Box::new(move |sent| {
            let takes = ms(rng.u64(..60));
            if clean && !may_fail(sent, &mut failed) {
                return Fate::Served(takes);
            }
            if sent.at > secs(FAULTS) || rng.u8(..100) >= bad {
                return Fate::Served(takes);
            }
            for id in sent.ids {
                *failed.entry(id.clone()).or_default() += 1;
            }
            let failure = failure(sent, clean, &mut rng);
            if clean {
                return Fate::Fails(ms(rng.u64(..300)), failure);
            }
            match rng.u8(..10) {
                // Nobody can tell a stream that never begins from one that has nothing to bring.
                0 if sent.what != What::Stream => Fate::Silent(rng.bool()),
                1 => Fate::Slow(ms(rng.u64(..12_000))),
                2 => Fate::ServedButFails(takes, fails(CallClass::Transient)),
                _ => Fate::Fails(ms(rng.u64(..3_000)), failure),
            }
        })
    }

    fn sim(&self) -> Sim {
        let mut sim = Sim::seeded(self.options(), self.script(), self.seed);
        sim.network = self.network();
        sim.server.exactly_once = self.exactly_once;
        sim.server.ordered = self.ordered;
        sim.server.max_attempts = self.attempts;
        // What is ambiguous, or a lie, may break the order; and where messages become dead letters
        // it is not known which one is the next.
        sim.watch.ordered = self.ordered && self.clean && self.attempts.is_none();
        if self.seed.is_multiple_of(3) {
            sim.heartbeat = Some(secs(30));
        }
        sim.tell_properties();
        let mut rng = Rng::with_seed(self.seed ^ 2);
        for number in 0..self.messages {
            let key = match self.keys {
                0 => String::new(),
                keys => format!("key-{}", rng.usize(..keys)),
            };
            let key = if rng.u8(..4) == 0 { String::new() } else { key };
            let (bytes, id) = (rng.usize(..self.bytes), format!("m{number}"));
            let at = if rng.bool() {
                ms(0)
            } else {
                secs(rng.u64(..FAULTS))
            };
            match self.ordered {
                // Their numbers are their order.
                true => sim.server.publish(&id, &key, bytes),
                false => sim.later(at, move |sim| sim.server.publish(&id, &key, bytes)),
            }
        }
        for at in &self.cuts {
            let class = match at % 4 {
                0 => CallClass::Config,
                1 => CallClass::Throttled(Some(secs(at % 30))),
                _ => CallClass::Transient,
            };
            sim.later(secs(*at), move |sim| sim.cut(&fails(class)));
        }
        sim
    }
}

/// Whether a call fails at all where only clean faults are wanted.
fn may_fail(sent: &Sent<'_>, failed: &mut BTreeMap<AckId, u32>) -> bool {
    let times = |id| failed.get(id).copied().unwrap_or_default();
    matches!(sent.what, What::Ack | What::Extend) && sent.ids.iter().all(|id| times(id) < 3)
}

/// A failure; one that is not `clean` may say of leases that they are lost, which they are not.
fn failure(sent: &Sent<'_>, clean: bool, rng: &mut Rng) -> CallFailure {
    let class = match rng.u8(..12) {
        0 => CallClass::Throttled(None),
        1 => CallClass::Throttled(Some(ms(rng.u64(..20_000)))),
        2 => CallClass::Config,
        3 | 4 => CallClass::Unauthenticated,
        5 if !clean => CallClass::Invalid,
        6..=8 if !sent.ids.is_empty() => return named(sent.ids, clean, rng),
        _ => CallClass::Transient,
    };
    let mut failure = fails(class);
    if class == CallClass::Unauthenticated && rng.bool() {
        failure.refused = Some(Token::new("token").unwrap());
    }
    failure
}

/// All ids may pass the next time, but perhaps for one.
fn named(ids: &[AckId], clean: bool, rng: &mut Rng) -> CallFailure {
    let ids = ids
        .iter()
        .map(|id| (id.clone(), IdFailure::Transient("later".into())));
    let mut failed: BTreeMap<_, _> = ids.collect();
    if let Some((_, failure)) = failed.iter_mut().next()
        && !clean
        && rng.u8(..4) == 0
    {
        *failure = IdFailure::Permanent("gone".into());
    }
    per_id(failed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The simulation itself checks at every step that a message and an ordering key have one
    /// handler at a time, that keys keep their order, that each delivery is settled once, that
    /// requests have their size, that no ack id is used that was replaced or is being settled, and
    /// that no more is asked for than there is room for.
    #[test]
    fn every_message_is_settled_and_no_lease_is_neglected(plan in plan()) {
        let mut sim = plan.sim();
        sim.run_until(secs(4 * 3_600));
        prop_assert_eq!(sim.server.left(), 0, "{} forgotten", sim.server.left());
        prop_assert_eq!(sim.server.acked.len() + sim.server.dead.len(), plan.messages);
        prop_assert!(sim.watch.is_settled());
        prop_assert_eq!(&sim.seen.neglected, &[]);
        let gauges = sim.machine.gauges();
        prop_assert_eq!((gauges.outstanding, gauges.outstanding_bytes), (0, 0));
        prop_assert_eq!((gauges.unconfirmed, gauges.held, gauges.ordering_keys), (0, 0, 0));
        // While there are faults a few dozen requests a second at most, then by what is done.
        let most = 40 * usize::try_from(FAULTS).unwrap() + 6 * sim.seen.handled.len() + 4_000;
        prop_assert!(sim.seen.requests.len() < most, "{} requests", sim.seen.requests.len());
        sim.close(None);
        prop_assert_eq!(sim.run(), SubscribeWait::Closed);
    }

    /// Closed at any moment, with and without faults, it ends by its deadline, and every delivery
    /// has its last word.
    #[test]
    fn closed_at_any_moment_it_ends(
        plan in plan(),
        at in 0..500u64,
        grace in prop::option::of(0..40u64),
    ) {
        let mut sim = plan.sim();
        sim.run_until(secs(at));
        let deadline = grace.map(|grace| secs(at + grace));
        sim.close(deadline);
        prop_assert_eq!(sim.run(), SubscribeWait::Closed);
        prop_assert!(sim.watch.is_settled());
        if let Some(deadline) = deadline {
            // Handlers that were given up may end later.
            prop_assert!(sim.closed.unwrap() <= deadline + secs(1), "{:?}", sim.closed);
        }
        let gauges = sim.machine.gauges();
        prop_assert_eq!((gauges.outstanding, gauges.calls, gauges.streams), (0, 0, 0));
        prop_assert_eq!((gauges.unconfirmed, gauges.ordering_keys), (0, 0));
    }

    #[test]
    fn equal_inputs_give_equal_outputs(plan in plan()) {
        let run = || {
            let mut sim = plan.sim();
            sim.run_until(secs(FAULTS));
            (sim.seen.requests, sim.seen.handled, sim.seen.events, sim.seen.steps)
        };
        prop_assert_eq!(run(), run());
    }
}
