//! Our own subscriber, as a program would use it: it takes messages and acks each.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pubsink_core::subscribe::SubscriberOptions;
use pubsink_tokio::subscribe::{Settling, Source, Subscription};
use smol::Executor;

use crate::Error;
use crate::load::{UNCONFIRMED_MAX, UNCONFIRMED_MAX_BYTES};
use crate::measure::{Figures, Started};

/// Takes so many messages of the server at `address` on this thread's tokio runtime.
///
/// # Errors
///
/// There are no more, or an ack does not count.
pub async fn on_tokio(address: &str, messages: usize) -> Result<Figures, Error> {
    let subscription = pubsink_tokio::subscription(options(address)?).spawn()?;
    measured(subscription, messages).await
}

/// Takes so many on a smol executor that runs on this thread.
///
/// # Errors
///
/// There are no more, or an ack does not count.
pub fn on_smol(address: &str, messages: usize) -> Result<Figures, Error> {
    let executor = Arc::new(Executor::new());
    let subscription = pubsink_smol::subscription(options(address)?).spawn_on(&executor)?;
    smol::block_on(executor.run(measured(subscription, messages)))
}

fn options(address: &str) -> Result<SubscriberOptions, Error> {
    let options = SubscriberOptions::builder("p", "hooks")
        .endpoint(&format!("http://{address}"))
        .max_outstanding(UNCONFIRMED_MAX)
        .max_outstanding_bytes(UNCONFIRMED_MAX_BYTES)
        .handlers(UNCONFIRMED_MAX);
    Ok(options.build()?)
}

async fn measured(mut subscription: Subscription, messages: usize) -> Result<Figures, Error> {
    let started = Started::now()?;
    let mut unconfirmed = VecDeque::<Settling>::with_capacity(UNCONFIRMED_MAX);
    for _ in 0..messages {
        if unconfirmed.len() == UNCONFIRMED_MAX / 2
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.await?;
        }
        let delivery = subscription.next().await.ok_or("there are no more")?;
        unconfirmed.push_back(delivery.ack());
    }
    for settling in unconfirmed {
        settling.await?;
    }
    let figures = started.end(messages)?;
    // What came beyond that goes back.
    subscription.handle().close(Duration::from_secs(10));
    subscription.closed().await;
    Ok(figures)
}
