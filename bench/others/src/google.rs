//! google-cloud-pubsub: gRPC, a future for each message.

use std::collections::VecDeque;

use google_cloud_auth::credentials::anonymous;
use google_cloud_pubsub::client::Publisher;
use google_cloud_pubsub::model::Message;

use crate::load::{BATCH_MAX_BYTES, Load};
use crate::measure::{Figures, Started};
use crate::{Error, attributes};

pub async fn publish(address: &str, load: &Load) -> Result<Figures, Error> {
    let publisher = Publisher::builder("projects/p/topics/hooks")
        .with_endpoint(format!("http://{address}"))
        .with_credentials(anonymous::Builder::new().build())
        .set_message_count_threshold(u32::try_from(load.batch())?)
        .set_byte_threshold(u32::try_from(BATCH_MAX_BYTES)?)
        .build()
        .await?;
    let attributes = attributes();
    let started = Started::now()?;
    let window = load.window();
    let mut unconfirmed = VecDeque::with_capacity(window);
    for number in 0..load.messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.await?;
        }
        let message = Message::new()
            .set_data(load.body(number).clone())
            .set_attributes(attributes.clone());
        unconfirmed.push_back(publisher.publish(message));
    }
    publisher.flush().await;
    for delivery in unconfirmed {
        delivery.await?;
    }
    started.end(load.messages)
}
