//! The streams: one that brings messages, and those that are about to end.

use std::time::{Duration, Instant};

use super::asking::Attempt;
use super::io::{StreamAnswer, StreamId};

/// A stream without a word for so many keepalives is dead, once it has shown that its server sends
/// heartbeats.
const SILENT_KEEPALIVES: u32 = 3;
/// How long a stream has to end by itself once our half is closed.
const ENDING: Duration = Duration::from_secs(10);
/// What lived shorter than this, and brought no message, had no success.
const SHORT_LIVED: Duration = Duration::from_secs(1);

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// How long its messages are leased for, in seconds.
    pub(super) ack_deadline: u16,
    began: Instant,
    renewed: bool,
    /// It brought a response, and messages.
    answered: bool,
    brought: bool,
    /// When it brought something, or nothing was read of it.
    heard: Instant,
    /// When something was sent on it.
    spoke: Instant,
    /// Half-closed: when it is dropped.
    ending: Option<Instant>,
}

impl Stream {
    /// How it looks as an attempt to get messages.
    pub(super) fn as_attempt(&self, now: Instant) -> Attempt {
        let lived = now.saturating_duration_since(self.began);
        Attempt {
            began: self.began,
            brought: self.brought || self.answered && lived >= SHORT_LIVED,
            renewed: self.renewed,
        }
    }

    /// Whether our half is closed.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_some()
    }
}

/// A response of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    /// How long its messages are leased for, in seconds.
    pub(super) ack_deadline: u16,
    /// It was the stream's first.
    pub(super) first: bool,
    /// The stream is the one that brings messages.
    pub(super) current: bool,
    /// It has brought a message, or lived for a while.
    pub(super) well: bool,
}

/// The streams.
#[derive(Debug, Default)]
pub(super) struct Streams {
    last: u64,
    current: Option<Stream>,
    /// Each lives for seconds, so there are few.
    ending: Vec<Stream>,
    /// The server sends heartbeats.
    heartbeats: bool,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        usize::from(self.current.is_some()) + self.ending.len()
    }

    /// Whether a stream is there, and has not ended.
    pub(super) fn is_open(&self, id: StreamId) -> bool {
        let mut streams = self.current.iter().chain(&self.ending);
        streams.any(|stream| stream.id == id)
    }

    pub(super) fn has_current(&self) -> bool {
        self.current.is_some()
    }

    /// Whether a stream of that number was ever opened.
    pub(super) fn knows(&self, id: StreamId) -> bool {
        id.0 >= 1 && id.0 <= self.last
    }

    pub(super) fn open(&mut self, now: Instant, ack_deadline: u16, renewed: bool) -> StreamId {
        self.last += 1;
        let id = StreamId(self.last);
        self.current = Some(Stream {
            id,
            ack_deadline,
            began: now,
            renewed,
            answered: false,
            brought: false,
            heard: now,
            spoke: now,
            ending: None,
        });
        id
    }

    /// A stream brought a response. None: it is not there any more.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        id: StreamId,
        answer: &StreamAnswer,
    ) -> Option<Heard> {
        let current = self.current.iter_mut();
        let stream = current
            .chain(&mut self.ending)
            .find(|stream| stream.id == id)?;
        let first = !std::mem::replace(&mut stream.answered, true);
        stream.heard = now;
        stream.brought |= !answer.messages.is_empty();
        self.heartbeats |= answer.messages.is_empty();
        Some(Heard {
            ack_deadline: stream.ack_deadline,
            first,
            current: stream.ending.is_none(),
            well: stream.as_attempt(now).brought,
        })
    }

    /// A stream has ended. None: it was not there any more.
    pub(super) fn ended(&mut self, id: StreamId) -> Option<Stream> {
        if let Some(stream) = self.current.take_if(|stream| stream.id == id) {
            return Some(stream);
        }
        let at = self.ending.iter().position(|stream| stream.id == id)?;
        Some(self.ending.remove(at))
    }

    /// Nothing is read at present: a stream cannot be blamed for its silence.
    pub(super) fn excuse(&mut self, now: Instant) {
        if let Some(stream) = &mut self.current {
            stream.heard = now;
        }
    }

    /// Our half of the current stream is closed.
    pub(super) fn half_close(&mut self, now: Instant) -> Option<StreamId> {
        let mut stream = self.current.take()?;
        stream.ending = Some(now + ENDING);
        let id = stream.id;
        self.ending.push(stream);
        Some(id)
    }

    /// Whether the current stream is dead.
    pub(super) fn is_silent(&self, now: Instant, keepalive: Duration) -> bool {
        self.silent_at(keepalive).is_some_and(|at| at <= now)
    }

    /// The current stream, where something has to be sent on it.
    pub(super) fn due_for_ping(&mut self, now: Instant, keepalive: Duration) -> Option<StreamId> {
        let stream = self.current.as_mut()?;
        if stream.spoke + keepalive > now {
            return None;
        }
        stream.spoke = now;
        Some(stream.id)
    }

    /// A stream that did not end by itself.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<StreamId> {
        let overdue = |stream: &Stream| stream.ending.is_some_and(|at| at <= now);
        let at = self.ending.iter().position(overdue)?;
        Some(self.ending.remove(at).id)
    }

    /// Any stream, to be dropped.
    pub(super) fn take_any(&mut self) -> Option<StreamId> {
        let stream = self.current.take().or_else(|| self.ending.pop());
        stream.map(|stream| stream.id)
    }

    /// When the current stream is kept alive, when it is dead, when one that ends is dropped.
    pub(super) fn timers(&self, keepalive: Duration, reads: bool) -> impl Iterator<Item = Instant> {
        let current = self.current.as_ref();
        let ping = current.map(|stream| stream.spoke + keepalive);
        let silent = self.silent_at(keepalive);
        let ending = self.ending.iter().filter_map(|stream| stream.ending);
        ping.into_iter()
            .chain(silent.filter(|_| reads))
            .chain(ending)
    }

    fn silent_at(&self, keepalive: Duration) -> Option<Instant> {
        let current = self.current.as_ref().filter(|_| self.heartbeats)?;
        Some(current.heard + keepalive * SILENT_KEEPALIVES)
    }
}
