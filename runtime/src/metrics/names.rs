//! Every metric there is. Documentation, dashboard and alerts are tested against this list.
//!
//! Labels are bounded: topics, sinks and subscriptions by the configuration, everything else by the code. What
//! comes with a hook or a message (source, tenant, key, id) is never one.

use ::metrics::Unit;

use super::metric::Metric;

/// From a fast local server to the longest timeouts.
const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// From what takes no time to the longest that a message is kept by default.
const HANDLER_SECONDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0,
    3_600.0,
];
/// Up to Pub/Sub's own limit on the messages of a request.
const MESSAGES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];
/// Up to Pub/Sub's own limit on the body of a request.
const BYTES: &[f64] = &[
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    10_485_760.0,
];

const TOPIC: &[&str] = &["topic"];
const SINK: &[&str] = &["sink"];
const SUBSCRIPTION: &[&str] = &["subscription"];

pub(super) static PUBLISH_MESSAGES: Metric = Metric::counter(
    "pubsink_publish_messages_total",
    &["topic", "outcome", "class"],
    "Messages whose outcome is known. Those refused for want of room are counted apart.",
);
pub(super) static PUBLISH_REQUESTS: Metric = Metric::counter(
    "pubsink_publish_requests_total",
    &["topic", "result"],
    "Publish requests, by what came of them.",
);
pub(super) static PUBLISH_REQUEST_DURATION: Metric = Metric::histogram(
    "pubsink_publish_request_duration_seconds",
    TOPIC,
    "From the start of a publish request to its reply, or to its failure.",
    SECONDS,
)
.in_unit(Unit::Seconds);
pub(super) static PUBLISH_BATCH_MESSAGES: Metric = Metric::histogram(
    "pubsink_publish_batch_messages",
    TOPIC,
    "Messages of a publish request.",
    MESSAGES,
)
.in_unit(Unit::Count);
pub(super) static PUBLISH_BATCH_BYTES: Metric = Metric::histogram(
    "pubsink_publish_batch_bytes",
    TOPIC,
    "Bytes of a publish request's body, as sent.",
    BYTES,
)
.in_unit(Unit::Bytes);
pub(super) static PUBLISH_REFUSED: Metric = Metric::counter(
    "pubsink_publish_refused_total",
    &["topic", "ceiling"],
    "Messages refused at once because the publisher held as much as it may.",
);
pub(super) static PUBLISH_QUEUE_MESSAGES: Metric = Metric::gauge(
    "pubsink_publish_queue_messages",
    TOPIC,
    "Messages admitted and not settled.",
);
pub(super) static PUBLISH_QUEUE_BYTES: Metric = Metric::gauge(
    "pubsink_publish_queue_bytes",
    TOPIC,
    "Bytes of the messages admitted and not settled.",
)
.in_unit(Unit::Bytes);
pub(super) static PUBLISH_REQUESTS_IN_FLIGHT: Metric = Metric::gauge(
    "pubsink_publish_requests_in_flight",
    TOPIC,
    "Publish requests that are being authorized or sent.",
);
pub(super) static PUBLISH_ORDERING_KEYS: Metric = Metric::gauge(
    "pubsink_publish_ordering_keys",
    TOPIC,
    "Ordering keys with something waiting or in flight.",
);
pub(super) static PUBLISH_STOPPED_KEYS: Metric = Metric::gauge(
    "pubsink_publish_stopped_keys",
    TOPIC,
    "Ordering keys that are stopped after a failure, until they are resumed.",
);
pub(super) static CONFIG_ERRORS: Metric = Metric::counter(
    "ankusa_dispatch_config_errors_total",
    SINK,
    "Hooks that became dead letters for something the operator has to mend: rights, credentials, \
     a topic that does not exist. Mend it, then replay them.",
);
pub(super) static DISPATCH_ATTEMPTS: Metric = Metric::counter(
    "pubsink_dispatch_attempts_total",
    &["sink", "outcome", "class"],
    "Attempts that ended. One that was stopped took longer than its time, or was given up while \
     closing.",
);
pub(super) static DISPATCH_ATTEMPT_DURATION: Metric = Metric::histogram(
    "pubsink_dispatch_attempt_duration_seconds",
    SINK,
    "From the start of an attempt to the sink's answer. One that was stopped is not in it.",
    SECONDS,
)
.in_unit(Unit::Seconds);
pub(super) static DISPATCH_SETTLED: Metric = Metric::counter(
    "pubsink_dispatch_settled_total",
    &["sink", "outcome", "error_class"],
    "Rows that are done with: delivered, or a dead letter.",
);
pub(super) static DISPATCH_RETRIES: Metric = Metric::counter(
    "pubsink_dispatch_retries_total",
    &["sink", "class"],
    "Failed attempts that are followed by another.",
);
pub(super) static DISPATCH_BREAKER_TRANSITIONS: Metric = Metric::counter(
    "pubsink_dispatch_breaker_transitions_total",
    &["sink", "state"],
    "How often a sink's breaker came into a state.",
);
pub(super) static DISPATCH_BREAKER_STATE: Metric = Metric::gauge(
    "pubsink_dispatch_breaker_state",
    SINK,
    "Where a sink's breaker stands: 0 closed, 1 probing, 2 open.",
);
pub(super) static DISPATCH_ENQUEUED: Metric = Metric::counter(
    "pubsink_dispatch_enqueued_total",
    &["result"],
    "Hooks handed over, by what became of that.",
);
pub(super) static DISPATCH_JOURNAL_ERRORS: Metric = Metric::counter(
    "pubsink_dispatch_journal_errors_total",
    &["call"],
    "Calls of the dispatcher to its journal that failed.",
);
pub(super) static CLAIM_CHECK_INS: Metric = Metric::counter(
    "ankusa_claim_check_ins_total",
    &["result"],
    "Bodies handed to the claim store, by what became of that.",
);
pub(super) static DISPATCH_OLDEST_DUE_AGE: Metric = Metric::gauge(
    "pubsink_dispatch_oldest_due_age_seconds",
    &[],
    "How long the row has been due that waits longest to be claimed; 0 where none waits.",
)
.in_unit(Unit::Seconds);
pub(super) static DISPATCH_INTAKE_HOOKS: Metric = Metric::gauge(
    "pubsink_dispatch_intake_hooks",
    &[],
    "Hooks on their way to the journal.",
);
pub(super) static DISPATCH_CLAIMED_ROWS: Metric = Metric::gauge(
    "pubsink_dispatch_claimed_rows",
    &[],
    "Rows that are claimed.",
);
pub(super) static DISPATCH_CLAIMED_BYTES: Metric = Metric::gauge(
    "pubsink_dispatch_claimed_bytes",
    &[],
    "Bytes of the rows that are claimed.",
)
.in_unit(Unit::Bytes);
pub(super) static DISPATCH_ATTEMPTS_IN_FLIGHT: Metric = Metric::gauge(
    "pubsink_dispatch_attempts_in_flight",
    &[],
    "Attempts under way.",
);
pub(super) static DISPATCH_UNRECORDED_ROWS: Metric = Metric::gauge(
    "pubsink_dispatch_unrecorded_rows",
    &[],
    "Rows whose outcome the journal has not kept yet.",
);
pub(super) static DISPATCH_LANES: Metric = Metric::gauge(
    "pubsink_dispatch_lanes",
    &[],
    "Queues that have rows, claimed or not.",
);
pub(super) static DISPATCH_OPEN_BREAKERS: Metric = Metric::gauge(
    "pubsink_dispatch_open_breakers",
    &[],
    "Sinks whose breaker is not closed.",
);

