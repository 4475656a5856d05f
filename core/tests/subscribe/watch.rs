//! What holds at every step of every simulation, whatever the test looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use pubsink_core::subscribe::{
    AckId, CallId, DeliveryId, IdFailure, ReceivedMessage, SettleError, Settlement,
    SubscribeGauges, SubscriberOptions,
};
use pubsink_core::wire::subscribe::{ACK_REQUEST_MAX_BYTES, ack_id_bytes, ack_overhead_bytes};

use crate::network::What;

pub(crate) struct Watch {
    options: Arc<SubscriberOptions>,
    pub(crate) exactly_once: bool,
    pub(crate) ordered: bool,
    /// The newest ack id of each message that came, and whose message it is.
    newest: BTreeMap<String, AckId>,
    owners: BTreeMap<AckId, String>,
    /// Leases whose ack or nack is in flight.
    settling: BTreeMap<AckId, CallId>,
    /// Leases that Pub/Sub confirmed.
    confirmed: BTreeSet<AckId>,
    running: BTreeMap<DeliveryId, (String, String)>,
    /// Deliveries that wait for the last word.
    open: BTreeSet<DeliveryId>,
    abandoned: bool,
    /// When closing gives up: what is left then goes in as many calls as it takes.
    pub(crate) deadline: Option<Instant>,
    /// The first handlings of each key, by the number of the message.
    first: BTreeMap<String, usize>,
    handled: BTreeSet<String>,
    /// Extensions of a lease since the last that was confirmed.
    tries: BTreeMap<AckId, usize>,
    /// Leases that were to be settled, or that Pub/Sub says are lost.
    excused: BTreeSet<AckId>,
    calls: BTreeMap<CallId, (What, Vec<AckId>)>,
    pulling: BTreeMap<CallId, usize>,
}

impl Watch {
    pub(crate) fn new(options: &Arc<SubscriberOptions>) -> Self {
        Self {
            options: Arc::clone(options),
            exactly_once: options.exactly_once(),
            ordered: false,
            newest: BTreeMap::new(),
            owners: BTreeMap::new(),
            settling: BTreeMap::new(),
            confirmed: BTreeSet::new(),
            running: BTreeMap::new(),
            open: BTreeSet::new(),
            abandoned: false,
            deadline: None,
            first: BTreeMap::new(),
            handled: BTreeSet::new(),
            tries: BTreeMap::new(),
            excused: BTreeSet::new(),
            calls: BTreeMap::new(),
            pulling: BTreeMap::new(),
        }
    }

    /// A message is handed to the machine.
    pub(crate) fn arrived(&mut self, message: &ReceivedMessage) {
        let id = message.message_id.as_str().to_owned();
        self.owners.insert(message.ack_id.clone(), id.clone());
        self.newest.insert(id, message.ack_id.clone());
    }

