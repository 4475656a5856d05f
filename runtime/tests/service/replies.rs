//! Replies: published, stored, and only then is their message settled.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use pubsink_runtime::core::failure::Class;
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::subscribe::{Backoff, GiveUp, Settlement};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime as _, SendLimits, Transport, TransportError};
use pubsink_runtime::service::{
    BuildError, Context, Json, Outcome, Reply, ReplyError, Service, ServiceEvent, handler,
};
use pubsink_runtime::{Publisher, connect};
use serde_json::{Value, json};

use crate::broker::{Broker, SUBSCRIPTION, Script};
use crate::support::{Heard, Paused, message, messages, run, serving, sleep};

/// A topic for replies that gives these answers first, and then stores, each after half a second.
#[derive(Clone, Default)]
struct Topic {
    refusals: Arc<Mutex<VecDeque<(u16, &'static str)>>>,
    stored: Arc<Mutex<Vec<Value>>>,
}

impl Topic {
    fn refusing(refusals: impl IntoIterator<Item = (u16, &'static str)>) -> Self {
        let topic = Self::default();
        topic.refusals.lock().unwrap().extend(refusals);
        topic
    }

    fn publisher(&self) -> Publisher {
        let options = PublisherOptions::builder("p", "replies").build().unwrap();
        let (publisher, driver) = connect(options, Paused, self.clone(), None::<Token>, 1);
        Paused.spawn(driver);
        publisher
    }

    fn stored(&self) -> Vec<Value> {
        self.stored.lock().unwrap().clone()
    }
}

impl Transport for Topic {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        sleep(0.5).await;
        if let Some((code, status)) = self.refusals.lock().unwrap().pop_front() {
            let document = json!({"error": {"code": code, "status": status, "message": "no"}});
            let mut response = Response::new(document.to_string().into());
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            return Ok(response);
        }
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let ids: Vec<_> = (0..messages.len()).map(|id| id.to_string()).collect();
        self.stored.lock().unwrap().extend(messages.clone());
        Ok(Response::new(json!({"messageIds": ids}).to_string().into()))
    }
}

async fn double(Json(number): Json<u32>) -> Result<Reply, serde_json::Error> {
    let reply = Reply::json(&(number * 2))?;
    Ok(reply
        .header("from", number.to_string())
        .ordering_key("sums"))
}

#[tokio::test(start_paused = true)]
async fn a_message_is_acked_once_its_reply_is_stored() {
    let (broker, topic) = (
        Broker::new(Script::default(), messages(1)),
        Topic::default(),
    );
    let stopped = run(serving(
        &broker,
        handler(double).reply_to(topic.publisher()),
    ))
    .await;
    assert!(stopped.is_clean(), "{stopped:?}");
    let log = broker.log();
    assert!(
        log[0].0 >= 0.5,
        "it was acked before the reply was stored: {log:?}"
    );
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
    let attributes = json!({"content_type": "application/json", "from": "1"});
    let expected = json!({"data": "Mg==", "attributes": attributes, "orderingKey": "sums"});
    assert_eq!(topic.stored(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_reply_publishes_nothing_and_a_settlement_may_come_with_one() {
    let (broker, topic) = (
        Broker::new(Script::default(), messages(2)),
        Topic::default(),
    );
    let odd = |Json(number): Json<u32>| async move { (number % 2 == 1).then(|| Reply::new("odd")) };
    run(serving(&broker, handler(odd).reply_to(topic.publisher()))).await;
    assert_eq!(topic.stored(), [json!({"data": "b2Rk"})]);
    assert_eq!(broker.settlements("2"), [Settlement::Ack]);

    let broker = Broker::new(Script::default(), messages(1));
    let refuse = || async { (Settlement::Drop, Reply::new("no")) };
    run(serving(
        &broker,
        handler(refuse).reply_to(topic.publisher()),
    ))
    .await;
    assert_eq!(broker.settlements("1"), [Settlement::Drop]);
    assert_eq!(topic.stored().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_answers_503_twice_gets_the_reply_before_the_message_is_acked() {
    let topic = Topic::refusing([(503, "UNAVAILABLE"); 2]);
    let (broker, heard) = (
        Broker::new(Script::default(), messages(1)),
        Heard::default(),
    );
    let replying = handler(double).reply_to(topic.publisher());
    run(serving(&broker, replying).on_event(heard.observer())).await;
    let settlements = broker.settlements("1");
    let [
        Settlement::RetryAfter(_),
        Settlement::RetryAfter(_),
        Settlement::Ack,
    ] = settlements[..]
    else {
        panic!("{settlements:?}");
    };
    assert_eq!((topic.stored().len(), broker.nacks()), (1, 2));
    let failed = heard.all(|event| match event {
        ServiceEvent::ReplyFailed {
            error: ReplyError::Publish(failure),
            ..
        } => Some(matches!(failure.class, Class::RetryAfter(_))),
        _ => None,
    });
    assert_eq!(failed, [true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_is_not_there_makes_no_hot_loop() {
    let topic = Topic::refusing(vec![(404, "NOT_FOUND"); 1_000]);
    let (broker, publisher) = (
        Broker::new(Script::default(), messages(1)),
        topic.publisher(),
    );
    let service = serving(&broker, handler(double).reply_to(publisher))
        .build()
        .unwrap();
    service.run_until(Paused, 1, sleep(300.0)).await;
    let settlements = broker.settlements("1");
    // After 1, 2, 4, 8, 16, 32 and then 60 s, a fifth less at the least.
    assert!((8..=13).contains(&settlements.len()), "{settlements:?}");
    let held = settlements.iter().map(|settlement| match settlement {
        Settlement::RetryAfter(pause) => pause.as_secs_f64(),
        other => panic!("{other:?}"),
    });
    let held: Vec<_> = held.collect();
    assert!(held[0] >= 0.8 && held[5] >= 25.0, "{held:?}");
    assert!(topic.stored().is_empty());
}

/// Two attempts, and then the message is dropped.
fn dropping() -> Backoff {
    Backoff {
        max_attempts: Some(2),
        give_up: GiveUp::Drop,
        jitter_percent: 0,
        max: Duration::from_secs(4),
        ..Backoff::default()
    }
}

#[tokio::test(start_paused = true)]
async fn no_message_is_dropped_because_its_reply_was_not_stored() {
    let topic = Topic::refusing([(404, "NOT_FOUND"); 5]);
    let (broker, heard) = (
        Broker::new(Script::default(), messages(1)),
        Heard::default(),
    );
    let replying = handler(double).reply_to(topic.publisher());
    run(serving(&broker, replying.retry(dropping())).on_event(heard.observer())).await;
    let held = |seconds| Settlement::RetryAfter(Duration::from_secs(seconds));
    let pauses = [held(1), held(2), held(4), held(4), held(4)];
    let expected: Vec<_> = pauses.into_iter().chain([Settlement::Ack]).collect();
    assert_eq!(broker.settlements("1"), expected);
    assert_eq!(topic.stored().len(), 1);
    // Its policy never gave it up.
    let gave_up = heard.all(|event| matches!(event, ServiceEvent::GaveUp { .. }).then_some(()));
    assert_eq!(gave_up, []);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_after_that_is_given_up_by_its_policy() {
    let topic = Topic::refusing([(404, "NOT_FOUND")]);
    let broker = Broker::new(Script::default(), messages(1));
    let second = |context: Context| async move {
        match context.attempt() {
            1 => Ok(Reply::new("x")),
            _ => Err("no"),
        }
    };
    let replying = handler(second).reply_to(topic.publisher());
    run(serving(&broker, replying.retry(dropping()))).await;
    let first = Settlement::RetryAfter(Duration::from_secs(1));
    assert_eq!(broker.settlements("1"), [first, Settlement::Drop]);
    assert!(topic.stored().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_topic_asks_for_is_kept() {
    let topic = Topic::refusing([(503, "UNAVAILABLE")]);
    let (broker, publisher) = (
        Broker::new(Script::default(), messages(1)),
        topic.publisher(),
    );
    let quick = Backoff {
        base: Duration::ZERO,
        ..Backoff::default()
    };
    run(serving(
        &broker,
        handler(double).reply_to(publisher).retry(quick),
    ))
    .await;
    let Settlement::RetryAfter(pause) = broker.settlements("1")[0] else {
        panic!("{:?}", broker.settlements("1"));
    };
    // The draw of a throttled publish is at least a millisecond.
    assert!(!pause.is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_header_that_is_no_text_fails_the_reply_and_names_it() {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    let (broker, topic, heard) = (
        Broker::new(script, messages(1)),
        Topic::default(),
        Heard::default(),
    );
    let bad = || async {
        Reply::new("x")
            .header("first", b"\xE9")
            .header("second", b"\xFF")
    };
    let replying = handler(bad).reply_to(topic.publisher());
    run(serving(&broker, replying).on_event(heard.observer())).await;
    let errors = heard.all(|event| match event {
        ServiceEvent::ReplyFailed { error, .. } => Some(error),
        _ => None,
    });
    let header = "first".into();
    assert_eq!(errors, [ReplyError::NotText { header }]);
    assert!(matches!(
        broker.settlements("1")[..],
        [Settlement::RetryAfter(_)]
    ));
    assert!(topic.stored().is_empty());
}

#[test]
fn a_handler_that_may_reply_needs_a_publisher_before_it_runs() {
    fn refused<M>(handler: impl pubsink_runtime::service::IntoHandler<M>) {
        let source = Broker::new(Script::default(), []);
        let built = Service::builder().subscription(source, handler).build();
        assert_eq!(
            built.unwrap_err(),
            BuildError::NoReplyTo(SUBSCRIPTION.into())
        );
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    refused(double);
    refused(handler(|| async { Reply::new("x") }));
    refused(|| async { None::<Reply> });
    refused(|| async { Err::<(Settlement, Reply), _>("no") });
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_could_not_be_foreseen_is_an_error_of_its_message() {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    let (broker, heard) = (Broker::new(script, messages(1)), Heard::default());
    let sly = || async { Outcome::new(Settlement::Ack).with_reply(Reply::new("x")) };
    run(serving(&broker, sly).on_event(heard.observer())).await;
    assert!(matches!(
        broker.settlements("1")[..],
        [Settlement::RetryAfter(_)]
    ));
    let errors = heard.all(|event| match event {
        ServiceEvent::ReplyFailed { error, .. } => Some(error),
        _ => None,
    });
    assert_eq!(errors, [ReplyError::NoPublisher]);
}

#[tokio::test(start_paused = true)]
async fn a_blank_reply_is_refused_by_name() {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    let (broker, heard) = (Broker::new(script, [message("1", "")]), Heard::default());
    let blank = || async { Reply::new("") };
    let topic = Topic::default();
    let replying = handler(blank).reply_to(topic.publisher());
    run(serving(&broker, replying).on_event(heard.observer())).await;
    let errors = heard.all(|event| match event {
        ServiceEvent::ReplyFailed { error, .. } => Some(error.to_string()),
        _ => None,
    });
    assert!(
        errors[0].contains("neither data nor attributes"),
        "{errors:?}"
    );
}

#[test]
fn a_replys_data_is_handed_over_and_its_debug_form_holds_none() {
    let data = Bytes::from(vec![b'x'; 100]);
    let at = data.as_ptr();
    let reply = Reply::new(data).attribute("token", "hunter2");
    assert_eq!(reply.data().as_ptr(), at);
    let shown = format!("{reply:?}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("xx"),
        "{shown}"
    );
}
