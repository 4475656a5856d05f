//! What goes into a subscriber machine, and what comes out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::failure::{CallFailure, IdFailure};
use super::message::{AckId, ReceivedMessage};
use super::settlement::{SettleError, Settlement};
use crate::reason::Reason;
use crate::text::Text;
use crate::token::Token;
use crate::wire::subscribe::Unreadable;

/// The number of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(super) u64);

/// The number of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(super) u64);

/// The number of a delivery: one handing of a message to a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub(super) u64);

macro_rules! number {
    ($($id:ty),*) => {
        $(impl $id {
            /// The number itself, for logs.
            #[must_use]
            pub fn number(self) -> u64 {
                self.0
            }
        })*
    };
}

number!(StreamId, CallId, DeliveryId);

impl DeliveryId {
    /// The number of a delivery that another source than the machine makes: a test, or a wire of
    /// one's own.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscribeInput {
    /// A stream brought something. Read the next only while
    /// [`reads`](super::Subscriber::reads) says so.
    Streamed {
        /// The stream.
        stream: StreamId,
        /// What it brought.
        answer: StreamAnswer,
    },
    /// A stream ended, or did not begin.
    Ended {
        /// The stream.
        stream: StreamId,
        /// How.
        end: StreamEnd,
    },
    /// What came of a [`SubscribeOutput::Pull`].
    Pulled {
        /// The call.
        call: CallId,
        /// The messages, or none.
        result: Result<Vec<ReceivedMessage>, CallFailure>,
    },
    /// A stream or a pull brought messages that could not be read. They are counted, told, and left
    /// to their leases: given back, each would come again at once, and again. A dead-letter policy
    /// ends that.
    Unreadable(Vec<Unreadable>),
    /// What came of a [`SubscribeOutput::Acknowledge`] or [`SubscribeOutput::ModifyDeadline`].
    Answered {
        /// The call.
        call: CallId,
        /// What came of it.
        result: Result<(), CallFailure>,
    },
    /// A handler is done with a delivery.
    Settle {
        /// The delivery.
        delivery: DeliveryId,
        /// What is to become of it.
        settlement: Settlement,
    },
    /// Take nothing more: what no handler has yet goes back at once, handlers may end, what they
    /// said is told to Pub/Sub. At the deadline the rest goes back.
    Close {
        /// When to give up. None: every handler gets the time it takes.
        deadline: Option<Instant>,
    },
}

/// One response of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamAnswer {
    /// Messages; none in a heartbeat.
    pub messages: Vec<ReceivedMessage>,
    /// Whether the subscription is exactly-once, where the response says so.
    pub exactly_once: Option<bool>,
    /// Whether it keeps the order of ordering keys, where the response says so.
    pub ordered: Option<bool>,
    /// What became of acks that were sent on the stream.
    pub acks: Confirmations,
    /// What became of deadline changes that were sent on the stream.
    pub deadlines: Confirmations,
}

/// What became of ack ids, one by one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confirmations {
    /// These count.
    pub ok: Vec<AckId>,
    /// These do not.
    pub failed: Vec<(AckId, IdFailure)>,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// With success: we had closed our half.
    Done,
    /// Otherwise: with a status, or its connection broke.
    Failed(CallFailure),
}

/// Something to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum SubscribeOutput {
    /// Open a stream and send its first request, as the options say.
    OpenStream {
        /// Its number.
        stream: StreamId,
        /// How long a message that it brings is leased for, in seconds, 10 to 600: the stream's
        /// own ack deadline, which stands in the place of the subscription's.
        ack_deadline: u16,
        /// The token that was refused, where a fresh one is wanted.
        refused: Option<Token>,
    },
    /// Send an empty request on a stream: a server hangs up on one that is silent.
    Ping(StreamId),
    /// Close our half of a stream. What it brings after that still counts; it ends by itself.
    HalfClose(StreamId),
    /// Drop a stream. Nothing of it is waited for.
    DropStream(StreamId),
    /// Pull, then answer with [`SubscribeInput::Pulled`]. An empty answer can take 90 s and more.
    Pull {
        /// The call.
        call: CallId,
        /// At most so many messages.
        max_messages: u32,
        /// The token that was refused, where a fresh one is wanted.
        refused: Option<Token>,
    },
    /// Acknowledge, then answer with [`SubscribeInput::Answered`].
    Acknowledge {
        /// The call.
        call: CallId,
        /// The leases.
        ids: Vec<AckId>,
        /// The token that was refused, where a fresh one is wanted.
        refused: Option<Token>,
    },
    /// Set the ack deadline of leases, then answer with [`SubscribeInput::Answered`].
    ModifyDeadline {
        /// The call.
        call: CallId,
        /// The leases.
        ids: Vec<AckId>,
        /// Seconds from when it arrives: 0 gives them back, else 10 to 600.
        seconds: u16,
        /// The token that was refused, where a fresh one is wanted.
        refused: Option<Token>,
    },
    /// Stop working on this call. An answer is not waited for.
    Cancel(CallId),
    /// Give this to a handler, and answer with [`SubscribeInput::Settle`].
    Deliver {
        /// Its number.
        delivery: DeliveryId,
        /// The message.
        message: Arc<ReceivedMessage>,
    },
    /// A handler works on what is ours no more. It may go on; its settlement counts only where
    /// the message came again meanwhile.
    LeaseLost {
        /// The delivery.
        delivery: DeliveryId,
        /// Why.
        cause: LeaseLost,
    },
    /// The last word on a delivery: what became of its settlement. On an exactly-once
    /// subscription `Ok` means that Pub/Sub confirmed it.
    Settled {
        /// The delivery.
        delivery: DeliveryId,
        /// What was asked for: [`Settlement::Retry`] where it was given back by the machine.
        settlement: Settlement,
        /// Whether it counts.
        result: Result<(), SettleError>,
    },
    /// Something worth telling.
    Event(SubscribeEvent),
}

