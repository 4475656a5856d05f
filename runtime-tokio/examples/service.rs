//! Handles the messages of a subscription, until it is stopped.

use std::error::Error;
use std::time::Duration;

use pubsink_fixtures::broker::{DeadLetterPolicy, SubscriptionConfig};
use pubsink_fixtures::server::Server;
use pubsink_tokio::Tokio;
use pubsink_tokio::core::options::PublisherOptions;
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::core::subscribe::{Settlement, SubscriberOptions};
use pubsink_tokio::seam::Runtime as _;
use pubsink_tokio::service::{Context, Service};

/// What a handler returns says what becomes of its message.
async fn handle(context: Context) -> Settlement {
    let attempt = context.attempt();
    println!("{}, attempt {attempt}", context.message_id());
    match attempt {
        // Again, after a pause in which its lease is kept.
        1 => Settlement::RetryAfter(Duration::from_millis(20)),
        _ => Settlement::Ack,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let (topic, name) = ("projects/p/topics/events", "projects/p/subscriptions/all");
    server.create_topic(topic)?;
    server.create_topic("projects/p/topics/dead")?;
    // Attempts are counted where there is a dead-letter policy.
    server.create_subscription(SubscriptionConfig {
        dead_letter_policy: Some(DeadLetterPolicy {
            dead_letter_topic: "projects/p/topics/dead".to_owned(),
            max_delivery_attempts: 5,
        }),
        ..SubscriptionConfig::new(name, topic)
    })?;
    let options = PublisherOptions::builder("p", "events").endpoint(&server.endpoint());
    let publisher = pubsink_tokio::publisher(options.build()?).spawn()?;
    for word in ["one", "two", "three"] {
        publisher.publish(Message::new(word)).await?;
    }

    let options = SubscriberOptions::builder("p", "all").endpoint(&server.endpoint());
    let service = Service::builder()
        .subscription(
            pubsink_tokio::subscription(options.build()?).spawn()?,
            handle,
        )
        .build()?;
    let runtime = Tokio::current()?;
    let (service, driver) = service.connect(runtime.clone(), 42);
    runtime.spawn(async { drop(driver.await) });

    // Until all are acked; a program of yours waits for a signal.
    while server.log().acknowledged().len() < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let stopped = service.shutdown(Duration::from_secs(10)).await;
    println!("nothing was left: {}", stopped.is_clean());
    Ok(())
}
