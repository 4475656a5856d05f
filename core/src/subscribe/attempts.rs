//! What follows a handling that failed, and how often a message failed before.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use super::message::ReceivedMessage;
use super::settlement::Settlement;
use crate::retry::{Rng, doubled};

/// What follows a handling that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retry {
    /// The message is given back at once. When it comes again is decided by the subscription's own
    /// retry policy; without one that is at once, too.
    #[default]
    AtOnce,
    /// The message is held for a pause that grows, its lease kept, and then given back.
    Backoff(Backoff),
}

/// Pauses that double: `min(max, base * 2^(attempt-1))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failed attempt. Default 1 s.
    pub base: Duration,
    /// The longest pause. Default 60 s. A held message counts against
    /// [`max_outstanding`](super::SubscriberOptions::max_outstanding), and cannot be held for
    /// longer than [`max_lease`](super::SubscriberOptions::max_lease).
    pub max: Duration,
    /// How much of a pause is drawn by lot, in percent: 20 makes of 10 s anything from 8 to 10 s.
    /// Default 20, at most 100.
    pub jitter_percent: u8,
    /// The most attempts, the first one counted. Default none: it goes on until it succeeds, or
    /// the subscription's dead-letter policy ends it.
    pub max_attempts: Option<u32>,
    /// What follows the last attempt. Default [`GiveUp::Nack`].
    pub give_up: GiveUp,
}

/// What follows the last attempt that a [`Backoff`] allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GiveUp {
    /// The message is given back at once, for the subscription's dead-letter policy to take. Where
    /// it comes again all the same it is handled, and given back after [`Backoff::max`] if it fails.
    #[default]
    Nack,
    /// The message is dropped ([`Settlement::Drop`]): without a dead-letter policy it is gone.
    Drop,
}

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterFailure {
    /// What becomes of the delivery.
    pub settlement: Settlement,
    /// Whether it was the last attempt that the policy allows, or one beyond it.
    pub gave_up: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            max: Duration::from_secs(60),
            jitter_percent: 20,
            max_attempts: None,
            give_up: GiveUp::Nack,
        }
    }
}

impl From<Backoff> for Retry {
    fn from(backoff: Backoff) -> Self {
        Self::Backoff(backoff)
    }
}

impl Retry {
    /// What follows when attempt number `attempt` (from 1) failed.
    #[must_use]
    pub fn after_failure(&self, attempt: u32, rng: &mut Rng) -> AfterFailure {
        match self {
            Self::AtOnce => AfterFailure {
                settlement: Settlement::Retry,
                gave_up: false,
            },
            Self::Backoff(backoff) => backoff.after_failure(attempt, rng),
        }
    }

    /// The same policy, with the default [`Backoff`] where it has no pause: for failures that
    /// another delivery meets again at once.
    #[must_use]
    pub fn never_at_once(self) -> Self {
        match self {
            Self::AtOnce => Self::Backoff(Backoff::default()),
            Self::Backoff(_) => self,
        }
    }

    /// The same policy, that goes on where it would [drop](GiveUp::Drop) the message: for failures
    /// that say nothing against the message.
    #[must_use]
    pub fn never_drops(self) -> Self {
        match self {
            Self::Backoff(backoff) if backoff.give_up == GiveUp::Drop => Self::Backoff(Backoff {
                max_attempts: None,
                ..backoff
            }),
            Self::Backoff(_) | Self::AtOnce => self,
        }
    }
}

impl Backoff {
    fn after_failure(&self, attempt: u32, rng: &mut Rng) -> AfterFailure {
        let last = self.max_attempts.unwrap_or(u32::MAX);
        let gave_up = attempt >= last;
        let settlement = match self.give_up {
            GiveUp::Drop if gave_up => Settlement::Drop,
            GiveUp::Nack if attempt == last => Settlement::Retry,
            // Beyond the last one there is nobody to take it: no loop that gives it back at once.
            GiveUp::Nack if gave_up => Settlement::RetryAfter(self.max),
            GiveUp::Drop | GiveUp::Nack => Settlement::RetryAfter(self.pause(attempt, rng)),
        };
        AfterFailure {
            settlement,
            gave_up,
        }
    }

    fn pause(&self, attempt: u32, rng: &mut Rng) -> Duration {
        let micros = |pause: Duration| u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        let whole = doubled(micros(self.base), attempt, micros(self.max));
        let jitter = u128::from(self.jitter_percent.min(100));
        let drawn = u64::try_from(u128::from(whole) * jitter / 100).unwrap_or(whole);
        Duration::from_micros(rng.u64(whole - drawn..=whole))
    }
}

impl AfterFailure {
    /// The same, with a pause of at least this length where the message is to come again and its
    /// policy did not give it up.
    #[must_use]
    pub fn no_sooner_than(self, least: Duration) -> Self {
        let settlement = match self.settlement {
            Settlement::RetryAfter(pause) if !self.gave_up => {
                Settlement::RetryAfter(pause.max(least))
            }
            Settlement::Retry if !self.gave_up && !least.is_zero() => Settlement::RetryAfter(least),
            settlement => settlement,
        };
        Self { settlement, ..self }
    }
}

/// How often messages failed here before. Needed where Pub/Sub does not count, since only a
/// subscription with a dead-letter policy does.
///
/// It remembers a bounded number of messages, 16 bytes of each and some overhead; beyond that the
/// one whose failure is longest ago is forgotten, and counts from 1 again.
#[derive(Debug)]
pub struct Attempts {
    /// By the hash of a message's id: ids are another's text, and may be long. Two that collide
    /// share a count.
    failed: BTreeMap<u64, Failed>,
    /// The ones that are remembered, by when they last failed.
    order: BTreeMap<u64, u64>,
    next: u64,
    capacity: usize,
}

#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    at: u64,
}

impl Attempts {
    /// How many messages are remembered: 10,000, ten times the messages that are out by default.
    pub const CAPACITY: usize = 10_000;

    /// Remembers the failures of at most `capacity` messages.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            failed: BTreeMap::new(),
            order: BTreeMap::new(),
            next: 0,
            capacity,
        }
    }

    /// Which attempt this delivery of a message is, from 1: by Pub/Sub's own count where it has
    /// one, else by how often it failed here.
    #[must_use]
    pub fn attempt(&self, message: &ReceivedMessage) -> u32 {
        if let Some(attempt) = message.delivery_attempt {
            return attempt.max(1);
        }
        let failed = self.failed.get(&hash(message));
        failed.map_or(1, |failed| failed.times.saturating_add(1))
    }

    /// A message failed. Not remembered where Pub/Sub counts.
    pub fn failed(&mut self, message: &ReceivedMessage) {
        if message.delivery_attempt.is_some() || self.capacity == 0 {
            return;
        }
        let (id, at) = (hash(message), self.next);
        self.next += 1;
        let failed = self.failed.entry(id).or_insert(Failed { times: 0, at });
        self.order.remove(&failed.at);
        failed.times = failed.times.saturating_add(1);
        failed.at = at;
        self.order.insert(at, id);
        if self.failed.len() > self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.failed.remove(&oldest);
        }
    }

    /// A message is done with.
    pub fn forget(&mut self, message: &ReceivedMessage) {
        if message.delivery_attempt.is_none()
            && let Some(failed) = self.failed.remove(&hash(message))
        {
            self.order.remove(&failed.at);
        }
    }

    /// How many messages are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.failed.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self::new(Self::CAPACITY)
    }
}

fn hash(message: &ReceivedMessage) -> u64 {
    // Without a random key, so that equal runs stay equal.
    let mut hasher = DefaultHasher::new();
    message.message_id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
