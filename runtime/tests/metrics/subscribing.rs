//! Subscriptions that meet everything there is.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::subscribe::{
    Backoff, GiveUp, Settlement, SubscriberOptions, SubscriberOptionsBuilder, Wire,
};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, SendLimits, Transport, TransportError};
use pubsink_runtime::service::{
    BoxError, Context, Outcome, Reply, Service, ServiceEvent, ServiceHandle, handler,
};
use pubsink_runtime::subscribe::{Client, SubscriptionHandle};
use pubsink_runtime::{NoToken, TokenFn, connect, subscribe};
use serde_json::{Value, json};

use crate::ledger::Ledger;
use crate::pubsub::{Pubsub, Pulls, answer, refusal};
use crate::support::{Threads, wait_until, within};

const PULLED: &str = "projects/p/subscriptions/pulled";

const MESSAGES: &str = "pubsink_subscribe_messages_total";
const SETTLED: &str = "pubsink_subscribe_settled_total";
const LOST: &str = "pubsink_subscribe_leases_lost_total";
const REQUESTS: &str = "pubsink_subscribe_requests_total";
const ATTEMPTS: &str = "pubsink_subscribe_attempts_total";
const DURATION: &str = "pubsink_subscribe_attempt_duration_seconds";
const REPLIES: &str = "pubsink_subscribe_replies_total";

/// What each message tells its handler, and what that comes to: what is said of it, how it failed,
/// and what becomes of that.
const CASES: [Case; 14] = [
    ("ack", "ack", "none", "ok"),
    ("ack too", "ack", "none", "ok"),
    ("drop", "drop", "none", "ok"),
    ("retry", "retry", "retry", "ok"),
    ("later", "retry_after", "retry", "ok"),
    ("too late", "retry_after", "retry", "retry_too_late"),
    ("fail", "retry_after", "retry", "ok"),
    ("panic", "retry_after", "panic", "ok"),
    ("decode", "retry_after", "decode", "ok"),
    ("reply", "ack", "none", "ok"),
    ("reply badly", "retry_after", "reply", "ok"),
    ("reply nowhere", "retry_after", "reply", "ok"),
    ("refused", "ack", "none", "lease_lost"),
    ("lost", "ack", "lease_lost", "lease_lost"),
];

type Case = (&'static str, &'static str, &'static str, &'static str);

fn message(what: &str) -> Value {
    let data = match what {
        // A byte that is no text.
        "decode" => "/w==",
        _ => "cGxhbnRlZC1ib2R5",
    };
    json!({"ackId": format!("planted-lease {what}"), "message": {
        "messageId": format!("planted-id {what}"), "data": data, "attributes": {"do": what}}})
}

/// Does what a message tells.
async fn obedient(context: Context, body: String) -> Result<Outcome, BoxError> {
    assert_eq!(body, "planted-body");
    let said = |settlement| Ok(Outcome::new(settlement));
    match context.header("do").unwrap() {
        "drop" => said(Settlement::Drop),
        "retry" => said(Settlement::Retry),
        "later" => said(Settlement::RetryAfter(Duration::from_millis(50))),
        "too late" => said(Settlement::RetryAfter(Duration::from_secs(7_200))),
        "fail" => Err("planted-words".into()),
        "panic" => panic!("planted-words"),
        "hang" => pending().await,
        "lost" => {
            context.lease().lost().await;
            said(Settlement::Ack)
        }
        reply if reply.starts_with("reply") => {
            let badly = reply.ends_with("badly");
            let mut reply = Reply::new("planted-reply").attribute("do", reply.to_owned());
            if badly {
                reply = reply.header("planted-header", b"\xff");
            }
            Ok(Outcome::new(Settlement::Ack).with_reply(reply))
        }
        _ => said(Settlement::Ack),
    }
}

/// Stores replies, but for those that are to go nowhere.
struct Replies;

impl Transport for Replies {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        Ok(match body.contains("nowhere") {
            true => refusal(404, "NOT_FOUND", &json!([])),
            false => answer(200, &json!({"messageIds": ["1"]})),
        })
    }
}

