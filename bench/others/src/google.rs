//! google-cloud-pubsub: gRPC, a future for each message.

use std::collections::VecDeque;

use google_cloud_auth::credentials::anonymous;
use google_cloud_pubsub::client::Publisher;
use google_cloud_pubsub::model::Message;

use crate::load::{BATCH_MAX_BYTES, Load};
use crate::measure::{Figures, Started, resident_mib};
use crate::{Error, attributes};

/// With `one_use_keys` each message has an ordering key of its own, and what stays of them in memory
/// is told on standard error.
pub async fn publish(address: &str, load: &Load, one_use_keys: bool) -> Result<Figures, Error> {
    let publisher = Publisher::builder("projects/p/topics/hooks")
        .with_endpoint(format!("http://{address}"))
        .with_credentials(anonymous::Builder::new().build())
        .set_message_count_threshold(u32::try_from(load.batch())?)
        .set_byte_threshold(u32::try_from(BATCH_MAX_BYTES)?)
        .build()
        .await?;
    let attributes = attributes();
    let before = resident_mib()?;
    let started = Started::now()?;
    let window = load.window();
    let mut unconfirmed = VecDeque::with_capacity(window);
    for number in 0..load.messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.await?;
        }
        let mut message = Message::new()
            .set_data(load.body(number).clone())
            .set_attributes(attributes.clone());
        if one_use_keys {
            message = message.set_ordering_key(format!("order-{number}"));
        }
        unconfirmed.push_back(publisher.publish(message));
    }
    publisher.flush().await;
    for delivery in unconfirmed {
        delivery.await?;
    }
    let figures = started.end(load.messages)?;
    if one_use_keys {
        let after = resident_mib()?;
        eprintln!("before_mib={before:.1} after_mib={after:.1}");
    }
    Ok(figures)
}
