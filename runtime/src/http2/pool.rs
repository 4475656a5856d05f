//! The connections of a client, and who may use which.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use h2::client::SendRequest;
use tokio::sync::Notify;

use super::line::{Idle, Line};
use super::origin::Origin;
use crate::seam::TransportError;

/// Streams on one connection, where the server allows as many. Google allows 100.
pub(super) const STREAMS_MAX: usize = 100;

/// A connection from which nothing came for this long is not trusted once somebody has given up
/// waiting on it. Longer than any answer that is under way, shorter than what a stream waits for.
const SILENCE: Duration = Duration::from_secs(10);

/// A connection being made, for all who wait for it; it is given up with the last of them.
pub(super) type Dial = Shared<BoxFuture<'static, Result<(), TransportError>>>;

/// The same as the pool knows it.
struct Dialling {
    dial: WeakShared<BoxFuture<'static, Result<(), TransportError>>>,
    /// When it has taken as long as the one who began it allows. Nobody joins it after that.
    until: Option<Instant>,
}

/// Connections by origin, at most `max` for each.
pub(super) struct Pool {
    max: usize,
    hosts: Mutex<BTreeMap<Origin, Host>>,
    /// Told when there may be room.
    room: Notify,
}

#[derive(Default)]
struct Host {
    connections: Vec<Connection>,
    dialling: Option<Dialling>,
}

struct Connection {
    sender: SendRequest<Bytes>,
    line: Arc<Line>,
}

/// What there is for a request.
pub(super) enum Next {
    Lease(Lease),
    /// It is not waited for any longer than that.
    Dial(Dial, Option<Instant>),
    Full,
}

impl Pool {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            hosts: Mutex::default(),
            room: Notify::new(),
        }
    }

    /// A connection with room, one that is being made, or one that `dial` begins to make, whose
    /// caller has time until `end`.
    pub(super) fn next(
        self: &Arc<Self>,
        origin: &Origin,
        now: Instant,
        end: Option<Instant>,
        dial: impl FnOnce() -> Dial,
    ) -> Next {
        let mut hosts = self.lock();
        if !hosts.contains_key(origin) {
            hosts.retain(|_, host| !host.is_empty());
        }
        let host = hosts.entry(origin.clone()).or_default();
        let dead = host.connections.extract_if(.., |it| !it.is_alive());
        let dead: Vec<_> = dead.collect();
        let next = if let Some(connection) = host.connections.iter().find(|it| it.has_room()) {
            Next::Lease(Lease::new(self, connection))
        } else if let Some((dial, until)) = host.dial(now) {
            Next::Dial(dial, until)
        } else if host.connections.len() < self.max {
            let dial = dial();
            host.dialling = dial.downgrade().map(|dial| Dialling { dial, until: end });
            Next::Dial(dial, end)
        } else {
            Next::Full
        };
        // Dropping a sender wakes its connection's task, which is foreign code.
        drop(hosts);
        drop(dead);
        next
    }

    /// Resolves when there may be room again, counted from when it is enabled.
    pub(super) fn room(&self) -> tokio::sync::futures::Notified<'_> {
        self.room.notified()
    }

    /// Whether there are as many connections as there may be.
    pub(super) fn is_full(&self, origin: &Origin) -> bool {
        let hosts = self.lock();
        hosts
            .get(origin)
            .is_some_and(|host| host.connections.len() >= self.max)
    }

    pub(super) fn add(&self, sender: SendRequest<Bytes>, line: Arc<Line>) {
        let mut hosts = self.lock();
        let host = hosts.entry(line.origin.clone()).or_default();
        host.connections.push(Connection { sender, line });
    }

    pub(super) fn has(&self, line: &Arc<Line>) -> bool {
        let hosts = self.lock();
        let host = hosts.get(&line.origin);
        host.is_some_and(|host| host.position(line).is_some())
    }

    /// Uses a connection for nothing new. What is on it goes on; after that it closes.
    pub(super) fn retire(&self, line: &Arc<Line>) {
        let retired = self.lock().get_mut(&line.origin).and_then(|host| {
            let position = host.position(line)?;
            Some(host.connections.swap_remove(position))
        });
        if retired.is_some() {
            self.room.notify_waiters();
        }
    }

    /// Retires a connection that has been idle for `timeout`. Otherwise says when to look again,
    /// if ever.
    pub(super) fn retire_if_idle(&self, line: &Arc<Line>, timeout: Duration) -> Idle {
        // Under the lock nobody begins to use it.
        let mut hosts = self.lock();
        let idle = line.idle_at(timeout);
        let mut retired = None;
        if idle == Idle::Now
            && let Some(host) = hosts.get_mut(&line.origin)
            && let Some(position) = host.position(line)
        {
            retired = Some(host.connections.swap_remove(position));
        }
        drop(hosts);
        drop(retired);
        idle
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Origin, Host>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    fn is_empty(&self) -> bool {
        let dialling = self.dialling.as_ref();
        let dial = dialling.and_then(|dialling| dialling.dial.upgrade());
        self.connections.is_empty() && dial.is_none()
    }

    /// The connection that is being made.
    fn dial(&self, now: Instant) -> Option<(Dial, Option<Instant>)> {
        let Dialling { dial, until } = self.dialling.as_ref()?;
        // One that is done stays until all who wait for it have heard.
        let dial = dial.upgrade().filter(|dial| dial.peek().is_none())?;
        let is_late = until.is_some_and(|until| until <= now);
        (!is_late).then_some((dial, *until))
    }

    fn position(&self, line: &Arc<Line>) -> Option<usize> {
        let mut connections = self.connections.iter();
        connections.position(|connection| Arc::ptr_eq(&connection.line, line))
    }
}

