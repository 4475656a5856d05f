//! Streams are opened, bring messages, are kept alive, and end.

use super::Subscriber;
use super::arrivals::FirstLease;
use crate::reason::{Reason, TransportKind};
use crate::subscribe::asking::{Attempt, Next};
use crate::subscribe::failure::{CallClass, CallFailure};
use crate::subscribe::io::{
    StreamAnswer, StreamEnd, StreamId, SubscribeEvent, SubscribeMisuse, SubscribeOutput,
};

impl Subscriber {
    /// A stream brought something.
    pub(super) fn streamed(
        &mut self,
        id: StreamId,
        answer: StreamAnswer,
    ) -> Result<(), SubscribeMisuse> {
        let Some(heard) = self.streams.heard(self.now, id, &answer) else {
            return self.check_stream(id);
        };
        if heard.current {
            self.asking.accepted();
        }
        if heard.current && heard.well {
            self.asking.well();
        }
        if heard.first {
            self.event(SubscribeEvent::StreamOpened(id));
        }
        self.exactly_once = answer.exactly_once.unwrap_or(self.exactly_once);
        self.ordered = answer.ordered.or(self.ordered);
        // What it confirms was sent on it, and nothing is: calls of their own are answered.
        for message in answer.messages {
            self.arrive(message, FirstLease::Known(heard.ack_deadline));
        }
        Ok(())
    }

    /// A stream ended.
    pub(super) fn stream_ended(
        &mut self,
        id: StreamId,
        end: StreamEnd,
    ) -> Result<(), SubscribeMisuse> {
        let Some(stream) = self.streams.ended(id) else {
            return self.check_stream(id);
        };
        if stream.is_ending() {
            return Ok(());
        }
        let failure = match end {
            StreamEnd::Failed(failure) => failure,
            StreamEnd::Done => failure("the server ended the stream"),
        };
        self.interrupted(failure, stream.as_attempt(self.now));
        Ok(())
    }

    /// What is to be done about streams.
    pub(super) fn keep_streams(&mut self) -> bool {
        let (now, keepalive) = (self.now, self.options.keepalive());
        if let Some(id) = self.streams.overdue(now) {
            self.outputs.push_back(SubscribeOutput::DropStream(id));
            return true;
        }
        if self.closing.is_some() || self.is_rest() {
            return false;
        }
        if self.has_room()
            && self.streams.is_silent(now, keepalive)
            && let Some(id) = self.streams.half_close(now)
        {
            self.outputs.push_back(SubscribeOutput::HalfClose(id));
            self.event(SubscribeEvent::Interrupted {
                failure: failure("nothing came on the stream, not even a heartbeat"),
                again_in: std::time::Duration::ZERO,
            });
            return true;
        }
        if let Some(id) = self.streams.due_for_ping(now, keepalive) {
            self.outputs.push_back(SubscribeOutput::Ping(id));
            return true;
        }
        if self.streams.has_current() || !self.asking.may(now) {
            return false;
        }
        let refused = self.asking.begin();
        let ack_deadline = self.stream_ack_deadline();
        let stream = self.streams.open(now, ack_deadline, refused.is_some());
        self.outputs.push_back(SubscribeOutput::OpenStream {
            stream,
            ack_deadline,
            refused,
        });
        true
    }

    /// A stream or a pull failed: another follows, or none does.
    pub(super) fn interrupted(&mut self, failure: CallFailure, attempt: Attempt) {
        match self
            .asking
            .failed(self.now, &failure, attempt, &mut self.rng)
        {
            Next::After(again_in) => {
                self.event(SubscribeEvent::Interrupted { failure, again_in });
            }
            Next::GiveUp => self.give_up(failure.reason),
        }
    }

    fn check_stream(&self, id: StreamId) -> Result<(), SubscribeMisuse> {
        match self.streams.knows(id) {
            true => Ok(()),
            false => Err(SubscribeMisuse::UnknownStream(id)),
        }
    }
}

fn failure(detail: &str) -> CallFailure {
    let (transport, detail) = (TransportKind::Connection, detail.into());
    CallFailure::new(
        CallClass::Transient,
        Reason::Transport { transport, detail },
    )
}
