//! Metrics, when the feature is off: nothing, at no cost.

use std::time::{Duration, Instant};

use pubsink_core::claim::ClaimError;
use pubsink_core::dispatch::{Accepted, DispatchGauges, DispatchOutput, EnqueueError};
use pubsink_core::failure::{Failure, Outcome};
use pubsink_core::publish::{Gauges, Response};
use pubsink_core::sink::Receipt;
use pubsink_core::subscribe::{CallFailure, Settlement, SubscribeGauges, SubscribeOutput};
use pubsink_core::text::Text;

use crate::service::{HandlingClass, ReplyError};

#[derive(Debug, Clone)]
pub(crate) struct PublishMetrics;

impl PublishMetrics {
    #[inline(always)]
    pub(crate) fn new(_topic: &str) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn refused(&self, _failure: &Failure) {}

    #[inline(always)]
    pub(crate) fn turn(&self, _tally: &PublishTally) {}

    #[inline(always)]
    pub(crate) fn ended(&self, _tally: &PublishTally) {}

    #[inline(always)]
    pub(crate) fn sending(
        &self,
        _messages: usize,
        _bytes: usize,
        _now: impl FnOnce() -> Instant,
    ) -> Sending {
        Sending
    }
}

pub(crate) struct Sending;

impl Sending {
    #[inline(always)]
    pub(crate) fn answered(self, _now: impl FnOnce() -> Instant, _response: &Response) {}
}

#[derive(Debug, Default)]
pub(crate) struct PublishTally {}

impl PublishTally {
    #[inline(always)]
    pub(crate) fn stored(&mut self) {}

    #[inline(always)]
    pub(crate) fn settled(&mut self, _outcome: &Outcome) {}

    #[inline(always)]
    pub(crate) fn holds(&mut self, _gauges: impl FnOnce() -> Gauges) {}
}

#[derive(Debug, Clone)]
pub(crate) struct DispatchMetrics;

impl DispatchMetrics {
    #[inline(always)]
    pub(crate) fn new<'a>(_sinks: impl IntoIterator<Item = &'a Text>) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn refused(&self, _error: &EnqueueError) {}

    #[inline(always)]
    pub(crate) fn journal_failed(&self, _what: &str) {}

    #[inline(always)]
    pub(crate) fn turn<T>(&self, _tally: &DispatchTally, _outputs: &[DispatchOutput<T>]) {}

    #[inline(always)]
    pub(crate) fn ended(&self, _tally: &DispatchTally) {}

    #[inline(always)]
    pub(crate) fn checking_in(&self) -> CheckingIn {
        CheckingIn
    }

    #[inline(always)]
    pub(crate) fn attempting(&self, _sink: &Text, _now: impl FnOnce() -> Instant) -> Attempting {
        Attempting
    }
}

pub(crate) struct CheckingIn;

impl CheckingIn {
    #[inline(always)]
    pub(crate) fn ended(self, _result: &Result<(), ClaimError>) {}
}

pub(crate) struct Attempting;

impl Attempting {
    #[inline(always)]
    pub(crate) fn ended(self, _now: impl FnOnce() -> Instant, _outcome: &Result<Receipt, Failure>) {
    }
}

#[derive(Debug, Default)]
pub(crate) struct DispatchTally {}

impl DispatchTally {
    #[inline(always)]
    pub(crate) fn accepted(&mut self, _result: &Result<Accepted, EnqueueError>) {}

    #[inline(always)]
    pub(crate) fn holds(&mut self, _holds: impl FnOnce() -> (DispatchGauges, Duration)) {}
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    Stream,
    Pull,
    Acknowledge,
    Nack,
    Extend,
}

#[derive(Debug, Clone)]
pub(crate) struct SubscribeMetrics;

impl SubscribeMetrics {
    #[inline(always)]
    pub(crate) fn new(_name: &str) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn turn<'a>(
        &self,
        _tally: &SubscribeTally,
        _outputs: impl Iterator<Item = &'a SubscribeOutput>,
    ) {
    }

    #[inline(always)]
    pub(crate) fn ended(&self) {}

    #[inline(always)]
    pub(crate) fn asking(&self, _asked: Asked) -> Asking {
        Asking
    }
}

pub(crate) struct Asking;

impl Asking {
    #[inline(always)]
    pub(crate) fn answered(self, _failure: Option<&CallFailure>) {}
}

#[derive(Debug, Default)]
pub(crate) struct SubscribeTally {}

impl SubscribeTally {
    #[inline(always)]
    pub(crate) fn holds(&mut self, _holds: impl FnOnce() -> (SubscribeGauges, Duration)) {}
}

#[derive(Debug)]
pub(crate) struct HandlingMetrics;

impl HandlingMetrics {
    #[inline(always)]
    pub(crate) fn new(_name: &str) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn handled(
        &self,
        _settlement: Settlement,
        _failed: Option<HandlingClass>,
        _took: Duration,
    ) {
    }

    #[inline(always)]
    pub(crate) fn abandoned(&self) {}

    #[inline(always)]
    pub(crate) fn replied(&self, _result: &Result<(), ReplyError>) {}
}