/// A token, but for the first time.
fn tokens() -> TokenFn<impl Fn(Option<Token>) -> Tokened + Send + Sync> {
    let asked = AtomicU32::new(0);
    TokenFn(move |_: Option<Token>| {
        std::future::ready(match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Err(NoToken("planted-words".to_owned())),
            _ => Ok(Token::new("planted-token").unwrap()),
        })
    })
}

type Tokened = std::future::Ready<Result<Token, NoToken>>;

fn options() -> SubscriberOptionsBuilder {
    SubscriberOptions::builder("p", "pulled")
        .wire(Wire::Rest)
        .ack_linger(Duration::from_millis(20))
        .max_outstanding(CASES.len() - 1)
}

fn start(pubsub: &Pubsub, heard: &Heard) -> (SubscriptionHandle, ServiceHandle) {
    let options = options().build().unwrap();
    let client = Client::rest(pubsub.clone());
    let connected = subscribe::connect(options, client, Some(tokens()), Threads, 1);
    let (subscription, driver) = connected.unwrap();
    Threads.spawn(driver);
    // Each is a request of its own.
    let replies = PublisherOptions::builder("p", "replies").batch(false);
    let replies = replies.build().unwrap();
    let (replies, driver) = connect(replies, Threads, Replies, None::<Token>, 1);
    Threads.spawn(driver);
    let backoff = Backoff {
        base: Duration::from_millis(50),
        max_attempts: Some(9),
        give_up: GiveUp::Nack,
        ..Backoff::default()
    };
    let looks = subscription.handle();
    let handler = handler(obedient).reply_to(replies).retry(backoff);
    let service = Service::builder()
        .subscription(subscription, handler)
        .on_event(heard.observer())
        .build()
        .unwrap();
    let (handle, driver) = service.connect(Threads, 1);
    Threads.spawn(async { drop(driver.await) });
    (looks, handle)
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<ServiceEvent>>>);

impl Heard {
    fn observer(&self) -> impl Fn(&ServiceEvent) + Send + Sync + 'static {
        let heard = self.clone();
        move |event| heard.0.lock().unwrap().push(event.clone())
    }

    fn handled(&self) -> usize {
        let heard = self.0.lock().unwrap();
        let handled = heard.iter();
        handled
            .filter(|event| matches!(event, ServiceEvent::Handled { .. }))
            .count()
    }
}

