//! What a simulation saw.

use std::time::Duration;

use pubsink_core::subscribe::{
    AckId, DeliveryId, LeaseLost, SettleError, Settlement, StreamId, SubscribeEvent,
};

use crate::network::What;

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) at: Duration,
    pub(crate) what: What,
    pub(crate) ids: Vec<AckId>,
    pub(crate) seconds: u16,
    pub(crate) renewed: bool,
}

/// A delivery, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Handled {
    pub(crate) at: Duration,
    pub(crate) id: String,
    pub(crate) ack_id: AckId,
    pub(crate) delivery: DeliveryId,
    pub(crate) lost: Vec<(Duration, LeaseLost)>,
    pub(crate) settled: Option<(Duration, Settlement, Result<(), SettleError>)>,
}

/// What was seen, for tests to look at.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) requests: Vec<Request>,
    pub(crate) handled: Vec<Handled>,
    pub(crate) events: Vec<(Duration, SubscribeEvent)>,
    /// When streams were opened, pinged, half-closed, dropped.
    pub(crate) opened: Vec<(Duration, u16, bool)>,
    pub(crate) pinged: Vec<Duration>,
    pub(crate) half_closed: Vec<(Duration, StreamId)>,
    pub(crate) dropped: Vec<(Duration, StreamId)>,
    pub(crate) pulls: Vec<(Duration, u32)>,
    /// When a stream was opened or pulled, and whether with a fresh token.
    pub(crate) asked: Vec<(Duration, bool)>,
    pub(crate) cancelled: usize,
    /// Leases that ended although they were to be kept.
    pub(crate) neglected: Vec<(Duration, AckId)>,
    pub(crate) most_outstanding: usize,
    pub(crate) most_unconfirmed: usize,
    pub(crate) most_held: usize,
    pub(crate) steps: usize,
}

impl Seen {
    /// The requests of one kind.
    pub(crate) fn of(&self, what: What) -> Vec<&Request> {
        let requests = self.requests.iter();
        requests.filter(|request| request.what == what).collect()
    }

    /// How many ids requests of one kind had.
    pub(crate) fn ids(&self, what: What) -> usize {
        self.of(what).iter().map(|request| request.ids.len()).sum()
    }

    /// The handlings of one message.
    pub(crate) fn handlings(&self, id: &str) -> Vec<&Handled> {
        let handled = self.handled.iter();
        handled.filter(|handled| handled.id == id).collect()
    }
}
