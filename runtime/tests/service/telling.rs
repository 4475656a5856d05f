//! What a service tells a log and an observer: which message it is about and how it ended, and
//! never what is in it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use pubsink_runtime::core::subscribe::{LeaseLost, ReceivedMessage, Settlement};
use pubsink_runtime::service::{Context, Json, Reply, ServiceEvent, batch_handler, handler};
use tracing::Event;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::broker::{Broker, Script};
use crate::support::{Heard, message, messages, run, serving, sleep};

type Fields = BTreeMap<String, String>;

/// Keeps every span and event of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    spans: BTreeMap<u64, (&'static str, Fields)>,
    /// A span's number by its id, which is used again.
    numbers: BTreeMap<u64, u64>,
    /// Each with the span it was in.
    events: Vec<(Option<&'static str>, Fields)>,
    /// Which span follows which.
    follows: Vec<(&'static str, &'static str)>,
}

impl Log {
    fn listen() -> (Self, DefaultGuard) {
        let log = Self::default();
        let subscriber = tracing_subscriber::registry().with(log.clone());
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// Every span of a name.
    fn spans(&self, name: &str) -> Vec<Fields> {
        let lines = self.0.lock().unwrap();
        let spans = lines.spans.values().filter(|(named, _)| *named == name);
        spans.map(|(_, fields)| fields.clone()).collect()
    }

    /// What events said, each with the span it was in.
    fn events(&self) -> Vec<(Option<&'static str>, Fields)> {
        self.0.lock().unwrap().events.clone()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Log {
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, _: LayerContext<'_, S>) {
        let mut fields = Fields::new();
        span.record(&mut Read(&mut fields));
        let line = (span.metadata().name(), fields);
        let mut lines = self.0.lock().unwrap();
        let number = lines.spans.len() as u64;
        lines.spans.insert(number, line);
        lines.numbers.insert(id.into_u64(), number);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: LayerContext<'_, S>) {
        let mut lines = self.0.lock().unwrap();
        let number = lines.numbers[&id.into_u64()];
        let span = lines.spans.get_mut(&number).unwrap();
        values.record(&mut Read(&mut span.1));
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: LayerContext<'_, S>) {
        let name = |id| context.span(id).unwrap().name();
        let follows = (name(id), name(follows));
        self.0.lock().unwrap().follows.push(follows);
    }

    fn on_event(&self, event: &Event<'_>, context: LayerContext<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Read(&mut fields));
        let inside = context.event_span(event).map(|span| span.name());
        self.0.lock().unwrap().events.push((inside, fields));
    }
}

struct Read<'a>(&'a mut Fields);

impl Visit for Read<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn hook(id: &str, data: &'static str) -> ReceivedMessage {
    let mut message = message(id, data);
    for (name, value) in [
        ("ankusa_id", "a hook"),
        ("ankusa_source_id", "github"),
        ("ankusa_tenant_id", "acme"),
        ("traceparent", TRACE),
        ("secret", "hunter2"),
    ] {
        message.attributes.insert(name, value);
    }
    message
}

fn once(messages: impl IntoIterator<Item = ReceivedMessage>) -> Broker {
    let script = Script {
        redelivers: false,
        ..Script::default()
    };
    Broker::new(script, messages)
}

#[tokio::test(start_paused = true)]
async fn each_handling_has_a_span_of_its_message_and_of_how_it_failed() {
    let (log, _listening) = Log::listen();
    let read = |context: Context, Json(number): Json<u32>| async move {
        tracing::info!("at work");
        match number {
            1 => Ok(Settlement::Ack),
            2 => Ok(Settlement::Retry),
            3 => panic!("the secret of the handler"),
            4 => {
                context.lease().lost().await;
                Ok(Settlement::Ack)
            }
            _ => Err("the secret of the handler"),
        }
    };
    let broker = once([
        hook("good", "1"),
        hook("retry", "2"),
        hook("panic", "3"),
        hook("lease_lost", "4"),
        hook("retry too", "5"),
        hook("decode", "{"),
        message("plain", "1"),
    ]);
    let losing = broker.clone();
    tokio::spawn(async move {
        sleep(1.0).await;
        losing.lose(&LeaseLost::Expired);
    });
    run(serving(&broker, read).on_event(|_| ())).await;

    let spans = log.spans("ankusa.subscribe.attempt");
    let classes: BTreeMap<_, _> = spans
        .iter()
        .map(|span| {
            (
                span["message_id"].as_str(),
                span.get("error_class").map(String::as_str),
            )
        })
        .collect();
    let expected = [
        ("good", None),
        ("plain", None),
        ("retry", Some("retry")),
        ("retry too", Some("retry")),
        ("panic", Some("panic")),
        ("lease_lost", Some("lease_lost")),
        ("decode", Some("decode")),
    ];
    assert_eq!(classes, BTreeMap::from(expected));
    for span in &spans {
        assert_eq!(span["subscription"], crate::broker::SUBSCRIPTION);
        assert_eq!(span["attempt"], "1");
        let failed = span.contains_key("error_class");
        assert_eq!(
            span.get("otel.status_code").map(String::as_str),
            failed.then_some("ERROR")
        );
        let of_hook =
            ["hook_id", "source_id", "tenant_id", "traceparent"].map(|name| span.get(name));
        let of_hook = of_hook.map(|value| value.map(String::as_str));
        let expected = match span["message_id"].as_str() {
            "plain" => [None; 4],
            _ => [Some("a hook"), Some("github"), Some("acme"), Some(TRACE)],
        };
        assert_eq!(of_hook, expected);
        let text = format!("{span:?}");
        assert!(
            !text.contains("hunter2") && !text.contains("secret"),
            "{text}"
        );
    }
    // What a handler logs is inside.
    let inside = log
        .events()
        .into_iter()
        .filter(|(_, fields)| fields["message"] == "at work");
    let inside: Vec<_> = inside.map(|(inside, _)| inside).collect();
    assert_eq!(inside, [Some("ankusa.subscribe.attempt"); 6]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_reply_marks_its_span() {
    let (log, _listening) = Log::listen();
    let broker = once(messages(1));
    let bad = || async { (Settlement::Ack, Reply::new("x").header("h", b"\xFF")) };
    // Without a publisher it would not be built.
    let sly = move || async move {
        let (settlement, reply) = bad().await;
        pubsink_runtime::service::Outcome::new(settlement).with_reply(reply)
    };
    run(serving(&broker, handler(sly))).await;
    let spans = log.spans("ankusa.subscribe.attempt");
    assert_eq!(spans[0]["error_class"], "reply");
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_batch_follows_those_of_its_messages() {
    let (log, _listening) = Log::listen();
    let broker = once(messages(3));
    let take = |_: pubsink_runtime::service::Batch<String>| async {};
    run(serving(&broker, batch_handler(take))).await;
    let spans = log.spans("ankusa.subscribe.batch");
    assert_eq!((spans.len(), spans[0]["messages"].as_str()), (1, "3"));
    let follows = log.0.lock().unwrap().follows.clone();
    let each = ("ankusa.subscribe.batch", "ankusa.subscribe.attempt");
    assert_eq!(follows, [each; 3]);
}

fn errors(log: &Log) -> Vec<String> {
    let events = log.events().into_iter();
    let failures = events.filter(|(_, fields)| fields.contains_key("message_id"));
    failures
        .map(|(_, fields)| fields["message"].clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn failures_are_logged_where_nobody_else_hears_of_them() {
    let fails = |Json(number): Json<u32>| async move {
        match number {
            1 => Err::<(), _>("no"),
            _ => panic!("no"),
        }
    };
    let broken = || [message("1", "1"), message("2", "2"), message("3", "{")];
    let (log, listening) = Log::listen();
    run(serving(&once(broken()), fails)).await;
    let mut told = errors(&log);
    told.sort();
    let expected = [
        "a handler failed",
        "a handler panicked",
        "a message could not be read",
    ];
    assert_eq!(told, expected);
    drop(listening);

    let (log, _listening) = Log::listen();
    run(serving(&once(broken()), fails).on_event(|_| ())).await;
    assert_eq!(errors(&log), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_harms_nobody() {
    let broker = once(messages(3));
    let stopped =
        run(serving(&broker, || async {}).on_event(|_| panic!("I cannot hear you"))).await;
    assert!(stopped.is_clean(), "{stopped:?}");
    assert_eq!(broker.log().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn events_show_no_data() {
    let heard = Heard::default();
    let service = serving(&once([hook("1", "hunter2")]), |_: Json<u32>| async {});
    run(service.on_event(heard.observer())).await;
    let events = heard.events();
    let shown = format!("{events:?}");
    assert!(
        shown.contains("DecodeFailed") && !shown.contains("hunter2"),
        "{shown}"
    );
    let took = heard.all(|event| match event {
        ServiceEvent::Handled { took, .. } => Some(took),
        _ => None,
    });
    assert_eq!(took, [std::time::Duration::ZERO]);
}