pub(super) static SUBSCRIBE_MESSAGES: Metric = Metric::counter(
    "pubsink_subscribe_messages_total",
    &["subscription", "result"],
    "Messages that came, each time they did: new, again while they were in hand, or none that can \
     be read.",
);
pub(super) static SUBSCRIBE_SETTLED: Metric = Metric::counter(
    "pubsink_subscribe_settled_total",
    &["subscription", "settlement", "result"],
    "Deliveries whose settlement is known to count, or not to.",
);
pub(super) static SUBSCRIBE_LEASES_LOST: Metric = Metric::counter(
    "pubsink_subscribe_leases_lost_total",
    &["subscription", "cause"],
    "Leases that ended while a handler worked, or before one did. Somebody else gets the message.",
);
pub(super) static SUBSCRIBE_REQUESTS: Metric = Metric::counter(
    "pubsink_subscribe_requests_total",
    &["subscription", "call", "result"],
    "Streams that ended and calls that were answered, by what came of them.",
);
pub(super) static SUBSCRIBE_ATTEMPTS: Metric = Metric::counter(
    "pubsink_subscribe_attempts_total",
    &["subscription", "outcome", "error_class"],
    "Handlings of a service that ended, by what was said of the message and how it failed.",
);
pub(super) static SUBSCRIBE_ATTEMPT_DURATION: Metric = Metric::histogram(
    "pubsink_subscribe_attempt_duration_seconds",
    SUBSCRIPTION,
    "From the start of a handling to its settlement: layers, handler and reply. One that was \
     abandoned is not in it.",
    HANDLER_SECONDS,
)
.in_unit(Unit::Seconds);
pub(super) static SUBSCRIBE_REPLIES: Metric = Metric::counter(
    "pubsink_subscribe_replies_total",
    &["subscription", "outcome", "class"],
    "Replies of handlers, published or not.",
);
pub(super) static SUBSCRIBE_OUTSTANDING_MESSAGES: Metric = Metric::gauge(
    "pubsink_subscribe_outstanding_messages",
    SUBSCRIPTION,
    "Messages that are not settled: they wait, are with a handler, or are held.",
);
pub(super) static SUBSCRIBE_OUTSTANDING_BYTES: Metric = Metric::gauge(
    "pubsink_subscribe_outstanding_bytes",
    SUBSCRIPTION,
    "Bytes of the messages that are not settled.",
)
.in_unit(Unit::Bytes);
pub(super) static SUBSCRIBE_HANDLING_MESSAGES: Metric = Metric::gauge(
    "pubsink_subscribe_handling_messages",
    SUBSCRIPTION,
    "Messages with a handler.",
);
pub(super) static SUBSCRIBE_HELD_MESSAGES: Metric = Metric::gauge(
    "pubsink_subscribe_held_messages",
    SUBSCRIPTION,
    "Messages that are held for a retry.",
);
pub(super) static SUBSCRIBE_UNCONFIRMED_MESSAGES: Metric = Metric::gauge(
    "pubsink_subscribe_unconfirmed_messages",
    SUBSCRIPTION,
    "Messages whose ack or nack Pub/Sub has not confirmed yet.",
);
pub(super) static SUBSCRIBE_OLDEST_MESSAGE_AGE: Metric = Metric::gauge(
    "pubsink_subscribe_oldest_message_age_seconds",
    SUBSCRIPTION,
    "How long the message has been in hand that is there for longest; 0 where there is none.",
)
.in_unit(Unit::Seconds);
pub(super) static SUBSCRIBE_FULL: Metric = Metric::gauge(
    "pubsink_subscribe_full",
    SUBSCRIPTION,
    "1 while it holds as much as it may, and asks for no more; else 0.",
);

