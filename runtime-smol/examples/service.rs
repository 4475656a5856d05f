//! Handles the messages of a subscription, until it is stopped.

use std::error::Error;
use std::time::Duration;

use pubsink_fixtures::broker::{DeadLetterPolicy, SubscriptionConfig};
use pubsink_fixtures::server::Server;
use pubsink_smol::Smol;
use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::core::publish::Message;
use pubsink_smol::core::subscribe::{Settlement, SubscriberOptions};
use pubsink_smol::seam::Runtime as _;
use pubsink_smol::service::{Context, Service};

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

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
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
    let publisher = pubsink_smol::publisher(options.build()?).spawn()?;
    for word in ["one", "two", "three"] {
        publisher.publish(Message::new(word)).await?;
    }

    let options = SubscriberOptions::builder("p", "all").endpoint(&server.endpoint());
    let service = Service::builder()
        .subscription(
            pubsink_smol::subscription(options.build()?).spawn()?,
            handle,
        )
        .build()?;
    let runtime = Smol::global();
    let (service, driver) = service.connect(runtime.clone(), 42);
    runtime.spawn(async { drop(driver.await) });

    // Until all are acked; a program of yours waits for a signal.
    while server.log().acknowledged().len() < 3 {
        smol::Timer::after(Duration::from_millis(5)).await;
    }
    let stopped = service.shutdown(Duration::from_secs(10)).await;
    println!("nothing was left: {}", stopped.is_clean());
    Ok(())
}
