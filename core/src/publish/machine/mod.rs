//! The publisher machine: its state and its two verbs.

mod expiry;
mod fate;
mod outputs;
mod requests;
mod settlement;
mod stopping;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outputs::Outputs;

use super::body::Unsent;
use super::ceilings::Ceilings;
use super::entry::Kind;
use super::flushes::Flushes;
use super::io::{Gauges, Input, Misuse, Output, Step, WaitReason};
use super::job::Job;
use super::request::RequestId;
use super::stopped::StoppedKeys;
use super::waiting::Waiting;
use crate::failure::MessageId;
use crate::options::PublisherOptions;
use crate::reason::Reason;
use crate::token::Token;

/// How long a token provider may take: fetching a token can start a program or cross a network,
/// which takes a second or two, and what takes half a minute never ends.
pub const AUTHORIZE_TIMEOUT: Duration = Duration::from_secs(30);

/// Publishes messages to one topic: the sans-IO machine behind every publisher handle.
///
/// Feed it with [`handle`](Self::handle), then call [`poll`](Self::poll) until it waits. `T` is
/// the caller's mark of a message; each mark comes back exactly once, with its outcome.
#[derive(Debug)]
pub struct Publisher<T> {
    options: Arc<PublisherOptions>,
    /// Whether requests need a token.
    authorize: bool,
    rng: fastrand::Rng,
    /// The latest instant seen: time never goes back.
    now: Option<Instant>,
    ceilings: Ceilings,
    flushes: Flushes<T>,
    waiting: Waiting<T>,
    stopped: StoppedKeys,
    jobs: BTreeMap<u64, Job<T>>,
    /// Jobs with bisected parts that wait for a request, by kind; once for each part.
    parts: [VecDeque<u64>; 2],
    requests: BTreeMap<RequestId, InFlight>,
    /// How many of them are of each kind.
    in_flight: [usize; 2],
    deadlines: BTreeSet<(Instant, RequestId)>,
    next_id: u64,
    closing: Option<Closing>,
    outputs: Outputs<T>,
    /// Messages that were settled and never left, until the next input.
    unsent: Vec<Unsent>,
}

/// A request and what is known of it.
#[derive(Debug)]
struct InFlight {
    job: u64,
    part: Range<usize>,
    deadline: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Waits for its token.
    Authorizing,
    /// Sent with this token.
    Sent(Option<Token>),
    /// Pub/Sub refused this token; a fresh one is asked for.
    Reauthorizing(Token, Reason),
    /// Sent once more, with the fresh token.
    SentAgain,
}

/// The publisher takes nothing more.
#[derive(Debug)]
struct Closing {
    deadline: Option<Instant>,
}

impl<T> Publisher<T> {
    /// A publisher with nothing to do. With `authorize` it asks for a token before each request.
    #[must_use]
    pub fn new(options: Arc<PublisherOptions>, authorize: bool, seed: u64) -> Self {
        Self {
            authorize,
            rng: fastrand::Rng::with_seed(seed),
            now: None,
            ceilings: Ceilings::new(&options),
            flushes: Flushes::new(),
            waiting: Waiting::new(&options),
            stopped: StoppedKeys::new(&options),
            jobs: BTreeMap::new(),
            parts: [VecDeque::new(), VecDeque::new()],
            requests: BTreeMap::new(),
            in_flight: [0, 0],
            deadlines: BTreeSet::new(),
            next_id: 0,
            closing: None,
            outputs: Outputs::new(),
            unsent: Vec::new(),
            options,
        }
    }

    /// Something happened.
    ///
    /// # Errors
    ///
    /// [`Misuse`] when the input does not fit the machine's state. It is ignored then.
    pub fn handle(&mut self, now: Instant, input: Input<T>) -> Result<(), Misuse> {
        let now = self.advance(now);
        // Dropped once the input is dealt with: it may panic.
        let _unsent = self.take_unsent();
        match input {
            Input::Admit { tag, admission } => {
                self.admit(now, tag, admission);
                Ok(())
            }
            Input::Token { request, token } => self.token(now, request, token),
            Input::Response(response) => self.response(now, response),
            Input::Lost { request, detail } => self.lost(request, detail),
            Input::Flush { tag } => {
                self.waiting.flush(now);
                self.flushes.flush(tag);
                self.report_flushes();
                Ok(())
            }
            Input::Resume { key } => {
                self.resume_key(&key);
                Ok(())
            }
            Input::ResumeAll => {
                self.resume_all_keys();
                Ok(())
            }
            Input::Close { deadline } => {
                self.waiting.close();
                // Closed twice, the sooner deadline counts: a handle that is dropped after a
                // bounded shutdown does not unbind it.
                let before = self.closing_deadline();
                let deadline = before.into_iter().chain(deadline).min();
                self.closing = Some(Closing { deadline });
                Ok(())
            }
        }
    }

    /// What to do now, or how long nothing is to be done.
    ///
    /// The wait changes with every input, and with every poll that gave something to do.
    pub fn poll(&mut self, now: Instant) -> Step<Output<T>> {
        let now = self.advance(now);
        if self.outputs.is_empty() {
            self.expire(now);
            self.start_requests(now);
        }
        match self.outputs.pop() {
            Some(output) => Step::Do(output),
            None => {
                self.outputs.shrink();
                self.wait()
            }
        }
    }

    /// What the next [`poll`](Self::poll) would say, where that is [`Output::Settled`] of a stored
    /// message with nothing more to tell: its mark and its id, which are moved less often this way.
    pub fn poll_stored(&mut self) -> Option<(T, MessageId)> {
        self.outputs.pop_stored()
    }

    /// Whether it is closed and everything is settled.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closing.is_some() && self.ceilings.entries() == 0 && self.outputs.is_empty()
    }

    /// What it holds.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        Gauges {
            messages: self.ceilings.entries(),
            bytes: self.ceilings.bytes(),
            waiting: self.waiting.len(),
            requests: self.requests.len(),
            ordering_keys: self.waiting.keys(),
            tenants: self.ceilings.tenants(),
            stopped_keys: self.stopped.len(),
            every_key_stopped: self.stopped.every_key().is_some(),
        }
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Arc<PublisherOptions> {
        &self.options
    }

    fn advance(&mut self, now: Instant) -> Instant {
        let now = self.now.map_or(now, |before| before.max(now));
        self.now = Some(now);
        now
    }

    fn wait(&self) -> Step<Output<T>> {
        if self.is_closed() {
            return Step::Wait(None, WaitReason::Closed);
        }
        let timeout = self.deadlines.first().map(|(due, _)| *due);
        let closing = self.closing_deadline();
        let linger = Kind::ALL
            .into_iter()
            .filter(|kind| self.has_room(*kind))
            .filter_map(|kind| self.waiting.due(kind))
            .min();
        [
            (timeout, WaitReason::Timeout),
            (closing, WaitReason::Closing),
            (linger, WaitReason::Linger),
        ]
        .into_iter()
        .filter_map(|(due, reason)| Some((due?, reason)))
        .min_by_key(|(due, _)| *due)
        .map_or(Step::Wait(None, WaitReason::Input), |(due, reason)| {
            Step::Wait(Some(due), reason)
        })
    }
}