/// Every metric, the publisher's first.
pub static ALL: [&Metric; 43] = [
    &PUBLISH_MESSAGES,
    &PUBLISH_REQUESTS,
    &PUBLISH_REQUEST_DURATION,
    &PUBLISH_BATCH_MESSAGES,
    &PUBLISH_BATCH_BYTES,
    &PUBLISH_REFUSED,
    &PUBLISH_QUEUE_MESSAGES,
    &PUBLISH_QUEUE_BYTES,
    &PUBLISH_REQUESTS_IN_FLIGHT,
    &PUBLISH_ORDERING_KEYS,
    &PUBLISH_STOPPED_KEYS,
    &CONFIG_ERRORS,
    &DISPATCH_ATTEMPTS,
    &DISPATCH_ATTEMPT_DURATION,
    &DISPATCH_SETTLED,
    &DISPATCH_RETRIES,
    &DISPATCH_BREAKER_TRANSITIONS,
    &DISPATCH_BREAKER_STATE,
    &DISPATCH_ENQUEUED,
    &DISPATCH_JOURNAL_ERRORS,
    &CLAIM_CHECK_INS,
    &DISPATCH_OLDEST_DUE_AGE,
    &DISPATCH_INTAKE_HOOKS,
    &DISPATCH_CLAIMED_ROWS,
    &DISPATCH_CLAIMED_BYTES,
    &DISPATCH_ATTEMPTS_IN_FLIGHT,
    &DISPATCH_UNRECORDED_ROWS,
    &DISPATCH_LANES,
    &DISPATCH_OPEN_BREAKERS,
    &SUBSCRIBE_MESSAGES,
    &SUBSCRIBE_SETTLED,
    &SUBSCRIBE_LEASES_LOST,
    &SUBSCRIBE_REQUESTS,
    &SUBSCRIBE_ATTEMPTS,
    &SUBSCRIBE_ATTEMPT_DURATION,
    &SUBSCRIBE_REPLIES,
    &SUBSCRIBE_OUTSTANDING_MESSAGES,
    &SUBSCRIBE_OUTSTANDING_BYTES,
    &SUBSCRIBE_HANDLING_MESSAGES,
    &SUBSCRIBE_HELD_MESSAGES,
    &SUBSCRIBE_UNCONFIRMED_MESSAGES,
    &SUBSCRIBE_OLDEST_MESSAGE_AGE,
    &SUBSCRIBE_FULL,
];