/// Every settlement, every failure of a handling, and every answer over REST.
pub(crate) fn every_message(ledger: &Ledger) {
    let (pubsub, heard) = (Pubsub::default(), Heard::default());
    {
        let mut state = pubsub.0.lock().unwrap();
        state.pulls.extend([
            Pulls::Refuses(503, "UNAVAILABLE", "transient"),
            Pulls::Cut,
            Pulls::Refuses(429, "RESOURCE_EXHAUSTED", "throttled"),
            Pulls::Refuses(403, "PERMISSION_DENIED", "config"),
            Pulls::Refuses(401, "UNAUTHENTICATED", "unauthenticated"),
        ]);
        state.invalid = 1;
    }
    let broken = json!({"ackId": "planted-lease", "message": {"messageId": "b", "data": "!"}});
    let cases = CASES.iter().map(|(what, ..)| message(what));
    let cases = cases.skip(1);
    pubsub.bring(cases.chain([broken]).collect());
    let (looks, service) = start(&pubsub, &heard);
    let all_settled = |count| {
        wait_until("all are handled", || heard.handled() == count);
        wait_until("all are settled", || {
            let gauges = looks.gauges();
            gauges.outstanding + gauges.unconfirmed == 0
        });
    };
    all_settled(CASES.len() - 1);
    pubsub.bring(vec![message(CASES[0].0)]);
    all_settled(CASES.len());
    // One comes again while a handler has it, which is stopped in the end.
    pubsub.bring(vec![message("hang")]);
    wait_until("it has a handler", || looks.gauges().handling == 1);
    pubsub.bring(vec![message("hang")]);
    wait_until("it came again", || looks.gauges().redelivered == 1);
    within(service.shutdown(Duration::from_millis(100)));
    wait_until("it has ended", || !looks.is_alive());

    let counts = |name: &str, labels: &[&str]| {
        let labels: Vec<_> = [PULLED].iter().chain(labels).copied().collect();
        ledger.count(name, &labels)
    };
    for (result, count) in [("new", 15.0), ("redelivered", 1.0), ("unreadable", 1.0)] {
        assert_eq!(counts(MESSAGES, &[result]), count, "{result}");
    }
    assert_eq!(looks.unreadable(), 1);
    let expected = |of: fn(&Case) -> [&'static str; 2]| {
        let mut counts = BTreeMap::<_, u32>::new();
        for case in &CASES {
            *counts.entry(of(case)).or_default() += 1;
        }
        counts
    };
    for (labels, count) in expected(|(_, said, failed, _)| [said, failed]) {
        assert_eq!(counts(ATTEMPTS, &labels), f64::from(count), "{labels:?}");
    }
    assert_eq!(counts(ATTEMPTS, &["abandoned", "none"]), 1.0);
    let durations = ledger.values(DURATION, &[PULLED]);
    assert_eq!(durations.len(), CASES.len());
    let abandoned = ["ok", "closed", "lease_lost", "unconfirmed"];
    for (labels, count) in expected(|(_, said, _, became)| [said, became]) {
        // What was abandoned was given back, too.
        if labels[0] != "retry" {
            assert_eq!(counts(SETTLED, &labels), f64::from(count), "{labels:?}");
        }
    }
    let retried = abandoned.map(|became| counts(SETTLED, &["retry", became]));
    assert_eq!(retried.iter().sum::<f64>(), 2.0);
    assert_eq!(counts(LOST, &["refused"]), 1.0);
    for (labels, count) in [
        (["delivered", "none"], 1.0),
        (["failed", "permanent"], 1.0),
        (["failed", "config"], 1.0),
    ] {
        assert_eq!(counts(REPLIES, &labels), count, "{labels:?}");
    }
    // The first had no token, and never came to be sent.
    assert_eq!(counts(REQUESTS, &["pull", "no_token"]), 1.0);
    wait_until("all pulls have ended", || {
        pubsub.0.lock().unwrap().pulling == 0
    });
    let answered = pubsub.0.lock().unwrap().answered.clone();
    for call in ["acknowledge", "nack", "extend"] {
        assert!(answered.contains_key(&(call, "ok")), "{answered:?}");
    }
    assert!(answered.contains_key(&("acknowledge", "per_id")));
    assert!(answered.contains_key(&("extend", "per_id")));
    assert_eq!(answered[&("acknowledge", "invalid")], 1);
    // Those that waited when it closed.
    assert!(answered[&("pull", "lost")] >= 1);
    for ((call, result), count) in answered {
        let counted = || counts(REQUESTS, &[call, result]);
        wait_until(call, || counted() >= f64::from(count));
        assert_eq!(counted(), f64::from(count), "{call} {result}");
    }
    gauges_were_seen(ledger);
}

fn gauges_were_seen(ledger: &Ledger) {
    let most = u32::try_from(CASES.len()).unwrap().into();
    for (gauge, most) in [
        ("pubsink_subscribe_outstanding_messages", most),
        ("pubsink_subscribe_outstanding_bytes", 10_000.0),
        ("pubsink_subscribe_handling_messages", most),
        ("pubsink_subscribe_held_messages", most),
        ("pubsink_subscribe_unconfirmed_messages", most),
        ("pubsink_subscribe_oldest_message_age_seconds", 30.0),
        ("pubsink_subscribe_full", 1.0),
    ] {
        let values = ledger.values(gauge, &[PULLED]);
        assert_eq!(values.last(), Some(&0.0), "{gauge}");
        let high = values.iter().copied().fold(0.0, f64::max);
        assert!(high > 0.0 && high <= most, "{gauge}: {high}");
    }
}
