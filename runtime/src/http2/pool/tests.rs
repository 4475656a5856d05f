//! What the cases of the runtimes cannot wait for: silence and idleness, on a clock of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use tokio::io::DuplexStream;

use super::*;

/// A connection's protocol, and the server's end of it. Nothing runs it: what counts here is its
/// place.
type Protocol = (h2::client::Connection<DuplexStream>, DuplexStream);

struct World {
    pool: Arc<Pool>,
    origin: Origin,
    start: Instant,
    seconds: Arc<AtomicU64>,
    protocols: Vec<Protocol>,
}

impl World {
    fn new() -> Self {
        Self {
            pool: Arc::new(Pool::new(2)),
            origin: Origin {
                tls: false,
                host: "h".to_owned(),
                port: 80,
            },
            start: Instant::now(),
            seconds: Arc::default(),
            protocols: Vec::new(),
        }
    }

    /// A connection that is in the pool.
    fn connect(&mut self) -> Arc<Line> {
        let (ours, theirs) = tokio::io::duplex(64);
        let handshake = h2::client::Builder::new().handshake(ours).now_or_never();
        let (sender, protocol) = handshake.unwrap().unwrap();
        self.protocols.push((protocol, theirs));
        let (start, seconds) = (self.start, Arc::clone(&self.seconds));
        let clock = move || start + Duration::from_secs(seconds.load(Ordering::SeqCst));
        let line = Arc::new(Line::new(self.origin.clone(), clock));
        self.pool.add(sender, Arc::clone(&line));
        line
    }

    fn pass(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }

    fn lease(&self) -> Lease {
        match self.next() {
            Next::Lease(lease) => lease,
            Next::Dial(..) | Next::Full => panic!("no connection has room"),
        }
    }

    fn next(&self) -> Next {
        let now = self.start + Duration::from_secs(self.seconds.load(Ordering::SeqCst));
        let dial = || std::future::pending().boxed().shared();
        self.pool.next(&self.origin, now, Some(now + SILENCE), dial)
    }
}

#[test]
fn one_that_was_given_up_in_silence_is_retired() {
    let mut world = World::new();
    let line = world.connect();
    // Not for long enough.
    let lease = world.lease();
    world.pass(9);
    drop(lease);
    assert!(world.pool.has(&line));
    // Something came.
    let lease = world.lease();
    world.pass(9);
    line.hear();
    world.pass(9);
    drop(lease);
    assert!(world.pool.has(&line));
    // It ended in good order.
    let mut lease = world.lease();
    world.pass(60);
    lease.done();
    drop(lease);
    assert!(world.pool.has(&line));
    // The silence of before does not count.
    drop(world.lease());
    assert!(world.pool.has(&line));
    let lease = world.lease();
    world.pass(10);
    drop(lease);
    assert!(!world.pool.has(&line));
    assert_eq!(line.streams(), 0);
}

#[test]
fn one_on_which_a_timeout_saw_nothing_is_retired() {
    let mut world = World::new();
    let line = world.connect();
    let lease = world.lease();
    world.pass(1);
    line.hear();
    lease.timed_out();
    assert!(world.pool.has(&line));
    drop(lease);
    let (lease, other) = (world.lease(), world.lease());
    lease.timed_out();
    assert!(!world.pool.has(&line));
    // What else is on it goes on.
    assert_eq!(line.streams(), 2);
    drop((lease, other));
}

#[test]
fn an_idle_one_is_retired_and_one_in_use_is_not() {
    let timeout = Duration::from_secs(60);
    let mut world = World::new();
    let line = world.connect();
    let look = |world: &World| world.pool.retire_if_idle(&line, timeout);
    assert_eq!(look(&world), Idle::At(world.start + timeout));
    let mut lease = world.lease();
    world.pass(100);
    lease.done();
    assert_eq!(
        look(&world),
        Idle::At(world.start + Duration::from_secs(160))
    );
    drop(lease);
    world.pass(59);
    assert_eq!(
        look(&world),
        Idle::At(world.start + Duration::from_secs(160))
    );
    assert!(world.pool.has(&line));
    world.pass(1);
    assert_eq!(look(&world), Idle::Now);
    assert!(!world.pool.has(&line));
    let never = world.connect();
    assert_eq!(
        world.pool.retire_if_idle(&never, Duration::MAX),
        Idle::Never
    );
}

#[test]
fn a_connection_that_is_being_made_is_joined_while_there_is_time() {
    let world = World::new();
    let Next::Dial(first, _) = world.next() else {
        panic!("there is none yet")
    };
    world.pass(9);
    let Next::Dial(joined, _) = world.next() else {
        panic!("there is none yet")
    };
    assert!(first.ptr_eq(&joined));
    world.pass(1);
    let Next::Dial(other, _) = world.next() else {
        panic!("there is none yet")
    };
    assert!(!first.ptr_eq(&other));
    // Given up with the last who waits for it.
    drop(other);
    let Next::Dial(another, _) = world.next() else {
        panic!("there is none yet")
    };
    assert_eq!(another.strong_count(), Some(1));
}

#[test]
fn there_are_no_more_than_there_may_be() {
    let mut world = World::new();
    let (first, second) = (world.connect(), world.connect());
    let leases: Vec<_> = (0..2 * STREAMS_MAX).map(|_| world.lease()).collect();
    assert_eq!(
        (first.streams(), second.streams()),
        (STREAMS_MAX, STREAMS_MAX)
    );
    assert!(matches!(world.next(), Next::Full));
    assert!(world.pool.is_full(&world.origin));
    let mut room = std::pin::pin!(world.pool.room());
    room.as_mut().enable();
    drop(leases);
    assert!(room.now_or_never().is_some());
    assert!(matches!(world.next(), Next::Lease(_)));
}

#[test]
fn one_that_broke_is_not_given_out() {
    let mut world = World::new();
    let line = world.connect();
    // Its server is gone.
    let (mut protocol, theirs) = world.protocols.pop().unwrap();
    drop(theirs);
    assert!((&mut protocol).now_or_never().is_some());
    assert!(matches!(world.next(), Next::Dial(..)));
    assert!(!world.pool.has(&line));
}

#[test]
fn its_place_ends_with_its_task() {
    let mut world = World::new();
    let line = world.connect();
    let place = Place {
        pool: Arc::downgrade(&world.pool),
        line: Arc::clone(&line),
    };
    assert!(world.pool.has(&line));
    drop(place);
    assert!(!world.pool.has(&line));
}
