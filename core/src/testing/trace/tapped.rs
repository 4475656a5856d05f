//! A machine that can be recorded.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use super::recorder::Recorder;
use super::setup::Setup;
use crate::failure::MessageId;
use crate::options::PublisherOptions;
use crate::publish::{Admission, Input, Misuse, Output, Publisher, Refused, Step, Unsent};

/// A [`Publisher`] with the same verbs, that records what it is given and what it does once
/// [`record`](Self::record) was called.
///
/// A driver that holds one in place of its machine needs no other change, and cannot forget to
/// record anything. Marks are recorded as their `Debug` text.
pub struct Tapped<T> {
    machine: Publisher<T>,
    authorize: bool,
    seed: u64,
    /// Something was handled or polled.
    used: bool,
    recorder: Option<Recorder>,
}

impl<T: fmt::Debug> Tapped<T> {
    /// See [`Publisher::new`].
    #[must_use]
    pub fn new(options: Arc<PublisherOptions>, authorize: bool, seed: u64) -> Self {
        Self {
            machine: Publisher::new(options, authorize, seed),
            authorize,
            seed,
            used: false,
            recorder: None,
        }
    }

    /// Gives every line of the trace to `sink`, without its line break, from now on.
    ///
    /// # Panics
    ///
    /// If the machine was used before: half a trace cannot be replayed.
    pub fn record(&mut self, sink: impl FnMut(&str) + Send + 'static) {
        assert!(!self.used, "a trace starts before the machine is used");
        let setup = Setup::new(self.machine.options(), self.authorize, self.seed);
        self.recorder = Some(Recorder::new(&setup, Box::new(sink)));
    }

    /// See [`Publisher::handle`].
    ///
    /// # Errors
    ///
    /// Those of [`Publisher::handle`].
    pub fn handle(&mut self, now: Instant, input: Input<T>) -> Result<(), Misuse> {
        self.used = true;
        if let Some(recorder) = &mut self.recorder {
            recorder.input(now, &input);
        }
        self.machine.handle(now, input)
    }

    /// See [`Publisher::try_admit`].
    ///
    /// # Errors
    ///
    /// Those of [`Publisher::try_admit`].
    pub fn try_admit(
        &mut self,
        now: Instant,
        tag: T,
        admission: Admission,
    ) -> Result<(), Box<Refused<T>>> {
        self.used = true;
        if let Some(recorder) = &mut self.recorder {
            recorder.try_admit(now, &tag, &admission);
        }
        let admitted = self.machine.try_admit(now, tag, admission);
        if let (Some(recorder), Err(refused)) = (&mut self.recorder, &admitted) {
            recorder.refused(now, &refused.tag, &refused.failure);
        }
        admitted
    }

    /// See [`Publisher::poll_stored`]. While it records everything comes out of a poll.
    pub fn poll_stored(&mut self) -> Option<(T, MessageId)> {
        match self.recorder {
            None => self.machine.poll_stored(),
            Some(_) => None,
        }
    }

    /// See [`Publisher::take_unsent`].
    pub fn take_unsent(&mut self) -> Vec<Unsent> {
        self.machine.take_unsent()
    }

    /// See [`Publisher::poll`].
    pub fn poll(&mut self, now: Instant) -> Step<Output<T>> {
        self.used = true;
        let step = self.machine.poll(now);
        if let Some(recorder) = &mut self.recorder {
            recorder.step(now, &step);
        }
        step
    }
}

/// What can be asked without changing anything.
impl<T> Deref for Tapped<T> {
    type Target = Publisher<T>;

    fn deref(&self) -> &Publisher<T> {
        &self.machine
    }
}

impl<T: fmt::Debug> fmt::Debug for Tapped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tapped")
            .field("machine", &self.machine)
            .field("records", &self.recorder.is_some())
            .finish_non_exhaustive()
    }
}
