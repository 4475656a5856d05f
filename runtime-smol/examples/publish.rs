//! Publishes plain messages to an emulator or to the real service.
//!
//! ```sh
//! PUBSUB_EMULATOR_HOST=127.0.0.1:8085 cargo run -p pubsink-smol --example publish -- my-project hooks
//! ```

use std::error::Error;
use std::time::Duration;

use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::core::publish::Message;

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(publish())
}

async fn publish() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(project), Some(topic)) = (arguments.next(), arguments.next()) else {
        return Err("usage: publish PROJECT TOPIC".into());
    };
    let mut options = PublisherOptions::builder(&project, &topic);
    if let Ok(host) = std::env::var("PUBSUB_EMULATOR_HOST") {
        options = options.emulator(&host);
    }
    let publisher = pubsink_smol::publisher(options.build()?).spawn()?;

    // Each call admits its message at once; awaiting comes later, so they share a request.
    let deliveries: Vec<_> = ["one", "two", "three"]
        .into_iter()
        .map(|word| {
            let mut message = Message::new(word);
            message.attributes.insert("kind", "example");
            publisher.publish(message)
        })
        .collect();
    for delivery in deliveries {
        match delivery.await {
            Ok(delivered) => println!("stored as {}", delivered.message_id),
            Err(failure) => println!("{failure}"),
        }
    }
    publisher.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