    pub(crate) fn requested(&mut self, call: CallId, what: What, ids: &[AckId], seconds: u16) {
        assert!(!ids.is_empty() && ids.len() <= 1_000, "{} ids", ids.len());
        let wire = self.options.wire();
        let bytes: usize = ids.iter().map(|id| ack_id_bytes(wire, id)).sum();
        let bytes = bytes + ack_overhead_bytes(wire, &self.options);
        assert!(bytes <= ACK_REQUEST_MAX_BYTES || ids.len() == 1, "{bytes}");
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "an id twice in a request");
        for id in ids {
            let owner = self.owners.get(id).unwrap();
            assert_eq!(
                &self.newest[owner], id,
                "{what:?} of an id that was replaced"
            );
            let settling = self.settling.get(id);
            assert_eq!(settling, None, "{what:?} of {id} while it is being settled");
            if what == What::Extend {
                *self.tries.entry(id.clone()).or_default() += 1;
            } else {
                self.settling.insert(id.clone(), call);
                self.excused.insert(id.clone());
            }
        }
        match what {
            What::Extend => {
                let most = self.options.extension_max().as_secs().max(10);
                let most = u16::try_from(most).unwrap_or(u16::MAX);
                assert!((10..=most).contains(&seconds), "{seconds} s");
            }
            _ => assert_eq!(seconds, 0),
        }
        self.calls.insert(call, (what, ids.to_vec()));
        let count = |what| self.calls.values().filter(|(w, _)| *w == what).count();
        // The last words of closing go in as many calls as they need.
        assert!(self.abandoned || count(What::Ack) <= 4 && count(What::Nack) <= 4);
        assert!(count(What::Extend) <= 8);
    }

    /// It is that late.
    pub(crate) fn at(&mut self, now: Instant) {
        self.abandoned |= self.deadline.is_some_and(|at| at <= now);
    }

    /// A call was answered, or cancelled.
    pub(crate) fn ended(&mut self, call: CallId, ok: bool) {
        self.pulling.remove(&call);
        let Some((what, ids)) = self.calls.remove(&call) else {
            return;
        };
        for id in ids {
            if what == What::Extend && ok {
                self.extended(id);
            } else if self.settling.get(&id) == Some(&call) {
                self.settling.remove(&id);
            }
        }
    }

    /// An answer named the ids that failed: the others are confirmed.
    pub(crate) fn named(&mut self, call: CallId, failed: &BTreeMap<AckId, IdFailure>) {
        let lost = failed.iter();
        let lost = lost.filter(|(_, failure)| matches!(failure, IdFailure::Permanent(_)));
        self.excused.extend(lost.map(|(id, _)| id.clone()));
        if let Some((What::Extend, ids)) = self.calls.get(&call) {
            let good = ids.iter().filter(|id| !failed.contains_key(id));
            for id in good.cloned().collect::<Vec<_>>() {
                self.extended(id);
            }
        }
    }

    fn extended(&mut self, id: AckId) {
        // After so many tries it may have come too late.
        if self.tries.remove(&id).is_some_and(|tries| tries > 2) {
            self.excused.insert(id.clone());
        }
        self.confirmed.insert(id);
    }

    /// Whether a lease that has ended was in hand, and was to be kept: it had not been settled,
    /// and less than two requests had failed to extend it.
    pub(crate) fn neglected(&self, id: &str, ack_id: &AckId) -> bool {
        let tries = self.tries.get(ack_id).copied().unwrap_or_default();
        self.newest.get(id) == Some(ack_id) && !self.excused.contains(ack_id) && tries < 2
    }

    pub(crate) fn pulled(&mut self, call: CallId, max: u32, gauges: &SubscribeGauges) {
        let asked: usize = self.pulling.values().sum();
        let max = usize::try_from(max).unwrap();
        let all = gauges.outstanding + asked + max;
        assert!((1..=1_000).contains(&max), "{max}");
        assert!(all <= self.options.max_outstanding(), "{all} asked for");
        assert!(gauges.outstanding_bytes < self.options.max_outstanding_bytes());
        self.pulling.insert(call, max);
        assert!(self.pulling.len() <= 2);
    }

    pub(crate) fn delivered(&mut self, delivery: DeliveryId, message: &ReceivedMessage) {
        let id = message.message_id.as_str().to_owned();
        let key = message.ordering_key.clone();
        for (other, other_key) in self.running.values() {
            assert_ne!(*other, id, "one message with two handlers");
            assert!(
                key.is_empty() || *other_key != key,
                "one key with two handlers"
            );
        }
        if self.exactly_once {
            let confirmed = self.confirmed.contains(&message.ack_id);
            assert!(
                confirmed,
                "{id} was handed out before its lease was confirmed"
            );
        }
        if self.ordered && !key.is_empty() && self.handled.insert(id.clone()) {
            let number: usize = id
                .trim_start_matches(|c: char| !c.is_ascii_digit())
                .parse()
                .unwrap();
            let first = self.first.insert(key.clone(), number);
            assert!(
                first.is_none_or(|first| first < number),
                "{id} of {key} before {first:?}"
            );
        }
        self.running.insert(delivery, (id, key));
        assert!(self.running.len() <= self.options.handlers());
        assert!(self.open.insert(delivery), "delivered twice");
    }

    /// A handler is done, or was given up.
    pub(crate) fn done(&mut self, delivery: DeliveryId) {
        self.running.remove(&delivery);
    }

    pub(crate) fn settled(
        &mut self,
        delivery: DeliveryId,
        settlement: Settlement,
        result: &Result<(), SettleError>,
    ) {
        assert!(self.open.remove(&delivery), "settled twice");
        if self.running.contains_key(&delivery) {
            assert_eq!(settlement, Settlement::Retry);
            assert_eq!(*result, Err(SettleError::Closed), "settled without a word");
            self.abandoned = true;
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.open.is_empty()
    }
}
