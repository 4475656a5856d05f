//! Reads a subscription by hand.

use std::error::Error;
use std::time::Duration;

use pubsink_fixtures::broker::SubscriptionConfig;
use pubsink_fixtures::server::Server;
use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::core::publish::Message;
use pubsink_smol::core::subscribe::SubscriberOptions;
use pubsink_smol::subscribe::Source as _;

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    let (topic, name) = ("projects/p/topics/events", "projects/p/subscriptions/all");
    server.create_topic(topic)?;
    server.create_subscription(SubscriptionConfig::new(name, topic))?;
    let options = PublisherOptions::builder("p", "events").endpoint(&server.endpoint());
    let publisher = pubsink_smol::publisher(options.build()?).spawn()?;
    for word in ["one", "two", "three"] {
        publisher.publish(Message::new(word)).await?;
    }

    let options = SubscriberOptions::builder("p", "all").endpoint(&server.endpoint());
    let mut subscription = pubsink_smol::subscription(options.build()?).spawn()?;
    let mut acked = 0;
    while acked < 3 {
        let Some(delivery) = subscription.next().await else {
            break;
        };
        let message = delivery.message();
        let text = String::from_utf8_lossy(&message.data).into_owned();
        println!("{}: {text}", message.message_id);
        // Its lease is kept until this is said. A delivery that is dropped is given back.
        match delivery.ack().await {
            Ok(()) => acked += 1,
            Err(error) => println!("{text} comes again: {error}"),
        }
    }

    // What is not settled within ten seconds goes back.
    subscription.handle().close(Duration::from_secs(10));
    println!("{:?}", subscription.closed().await);
    Ok(())
}
