//! gcloud-pubsub: gRPC, with its own batching, or with vectors of messages that are made beforehand.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use gcloud_gax::conn::Environment;
use gcloud_googleapis::pubsub::v1::PubsubMessage;
use gcloud_pubsub::client::{Client, ClientConfig};
use gcloud_pubsub::publisher::{Awaiter, Publisher, PublisherConfig};

use crate::load::Load;
use crate::measure::{Figures, Started};
use crate::{Error, attributes, in_batches};

/// As long as ours.
const LINGER: Duration = Duration::from_millis(20);
/// How many batches it sends at a time.
const WORKERS: usize = 4;

pub async fn publish(address: &str, load: &Load) -> Result<Figures, Error> {
    let publisher = publisher(address, load).await?;
    let attributes = attributes();
    let started = Started::now()?;
    let window = load.window();
    let mut unconfirmed = VecDeque::<Awaiter>::with_capacity(window);
    for number in 0..load.messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.get().await?;
        }
        unconfirmed.push_back(publisher.publish(message(load, &attributes, number)).await);
    }
    for delivery in unconfirmed {
        delivery.get().await?;
    }
    started.end(load.messages)
}

pub async fn publish_vectors(address: &str, load: &Load) -> Result<Figures, Error> {
    let publisher = publisher(address, load).await?;
    let attributes = attributes();
    let started = Started::now()?;
    in_batches(load, |numbers| {
        let messages = numbers.map(|number| message(load, &attributes, number));
        let messages = messages.collect();
        let publisher = publisher.clone();
        tokio::spawn(async move {
            let ids = publisher.publish_immediately(messages, None).await?;
            Ok(ids.len())
        })
    })
    .await?;
    started.end(load.messages)
}

async fn publisher(address: &str, load: &Load) -> Result<Publisher, Error> {
    let config = ClientConfig {
        project_id: Some("p".to_owned()),
        environment: Environment::Emulator(address.to_owned()),
        ..ClientConfig::default()
    };
    let topic = Client::new(config).await?.topic("hooks");
    Ok(topic.new_publisher(Some(PublisherConfig {
        workers: WORKERS,
        flush_interval: LINGER,
        bundle_size: load.batch(),
        retry_setting: None,
    })))
}

fn message(load: &Load, attributes: &HashMap<String, String>, number: usize) -> PubsubMessage {
    PubsubMessage {
        data: load.body(number).clone(),
        attributes: attributes.clone(),
        ..PubsubMessage::default()
    }
}