impl Connection {
    fn is_alive(&mut self) -> bool {
        // It never waits where no request is held back, and none is: leases have their own sender.
        let ready = self
            .sender
            .poll_ready(&mut Context::from_waker(Waker::noop()));
        !matches!(ready, Poll::Ready(Err(_)))
    }

    fn has_room(&self) -> bool {
        let allowed = self.sender.current_max_send_streams().min(STREAMS_MAX);
        self.line.streams() < allowed
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

/// The use of a connection for one request or stream.
pub(super) struct Lease {
    pub(super) sender: SendRequest<Bytes>,
    pool: Arc<Pool>,
    line: Arc<Line>,
    began: u64,
    done: bool,
}

impl Lease {
    fn new(pool: &Arc<Pool>, connection: &Connection) -> Self {
        connection.line.take();
        Self {
            sender: connection.sender.clone(),
            pool: Arc::clone(pool),
            line: Arc::clone(&connection.line),
            began: connection.line.now(),
            done: false,
        }
    }

    /// The answer is there, or what else ends a request in good order.
    pub(super) fn done(&mut self) {
        self.done = true;
    }

    /// No answer came in time. If nothing at all came meanwhile the connection may be dead without
    /// a word, so that nothing else should wait for it.
    pub(super) fn timed_out(&self) {
        if self.line.heard() <= self.began {
            self.pool.retire(&self.line);
        }
    }

    /// Whether nothing has come for long.
    fn is_silent(&self) -> bool {
        let since = self.line.heard().max(self.began);
        Duration::from_micros(self.line.now().saturating_sub(since)) >= SILENCE
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.done && self.is_silent() {
            self.pool.retire(&self.line);
        }
        self.line.release();
        self.pool.room.notify_waiters();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.fmt(f)
    }
}

/// A connection's place in the pool. Dropping it, with the task that runs the connection, takes
/// the connection out.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) pool: Weak<Pool>,
    pub(super) line: Arc<Line>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.retire(&self.line);
        }
    }
}

#[cfg(test)]
mod tests;
