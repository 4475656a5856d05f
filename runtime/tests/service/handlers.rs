//! What handlers take, and what becomes of what they return.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use pubsink_runtime::core::subscribe::{ReceivedMessage, Settlement};
use pubsink_runtime::service::{
    Context, DELIVERY_ATTEMPT, DecodeError, Hook, Json, Outcome, PARTITION_KEY, ServiceEvent,
    handler,
};

use crate::broker::{Broker, SUBSCRIPTION, Script};
use crate::support::{Heard, message, messages, run, serving, sleep, whole};

/// Nothing comes again.
fn once(messages: Vec<ReceivedMessage>) -> Broker {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    Broker::new(script, messages)
}

async fn nothing() {}

async fn some(text: String) -> Settlement {
    match text.as_str() {
        "1" => Settlement::Ack,
        "2" => Settlement::Drop,
        "3" => Settlement::Retry,
        _ => Settlement::RetryAfter(Duration::from_secs(9)),
    }
}

async fn fallible(Json(number): Json<u32>) -> Result<Settlement, fmt::Error> {
    match number {
        1 => Ok(Settlement::Drop),
        _ => Err(fmt::Error),
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_returns_becomes_of_the_message() {
    let broker = once(messages(1));
    run(serving(&broker, nothing)).await;
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);

    let broker = once(messages(4));
    run(serving(&broker, some)).await;
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
    assert_eq!(broker.settlements("2"), [Settlement::Drop]);
    assert_eq!(broker.settlements("3"), [Settlement::Retry]);
    let held = Settlement::RetryAfter(Duration::from_secs(9));
    assert_eq!(broker.settlements("4"), [held]);

    let broker = once(messages(2));
    run(serving(&broker, fallible)).await;
    assert_eq!(broker.settlements("1"), [Settlement::Drop]);
    assert_eq!(broker.settlements("2"), [Settlement::Retry]);

    let broker = once(messages(1));
    let outcome = || async { Outcome::new(Settlement::Drop) };
    run(serving(&broker, outcome)).await;
    assert_eq!(broker.settlements("1"), [Settlement::Drop]);
}

#[tokio::test(start_paused = true)]
async fn an_error_is_reported_with_its_causes() {
    /// Tells its cause where it is asked to, as the error crates do.
    struct Chain;
    impl fmt::Display for Chain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(if f.alternate() {
                "no stock: no shelf"
            } else {
                "no stock"
            })
        }
    }
    let (broker, heard) = (once(messages(1)), Heard::default());
    let fails = || async { Err::<(), _>(Chain) };
    run(serving(&broker, fails).on_event(heard.observer())).await;
    let errors = heard.all(|event| match event {
        ServiceEvent::HandlerFailed { context, error } => {
            Some((context.message_id().to_string(), error.to_string()))
        }
        _ => None,
    });
    assert_eq!(errors, [("1".to_owned(), "no stock: no shelf".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_takes_up_to_three_things_of_a_message() {
    let broker = once(messages(1));
    let seen = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&seen);
    let three = move |context: Context, text: String, Json(number): Json<u32>| {
        *keep.lock().unwrap() = Some((context.message_id().to_string(), text, number));
        async {}
    };
    run(serving(&broker, handler(three))).await;
    let seen = seen.lock().unwrap().take();
    assert_eq!(seen, Some(("1".to_owned(), "1".to_owned(), 1)));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_copied_on_the_way_to_a_handler() {
    let data = Bytes::from(vec![7; 1_000]);
    let at = data.as_ptr() as usize;
    let broker = once(vec![message("1", data)]);
    let look = move |context: Context, bytes: Bytes, whole: Arc<ReceivedMessage>| async move {
        let buffers = [context.data(), &bytes, &whole.data];
        let same = buffers.iter().all(|buffer| buffer.as_ptr() as usize == at);
        same.then_some(()).ok_or("copied")
    };
    run(serving(&broker, look)).await;
    assert_eq!(broker.settlements("1"), [Settlement::Ack]);
}

#[test]
fn attributes_are_headers_and_so_are_ordering_key_and_attempt() {
    let mut plain = message("1", "");
    plain.attributes.insert("z", "last");
    plain.attributes.insert("a", "first");
    let context = Context::new(plain.clone(), SUBSCRIPTION);
    let headers: Vec<_> = context.headers().collect();
    assert_eq!(headers, [("a", "first"), ("z", "last")]);
    assert_eq!(
        (context.header("a"), context.header("A")),
        (Some("first"), None)
    );
    assert_eq!(
        (
            context.header(PARTITION_KEY),
            context.header(DELIVERY_ATTEMPT)
        ),
        (None, None)
    );
    assert_eq!(
        (context.ordering_key(), context.delivery_attempt()),
        (None, None)
    );
    assert_eq!((context.publish_time(), context.attempt()), (None, 1));

    plain.attributes.insert(PARTITION_KEY, "an attribute");
    let context = Context::new(plain.clone(), SUBSCRIPTION);
    assert_eq!(context.header(PARTITION_KEY), Some("an attribute"));

    plain.ordering_key = "customer-7".to_owned();
    plain.delivery_attempt = Some(12);
    plain.publish_time = 1_764_500_000_332;
    let context = Context::new(plain, SUBSCRIPTION);
    let headers: Vec<_> = context.headers().collect();
    let expected = [
        ("a", "first"),
        ("z", "last"),
        ("partition-key", "customer-7"),
        ("pubsub-delivery-attempt", "12"),
    ];
    assert_eq!(headers, expected);
    for (name, value) in expected {
        assert_eq!(context.header(name), Some(value));
    }
    assert_eq!(context.ordering_key(), Some("customer-7"));
    assert_eq!(
        (context.attempt(), context.delivery_attempt()),
        (12, Some(12))
    );
    assert_eq!(context.publish_time(), Some(1_764_500_000_332));
    assert_eq!(context.subscription(), SUBSCRIPTION);
}

#[test]
fn the_trace_of_a_message_is_its_own_or_that_of_googles_libraries() {
    const OWN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const GOOGLES: &str = "00-00000000000000000000000000000001-0000000000000001-01";
    let trace = |attributes: &[(&'static str, &'static str)]| {
        let mut message = message("1", "");
        message.attributes = attributes.iter().copied().collect();
        let trace = Context::new(message, SUBSCRIPTION).trace_context()?;
        Some((
            trace.traceparent().to_owned(),
            trace.tracestate().map(str::to_owned),
        ))
    };
    let both = [
        ("traceparent", OWN),
        ("googclient_traceparent", GOOGLES),
        ("tracestate", "a=1"),
    ];
    assert_eq!(trace(&both), Some((OWN.to_owned(), Some("a=1".to_owned()))));
    assert_eq!(trace(&both[1..]), Some((GOOGLES.to_owned(), None)));
    let broken = [
        ("traceparent", "my password"),
        ("googclient_traceparent", GOOGLES),
    ];
    assert_eq!(trace(&broken), Some((GOOGLES.to_owned(), None)));
    assert_eq!(trace(&broken[..1]), None);
    assert_eq!(trace(&[]), None);
}

#[tokio::test(start_paused = true)]
async fn handlers_run_side_by_side_as_many_as_the_source_hands_out() {
    let script = Script {
        handlers: 3,
        ..Script::default()
    };
    let broker = Broker::new(script, messages(9));
    run(serving(&broker, || sleep(1.0))).await;
    assert_eq!(broker.most_out(), 3);
    let times: Vec<_> = broker.log().into_iter().map(|(at, ..)| whole(at)).collect();
    assert_eq!(times, [1, 1, 1, 2, 2, 2, 3, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_deal_itself_with_what_it_cannot_read() {
    let broker = once(vec![message("1", "{"), message("2", "2")]);
    let lenient = |read: Result<Json<u32>, DecodeError>| async move {
        match read {
            Ok(_) => Settlement::Ack,
            Err(_) => Settlement::Drop,
        }
    };
    run(serving(&broker, lenient)).await;
    assert_eq!(broker.settlements("1"), [Settlement::Drop]);
    assert_eq!(broker.settlements("2"), [Settlement::Ack]);
}

#[tokio::test(start_paused = true)]
async fn a_hooks_claim_stays_a_claim() {
    let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let claim = "urn:ankusa:claim:v1:acme:01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let hook = |body: &str| {
        format!(
            r#"{{"v":1,"id":"h","source_id":"s","received_at":1,"size":0,"sha256":"{sha256}",{body}}}"#
        )
    };
    let inline = message("inline", hook(r#""body_base64":"""#));
    let claimed = message("claimed", hook(&format!(r#""claim":"{claim}""#)));
    let broker = once(vec![inline, claimed]);
    let read = move |hook: Hook| async move {
        match (hook.body(), hook.claim()) {
            (Some(body), None) if body.is_empty() && hook.id == "h" => Settlement::Ack,
            (None, Some(found)) if found.as_str() == claim => Settlement::Drop,
            _ => Settlement::Retry,
        }
    };
    run(serving(&broker, read)).await;
    assert_eq!(broker.settlements("inline"), [Settlement::Ack]);
    assert_eq!(broker.settlements("claimed"), [Settlement::Drop]);
}

#[tokio::test(start_paused = true)]
async fn every_delivery_comes_to_one_word() {
    let (broker, heard) = (once(messages(50)), Heard::default());
    let odd = |Json(number): Json<u32>| async move {
        match number % 5 {
            0 => panic!("five"),
            1 => Err("one"),
            _ => Ok(()),
        }
    };
    let stopped = run(serving(&broker, odd).on_event(heard.observer())).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(
        (broker.log().len(), broker.out(), heard.handled()),
        (50, 0, 50)
    );
}