/// Why a lease is lost while a handler works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseLost {
    /// It was kept for as long as leases may be
    /// ([`max_lease`](super::SubscriberOptions::max_lease)).
    MaxLease,
    /// Pub/Sub says that it has ended.
    Refused(Text),
    /// It could not be extended in time.
    Expired,
    /// The subscriber is closed and its grace is over.
    Closed,
}

/// Something worth telling.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubscribeEvent {
    /// A stream brought its first response.
    StreamOpened(StreamId),
    /// A stream or a pull failed; another follows.
    Interrupted {
        /// Why.
        failure: CallFailure,
        /// After which pause.
        again_in: Duration,
    },
    /// An acknowledge or a deadline change failed; it is tried again, where it can be.
    CallFailed {
        /// `acknowledge`, `nack` or `extend`.
        what: &'static str,
        /// How many leases it was for.
        ids: usize,
        /// Why.
        failure: CallFailure,
    },
    /// A message came again while it was still in hand. It is not handled twice at a time.
    Redelivered {
        /// Its id.
        message_id: crate::failure::MessageId,
    },
    /// Messages came that could not be read.
    Unreadable(Vec<Unreadable>),
    /// The lease of a message ended that waited for a handler. It is forgotten, and comes again.
    LostWaiting {
        /// Its id.
        message_id: crate::failure::MessageId,
        /// Why.
        cause: LeaseLost,
    },
    /// Nothing but configuration failures for
    /// [`config_patience`](super::SubscriberOptions::config_patience): it closes.
    GaveUp(Arc<Reason>),
}

/// Why a subscriber waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum SubscribeWait {
    /// A lease is extended, or ends, then.
    Lease,
    /// Acks or deadline changes that wait for company leave then.
    Batch,
    /// A held retry is due then, or an ordering key goes on without what it gave back.
    Held,
    /// A stream or pull is tried again, or kept alive, then.
    Stream,
    /// A call has until then.
    Call,
    /// Closing gives up then.
    Closing,
    /// Nothing is due; only an input can change that.
    Input,
    /// It is closed, and every delivery is settled.
    Closed,
}

/// An input that does not fit the machine's state: a bug of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeMisuse {
    /// No such stream was opened.
    #[error("stream {} was never opened", .0.0)]
    UnknownStream(StreamId),
    /// No such call was made.
    #[error("call {} was never made", .0.0)]
    UnknownCall(CallId),
    /// The delivery was never handed out, or was settled before.
    #[error("delivery {} waits for no settlement", .0.0)]
    UnknownDelivery(DeliveryId),
}

/// What a subscriber holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SubscribeGauges {
    /// Messages that are not settled: buffered, with a handler, or held.
    pub outstanding: usize,
    /// Their bytes.
    pub outstanding_bytes: usize,
    /// Of them, with a handler.
    pub handling: usize,
    /// Of them, held for a retry.
    pub held: usize,
    /// Settlements that Pub/Sub has not confirmed yet.
    pub unconfirmed: usize,
    /// Ordering keys with something in hand.
    pub ordering_keys: usize,
    /// Calls in flight.
    pub calls: usize,
    /// Streams that are open, or being opened.
    pub streams: usize,
    /// Whether it holds as much as it may, and asks for no more.
    pub full: bool,
    /// Messages that came, each time they did.
    pub received: u64,
    /// Of them, those that were in hand already.
    pub redelivered: u64,
    /// Messages that came and could not be read. They are not among those received.
    pub unreadable: u64,
}
