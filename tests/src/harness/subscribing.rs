//! Services that handle the messages of a case's subscription, on any runtime and wire.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pubsink_core::subscribe::{SettleError, SubscriberOptions, SubscriberOptionsBuilder};
use pubsink_fixtures::broker::PubsubMessage;
use pubsink_fixtures::server::LoggedCall;
use pubsink_runtime::service::{
    Context, HandlerBuilder, Service, ServiceEvent, ServiceHandle, Stopped,
};
use pubsink_runtime::subscribe::SubscriptionHandle;
use serde_json::{Value, json};

use super::env::{Env, PROJECT};

/// How long a case waits for what is to come by itself: a busy machine takes its time.
pub(crate) const PATIENCE: u64 = 50;

/// The ack deadline of a case's subscription, and what its leases are extended by.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

impl Env {
    /// The short id of the subscription that services read.
    pub(crate) fn served_id(&self) -> String {
        format!("{}-served", self.topic_id())
    }

    /// Its full name.
    pub(crate) fn served(&self) -> String {
        format!("projects/{PROJECT}/subscriptions/{}", self.served_id())
    }

    /// Creates it: one of the case's topic, with an ack deadline of 10 s.
    pub(crate) async fn create_served(&self) {
        self.create_served_with(json!({})).await;
    }

    /// The same, with these fields as well.
    pub(crate) async fn create_served_with(&self, fields: Value) {
        let mut config = json!({"topic": self.topic(), "ackDeadlineSeconds": LEASE.as_secs()});
        for (name, value) in fields.as_object().expect("fields are an object") {
            config[name] = value.clone();
        }
        self.create_subscription_as(&self.served_id(), config).await;
    }

    /// Options for it, on the case's wire, with extensions of 10 s however long handlers take.
    pub(crate) fn subscriber(&self) -> SubscriberOptionsBuilder {
        SubscriberOptions::builder(PROJECT, &self.served_id())
            .endpoint(&self.endpoint())
            .wire(self.wire())
            .extension_min(LEASE)
            .extension_max(LEASE)
    }

    /// Serves it.
    pub(crate) fn serve(&self, options: SubscriberOptionsBuilder, by: HandlerBuilder) -> Serving {
        let options = options.build().expect("the case's options are in range");
        let subscription = self.host().subscription(options);
        let handle = subscription.handle();
        let told = Told::default();
        let service = Service::builder()
            .subscription(subscription, by)
            .on_event(told.observer())
            .build()
            .expect("the case's handler has what it needs");
        Serving {
            service: self.host().serve(service),
            subscription: handle,
            told,
        }
    }

    /// Puts texts into the embedded server's topic, in this order.
    pub(crate) fn put_texts(&self, texts: impl IntoIterator<Item = String>) {
        let messages: Vec<_> = texts.into_iter().map(PubsubMessage::new).collect();
        for some in messages.chunks(1_000) {
            let put = |broker: &mut pubsink_fixtures::broker::Broker| {
                broker.publish(&self.topic(), some.to_vec(), 0, Instant::now())
            };
            self.server().broker(put).expect("the broker takes them");
        }
    }

    /// The calls about the served subscription that the embedded server has read.
    pub(crate) fn served_calls(&self) -> Vec<LoggedCall> {
        let calls = self.server().log().calls().to_vec();
        let served = self.served();
        let ours = calls.into_iter().filter(|call| call.subscription == served);
        ours.collect()
    }

    /// How many messages of it the embedded server has leased.
    pub(crate) fn leased(&self) -> usize {
        let served = self.served();
        self.server().broker(|broker| broker.leased(&served))
    }

    /// Whether the embedded server has nothing of the subscription, leased or not.
    pub(crate) fn nothing_left(&self) -> bool {
        let served = self.served();
        let server = self.server();
        server.broker(|broker| broker.leased(&served) == 0 && !broker.has_ready(&served))
    }

    /// How many messages the embedded server stored in a topic.
    pub(crate) fn stored_in(&self, topic: &str) -> usize {
        self.server().stored(topic).len()
    }

    /// On the embedded server: no lease ran out, and nothing was given out twice.
    #[track_caller]
    pub(crate) fn nothing_came_again(&self) {
        if let Some(server) = self.embedded() {
            let gauges = server.gauges();
            assert_eq!((gauges.expired_leases, gauges.redeliveries), (0, 0));
        }
    }
}

/// A service that runs.
pub(crate) struct Serving {
    pub(crate) service: ServiceHandle,
    pub(crate) subscription: SubscriptionHandle,
    pub(crate) told: Told,
}

impl Serving {
    /// Waits until so many handlings are done, and nothing is on its way any more.
    pub(crate) async fn quiet_after(&self, env: &Env, seconds: u64, handled: usize) {
        let what = format!("{handled} messages are handled and settled");
        env.until_within(seconds, &what, || {
            let gauges = self.subscription.gauges();
            self.told.handled() >= handled && gauges.outstanding + gauges.unconfirmed == 0
        })
        .await;
    }

    /// Stops it; nothing may be left of what its handlers said.
    pub(crate) async fn stop(&self) {
        let stopped = self.stop_within(20).await;
        assert!(stopped.is_clean(), "{stopped:?}");
    }

    pub(crate) async fn stop_within(&self, seconds: u64) -> Stopped {
        self.service.shutdown(Duration::from_secs(seconds)).await
    }
}

/// What a service tells.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<ServiceEvent>>>);

