//! What the server does, and what the network makes of it.

use pubsink_core::subscribe::{
    AckId, CallFailure, CallId, ReceivedMessage, StreamAnswer, StreamEnd, StreamId, SubscribeInput,
};

use super::{Sim, Stream};
use crate::network::{Fate, Sent, What};
use crate::seen::Request;

impl Sim {
    /// Lets the server send and the machine read; tells whether anything was sent or read.
    pub(super) fn pump(&mut self) -> bool {
        let ids: Vec<_> = self.streams.keys().copied().collect();
        ids.into_iter().any(|id| self.pump_stream(id)) || self.pump_pull()
    }

    pub(super) fn pump_stream(&mut self, id: StreamId) -> bool {
        let reads = self.machine.reads(id);
        let Some(stream) = self.streams.get_mut(&id) else {
            return false;
        };
        if reads && let Some(answer) = stream.unread.pop_front() {
            for message in &answer.messages {
                self.watch.arrived(message);
            }
            let stream = id;
            self.input(SubscribeInput::Streamed { stream, answer });
            return true;
        }
        if stream.unread.is_empty() && stream.coming == 0 && stream.end.is_some() {
            let Some(end) = self.streams.remove(&id).and_then(|stream| stream.end) else {
                return false;
            };
            self.input(SubscribeInput::Ended { stream: id, end });
            return true;
        }
        let idle = stream.unread.is_empty() && stream.coming == 0;
        if !stream.open || !idle || !reads || !self.server.has_messages() {
            return false;
        }
        stream.coming += 1;
        let seconds = stream.ack_deadline;
        let messages = self.server.deliver(self.now, self.stream_batch, seconds);
        self.respond(id, messages);
        true
    }

    pub(super) fn respond(&mut self, id: StreamId, messages: Vec<ReceivedMessage>) {
        let mut answer = StreamAnswer::default();
        answer.messages = messages;
        if self.properties {
            answer.exactly_once = Some(self.server.exactly_once);
            answer.ordered = Some(self.server.ordered);
        }
        self.later(self.latency, move |sim| {
            // None is coming where the stream was cut meanwhile.
            let stream = sim.streams.get_mut(&id);
            if let Some(stream) = stream.filter(|stream| stream.coming > 0) {
                stream.coming -= 1;
                stream.unread.push_back(answer);
            }
        });
    }

    pub(super) fn beat(&mut self, id: StreamId) {
        let Some(every) = self.heartbeat else {
            return;
        };
        self.later(every, move |sim| {
            if let Some(stream) = sim.streams.get_mut(&id).filter(|stream| stream.open) {
                stream.coming += 1;
                sim.respond(id, Vec::new());
                sim.beat(id);
            }
        });
    }

    pub(super) fn pump_pull(&mut self) -> bool {
        let now = self.now;
        let has = self.server.has_messages();
        let ready = self
            .pulls
            .iter()
            .position(|(_, _, until)| has || *until <= now);
        let Some(at) = ready else {
            return false;
        };
        let (call, max, _) = self.pulls.remove(at);
        let messages = self.server.deliver(now, max, self.ack_deadline);
        self.later(self.latency, move |sim| sim.pulled(call, Ok(messages)));
        true
    }

    pub(super) fn pulled(
        &mut self,
        call: CallId,
        result: Result<Vec<ReceivedMessage>, CallFailure>,
    ) {
        // Nobody waits for the answer of a call that was cancelled.
        if self.cancelled.contains(&call) {
            return;
        }
        for message in result.iter().flatten() {
            self.watch.arrived(message);
        }
        self.watch.ended(call, true);
        self.input(SubscribeInput::Pulled { call, result });
    }

    pub(super) fn answered(&mut self, call: CallId, result: Result<(), CallFailure>) {
        if self.cancelled.contains(&call) {
            return;
        }
        let failed = result.as_ref().err();
        if let Some(failure) = failed.filter(|failure| !failure.ids.is_empty()) {
            self.watch.named(call, &failure.ids);
        }
        self.watch.ended(call, result.is_ok());
        self.input(SubscribeInput::Answered { call, result });
    }

    pub(super) fn fate(&mut self, what: What, ids: &[AckId], renewed: bool) -> Fate {
        let at = self.at();
        (self.network)(&Sent {
            at,
            what,
            ids,
            renewed,
        })
    }

    pub(super) fn open(&mut self, id: StreamId, ack_deadline: u16, renewed: bool) {
        self.seen.opened.push((self.at(), ack_deadline, renewed));
        self.seen.asked.push((self.at(), renewed));
        assert!((10..=600).contains(&ack_deadline));
        self.streams.insert(id, Stream::default());
        match self.fate(What::Stream, &[], renewed) {
            Fate::Served(after) | Fate::Slow(after) => self.later(after, move |sim| {
                if let Some(stream) = sim.streams.get_mut(&id)
                    && stream.end.is_none()
                {
                    stream.open = true;
                    stream.ack_deadline = ack_deadline;
                    sim.beat(id);
                }
            }),
            Fate::Fails(after, failure) | Fate::ServedButFails(after, failure) => {
                self.later(after, move |sim| {
                    if let Some(stream) = sim.streams.get_mut(&id) {
                        stream.end = Some(StreamEnd::Failed(failure));
                    }
                });
            }
            Fate::Silent(_) => {}
        }
    }

    pub(super) fn pull(&mut self, call: CallId, max: u32, renewed: bool) {
        self.seen.pulls.push((self.at(), max));
        self.seen.asked.push((self.at(), renewed));
        self.watch.pulled(call, max, &self.machine.gauges());
        let max = usize::try_from(max).unwrap();
        match self.fate(What::Pull, &[], renewed) {
            Fate::Served(after) | Fate::Slow(after) => self.later(after, move |sim| {
                let until = sim.now + sim.pull_waits;
                sim.pulls.push((call, max, until));
            }),
            Fate::Fails(after, failure) | Fate::ServedButFails(after, failure) => {
                self.later(after, move |sim| sim.pulled(call, Err(failure)));
            }
            Fate::Silent(_) => {}
        }
    }

    pub(super) fn request(
        &mut self,
        call: CallId,
        what: What,
        ids: Vec<AckId>,
        seconds: u16,
        renewed: bool,
    ) {
        self.watch.at(self.now);
        self.watch.requested(call, what, &ids, seconds);
        let fate = self.fate(what, &ids, renewed);
        self.seen.requests.push(Request {
            at: self.at(),
            what,
            ids: ids.clone(),
            seconds,
            renewed,
        });
        match fate {
            Fate::Served(after) => self.later(after, move |sim| {
                let result = sim.serve(what, &ids, seconds);
                sim.later(after, move |sim| sim.answered(call, result));
            }),
            Fate::Slow(after) => {
                let result = self.serve(what, &ids, seconds);
                self.later(after, move |sim| sim.answered(call, result));
            }
            Fate::Fails(after, failure) => {
                self.later(after, move |sim| sim.answered(call, Err(failure)));
            }
            Fate::ServedButFails(after, failure) => {
                let _ = self.serve(what, &ids, seconds);
                self.later(after, move |sim| sim.answered(call, Err(failure)));
            }
            Fate::Silent(true) => {
                let _ = self.serve(what, &ids, seconds);
            }
            Fate::Silent(false) => {}
        }
    }

    pub(super) fn serve(
        &mut self,
        what: What,
        ids: &[AckId],
        seconds: u16,
    ) -> Result<(), CallFailure> {
        self.lapse();
        match what {
            What::Ack => self.server.acknowledge(ids),
            _ => self.server.modify(self.now, ids, seconds),
        }
    }
}
