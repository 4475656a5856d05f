//! A sink that keeps failing is left alone for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::reason::Reason;

/// When a sink is left alone, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// How many failures in a row open it. Default 5. The messages of one failed request of a
    /// batching sink are one failure.
    pub failures: u32,
    /// How long it stays open the first time. Default 30 s.
    pub open: Duration,
    /// The longest it stays open: each probe that fails doubles the time. Default 5 min.
    pub max_open: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self {
            failures: 5,
            open: Duration::from_secs(30),
            max_open: Duration::from_secs(300),
        }
    }
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum BreakerState {
    /// Attempts are made.
    Closed,
    /// None are: its rows are parked.
    Open,
    /// One is made, to see whether the sink is back.
    Probing,
}

/// What an attempt says of its sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It answered, if only to refuse.
    Alive,
    /// It failed.
    Failing,
    /// Nothing was asked of it.
    Nothing,
}

/// One sink's breaker.
#[derive(Debug)]
pub(super) struct Breaker {
    policy: BreakerPolicy,
    failures: u32,
    /// The last failure that was counted: a request's messages share it, and are one failure.
    counted: Option<Arc<Reason>>,
    pause: Duration,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open(Instant),
    /// Its time is over; whether the probe is under way.
    Half(bool),
}

impl Breaker {
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            failures: 0,
            counted: None,
            pause: policy.open,
            state: State::Closed,
        }
    }

    pub(super) fn state(&self) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open(_) => BreakerState::Open,
            State::Half(_) => BreakerState::Probing,
        }
    }

    /// When it may be probed, while it is open.
    pub(super) fn open_until(&self) -> Option<Instant> {
        match self.state {
            State::Open(until) => Some(until),
            State::Closed | State::Half(_) => None,
        }
    }

    /// How many attempts may begin now.
    pub(super) fn allows(&self) -> usize {
        match self.state {
            State::Closed => usize::MAX,
            State::Half(false) => 1,
            State::Half(true) | State::Open(_) => 0,
        }
    }

    /// Its time may be over; tells whether that changed it.
    pub(super) fn advance(&mut self, now: Instant) -> bool {
        let over = self.open_until().is_some_and(|until| until <= now);
        if over {
            self.state = State::Half(false);
        }
        over
    }

    /// An attempt begins; tells whether it is the probe.
    pub(super) fn begin(&mut self) -> bool {
        let probe = self.state == State::Half(false);
        if probe {
            self.state = State::Half(true);
        }
        probe
    }

    /// An attempt ended; tells whether that changed it. `request` is the failure that it shares
    /// with the other messages of its request.
    pub(super) fn end(
        &mut self,
        now: Instant,
        sign: Sign,
        probe: bool,
        request: Option<&Arc<Reason>>,
    ) -> bool {
        match (sign, self.state) {
            (Sign::Nothing, State::Half(true)) if probe => {
                self.state = State::Half(false);
                false
            }
            (Sign::Nothing, _) => false,
            (Sign::Alive, State::Closed) => {
                self.forgive();
                false
            }
            (Sign::Alive, _) => {
                self.forgive();
                self.pause = self.policy.open;
                self.state = State::Closed;
                true
            }
            (Sign::Failing, State::Closed) => {
                if let (Some(request), Some(counted)) = (request, &self.counted)
                    && Arc::ptr_eq(request, counted)
                {
                    return false;
                }
                self.counted = request.cloned();
                self.failures += 1;
                if self.failures < self.policy.failures {
                    return false;
                }
                self.open(now);
                true
            }
            (Sign::Failing, State::Half(true)) if probe => {
                self.pause = self.pause.saturating_mul(2).min(self.policy.max_open);
                self.open(now);
                true
            }
            // It was under way when the breaker opened: that much is known.
            (Sign::Failing, _) => false,
        }
    }

    fn forgive(&mut self) {
        self.failures = 0;
        self.counted = None;
    }

    fn open(&mut self, now: Instant) {
        self.forgive();
        self.state = now
            .checked_add(self.pause)
            .map_or(State::Half(false), State::Open);
    }
}
