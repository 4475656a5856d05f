//! google-cloud-pubsub: a stream of messages, each with a handler to ack it by.

use google_cloud_auth::credentials::anonymous;
use google_cloud_pubsub::client::Subscriber;
use google_cloud_pubsub::subscriber::ShutdownBehavior;

use crate::Error;
use crate::load::{UNCONFIRMED_MAX, UNCONFIRMED_MAX_BYTES};
use crate::measure::{Figures, Started};

/// Takes so many messages, acks each, and waits until all acks are answered.
pub async fn consume(address: &str, messages: usize) -> Result<Figures, Error> {
    let subscriber = Subscriber::builder()
        .with_endpoint(format!("http://{address}"))
        .with_credentials(anonymous::Builder::new().build())
        .build()
        .await?;
    let started = Started::now()?;
    let mut stream = subscriber
        .subscribe("projects/p/subscriptions/hooks")
        .set_max_outstanding_messages(i64::try_from(UNCONFIRMED_MAX)?)
        .set_max_outstanding_bytes(i64::try_from(UNCONFIRMED_MAX_BYTES)?)
        .set_shutdown_behavior(ShutdownBehavior::NackImmediately)
        .build();
    for _ in 0..messages {
        let (message, handler) = stream.next().await.ok_or("there are no more")??;
        std::hint::black_box(&message);
        handler.ack();
    }
    stream.shutdown_token().shutdown().await;
    started.end(messages)
}
