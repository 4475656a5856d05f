//! What the cases share.

use std::collections::BTreeSet;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::time::{Duration, Instant};

use pubsink_fixtures::broker::{PubsubMessage, SubscriptionConfig};
use pubsink_fixtures::server::{Builder, Server};
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::publish::Message;
use pubsink_runtime::core::subscribe::{SubscriberOptions, SubscriberOptionsBuilder, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{Runtime, Timer as _};
use pubsink_runtime::subscribe::{Client, Delivery, Source as _, Subscription};
use pubsink_runtime::{Publisher, TokenProvider};

pub(crate) const TOPIC: &str = "projects/p/topics/events";
pub(crate) const SUBSCRIPTION: &str = "projects/p/subscriptions/all";

/// A runtime's crate.
pub(crate) trait Place {
    type Runtime: Runtime;
    fn runtime() -> Self::Runtime;
    fn publisher(options: PublisherOptions) -> Publisher;
    fn subscription<P: TokenProvider>(
        options: SubscriberOptions,
        tokens: Option<P>,
    ) -> Subscription;
    fn client(wire: Wire) -> Client;
}

/// A server with a topic and a subscription to it.
pub(crate) fn server() -> Server {
    server_with(Server::builder(), |config| config)
}

pub(crate) fn server_with(
    settings: Builder,
    change: impl FnOnce(SubscriptionConfig) -> SubscriptionConfig,
) -> Server {
    let server = settings.start().unwrap();
    server.create_topic(TOPIC).unwrap();
    let config = change(SubscriptionConfig::new(SUBSCRIPTION, TOPIC));
    server.create_subscription(config).unwrap();
    server
}

pub(crate) fn options(server: &Server, wire: Wire) -> SubscriberOptionsBuilder {
    SubscriberOptions::builder("p", "all")
        .endpoint(&server.endpoint())
        .wire(wire)
        // Many cases settle one message after the other.
        .ack_linger(Duration::from_millis(10))
}

pub(crate) fn subscribe<P: Place>(options: SubscriberOptionsBuilder) -> Subscription {
    P::subscription(options.build().unwrap(), None::<Token>)
}

/// Publishes the numbers below `count` through a publisher.
pub(crate) async fn publish<P: Place>(server: &Server, count: usize) {
    let options = PublisherOptions::builder("p", "events").endpoint(&server.endpoint());
    let publisher = P::publisher(options.build().unwrap());
    let numbers = (0..count).map(|number| number.to_string());
    let sent: Vec<_> = numbers
        .map(|number| publisher.publish(Message::new(number)))
        .collect();
    for sent in sent {
        sent.await.unwrap();
    }
}

/// Puts messages into the topic.
pub(crate) fn put(server: &Server, messages: Vec<PubsubMessage>) {
    server.broker(|broker| broker.publish(TOPIC, messages, 0, Instant::now()).unwrap());
}

pub(crate) async fn next(subscription: &mut Subscription) -> Delivery {
    subscription.next().await.unwrap()
}

pub(crate) fn text(delivery: &Delivery) -> String {
    String::from_utf8(delivery.message().data.to_vec()).unwrap()
}

/// Takes messages and acks each until all the numbers below `count` were acked with success.
pub(crate) async fn ack_all(subscription: &mut Subscription, count: usize) -> usize {
    let (mut acked, mut taken) = (BTreeSet::new(), 0);
    while acked.len() < count {
        let delivery = next(subscription).await;
        taken += 1;
        let text = text(&delivery);
        if delivery.ack().await.is_ok() {
            acked.insert(text);
        }
    }
    let expected: BTreeSet<_> = (0..count).map(|number| number.to_string()).collect();
    assert_eq!(acked, expected);
    taken
}

/// Until `is` is true; the case itself has its time.
pub(crate) async fn until<P: Place>(mut is: impl FnMut() -> bool) {
    while !is() {
        pause::<P>(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn pause<P: Place>(time: Duration) {
    let runtime = P::runtime();
    let end = runtime.now() + time;
    let mut timer = pin!(runtime.timer());
    timer.as_mut().reset(end);
    poll_fn(|cx| timer.as_mut().poll(cx)).await;
}

/// What the broker has leased.
pub(crate) fn leased(server: &Server) -> usize {
    server.broker(|broker| broker.leased(SUBSCRIPTION))
}