impl Told {
    fn observer(&self) -> impl Fn(&ServiceEvent) + Send + Sync + 'static {
        let told = self.clone();
        move |event| told.0.lock().unwrap().push(event.clone())
    }

    pub(crate) fn count(&self, is: impl Fn(&ServiceEvent) -> bool) -> usize {
        let events = self.0.lock().unwrap();
        events.iter().filter(|event| is(event)).count()
    }

    /// Handlings that came to their end.
    pub(crate) fn handled(&self) -> usize {
        self.count(|event| matches!(event, ServiceEvent::Handled { .. }))
    }

    /// The texts of the messages whose settlement does not count, and why.
    pub(crate) fn unsettled(&self) -> Vec<(String, SettleError)> {
        let events = self.0.lock().unwrap();
        let unsettled = events.iter().filter_map(|event| match event {
            ServiceEvent::SettleFailed { context, error, .. } => {
                Some((text(context), error.clone()))
            }
            _ => None,
        });
        unsettled.collect()
    }
}

/// The text of a message.
pub(crate) fn text(context: &Context) -> String {
    String::from_utf8(context.data().to_vec()).expect("the case published text")
}

/// A handling of a message.
#[derive(Debug, Clone)]
pub(crate) struct Handling {
    pub(crate) text: String,
    pub(crate) message_id: String,
    pub(crate) ack_id: String,
    pub(crate) attempt: u32,
    pub(crate) began: Instant,
    pub(crate) ended: Option<Instant>,
    /// When its lease was lost, of one that [watches](Handlings::watched).
    pub(crate) lost: Option<Instant>,
}

/// What handlers did, in the order they began.
#[derive(Clone, Default)]
pub(crate) struct Handlings(Arc<Mutex<Vec<Handling>>>);

/// A handling that runs, until it is dropped.
#[must_use = "a handling ends when this is dropped"]
pub(crate) struct Running {
    all: Handlings,
    index: usize,
}

impl Handlings {
    /// Notes that a handler has begun. Fails where another one has the same message.
    pub(crate) fn begin(&self, context: &Context) -> Running {
        let mut all = self.0.lock().unwrap();
        let message = context.message();
        let handling = Handling {
            text: text(context),
            message_id: message.message_id.as_str().to_owned(),
            ack_id: message.ack_id.as_str().to_owned(),
            attempt: context.attempt(),
            began: Instant::now(),
            ended: None,
            lost: None,
        };
        let other = all
            .iter()
            .any(|other| other.message_id == handling.message_id && other.ended.is_none());
        all.push(handling);
        let running = Running {
            all: self.clone(),
            index: all.len() - 1,
        };
        drop(all);
        assert!(!other, "two handlers have the message {}", text(context));
        running
    }

    /// A handling of this length that notes when its lease is lost.
    pub(crate) async fn watched(&self, env: &Env, context: &Context, milliseconds: u64) {
        let running = self.begin(context);
        let end = Instant::now() + Duration::from_millis(milliseconds);
        let time = Duration::from_millis(milliseconds);
        if env.within(time, context.lease().lost()).await.is_some() {
            self.0.lock().unwrap()[running.index].lost = Some(Instant::now());
            let left = end.saturating_duration_since(Instant::now());
            env.sleep(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
                .await;
        }
    }

    pub(crate) fn all(&self) -> Vec<Handling> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Those that run.
    pub(crate) fn running(&self) -> usize {
        let all = self.0.lock().unwrap();
        all.iter().filter(|one| one.ended.is_none()).count()
    }

    /// Those of a message.
    pub(crate) fn of(&self, text: &str) -> Vec<Handling> {
        let mut all = self.all();
        all.retain(|one| one.text == text);
        all
    }

    /// Every one of these was handled once, and nothing else was.
    #[track_caller]
    pub(crate) fn each_once(&self, texts: impl IntoIterator<Item = String>) {
        let mut handled: Vec<_> = self.all().into_iter().map(|one| one.text).collect();
        let mut expected: Vec<_> = texts.into_iter().collect();
        handled.sort();
        expected.sort();
        assert_eq!(handled, expected);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.0.lock().unwrap()[self.index].ended = Some(Instant::now());
    }
}

/// The texts `name-0`, `name-1`, ….
pub(crate) fn texts(name: &str, count: usize) -> impl Iterator<Item = String> + use<'_> {
    (0..count).map(move |number| format!("{name}-{number}"))
}

/// The requests that ask for more time for something, of these calls.
pub(crate) fn extensions(calls: &[LoggedCall]) -> Vec<&LoggedCall> {
    let extends = |call: &&LoggedCall| call.modified.iter().any(|(_, seconds)| *seconds > 0);
    calls.iter().filter(extends).collect()
}

/// The ids that are given back, of these calls, each with when.
pub(crate) fn nacks(calls: &[LoggedCall]) -> Vec<(Instant, &str)> {
    let each = calls.iter().flat_map(|call| {
        let nacked = call.modified.iter().filter(|(_, seconds)| *seconds == 0);
        nacked.map(|(id, _)| (call.at, id.as_str()))
    });
    each.collect()
}

/// The ids that are acknowledged, of these calls, each with when.
pub(crate) fn acks(calls: &[LoggedCall]) -> Vec<(Instant, &str)> {
    let each = calls.iter().flat_map(|call| {
        let ids = call.acknowledged.iter();
        ids.map(|id| (call.at, id.as_str()))
    });
    each.collect()
}
