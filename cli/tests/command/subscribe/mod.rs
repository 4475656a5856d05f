//! `pubsink subscribe`: every message is settled by what was done with it.

mod ends;
mod exec;
mod forward;
mod listener;
mod options;
mod print;
mod replies;

use std::fs;
use std::time::Instant;

use pubsink_fixtures::broker::{PubsubMessage, SubscriptionConfig};
use pubsink_fixtures::server::Server;

use super::support::{Run, TOPIC, eventually, pubsink, server};

const SUBSCRIPTION: &str = "projects/p/subscriptions/all";
const WIRES: [&str; 2] = ["grpc", "rest"];
/// When the messages here are published: 2025-11-30T10:53:20.332Z.
const PUBLISHED_MS: u64 = 1_764_500_000_332;

/// A server with the topic and a subscription to it.
fn subscribed() -> Server {
    subscribed_as(|config| config)
}

fn subscribed_as(set: impl FnOnce(SubscriptionConfig) -> SubscriptionConfig) -> Server {
    let server = server();
    let config = set(SubscriptionConfig::new(SUBSCRIPTION, TOPIC));
    server.create_subscription(config).unwrap();
    server
}

/// Publishes messages; their ids.
fn send(server: &Server, messages: impl IntoIterator<Item = PubsubMessage>) -> Vec<String> {
    let messages = messages.into_iter().collect();
    let publish = |broker: &mut pubsink_fixtures::broker::Broker| {
        broker.publish(TOPIC, messages, PUBLISHED_MS, Instant::now())
    };
    server.broker(publish).unwrap()
}

/// `count` messages, `m1`, `m2`, …
fn numbered(count: usize) -> impl Iterator<Item = PubsubMessage> {
    (1..=count).map(|number| PubsubMessage::new(format!("m{number}")))
}

fn subscribe(server: &Server, wire: &str) -> Run {
    subscribe_at(&server.endpoint(), wire)
}

fn subscribe_at(endpoint: &str, wire: &str) -> Run {
    pubsink(&[
        "subscribe",
        "--project",
        "p",
        "--subscription",
        "all",
        "--endpoint",
        endpoint,
        "--wire",
        wire,
    ])
}

/// How many leases were ended by an ack.
fn acked(server: &Server) -> usize {
    server.log().acknowledged().len()
}

/// Waits until so many are acked: what a command says and what the server hears are apart.
#[track_caller]
fn all_acked(server: &Server, count: usize) {
    eventually("all are acked", || acked(server) == count);
}

/// The lines of a file, none where it is not there yet.
fn lines(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
