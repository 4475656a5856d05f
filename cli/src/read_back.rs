//! Reads a subscription back through a service, for the demo.

use std::fmt::Display;
use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_channel::bounded;
use bytes::Bytes;
use futures_util::future::select;
use pubsink_core::subscribe::{SubscriberOptionsBuilder, Wire};
use pubsink_core::token::Token;
use pubsink_runtime::service::Service;
use pubsink_runtime::subscribe::{Client, connect};
use pubsink_tokio::seam::{Runtime, Timer as _, Transport};

use crate::exit::CommandError;

/// How long messages are waited for: one that is lost must not keep the demo from saying so.
const LIMIT: Duration = Duration::from_secs(20);
/// Decides the pauses after failures, of which there are none.
const SEED: u64 = 0;

/// The data of the messages, as soon as there are as many as expected; they are acked.
pub(crate) async fn read_back<R: Runtime, T: Transport>(
    runtime: &R,
    client: T,
    options: SubscriberOptionsBuilder,
    expected: usize,
) -> Result<Vec<Bytes>, CommandError> {
    let failed = |why: &dyn Display| CommandError::new("cannot read back", why);
    let options = options.wire(Wire::Rest).build();
    let options = options.map_err(|error| failed(&error))?;
    let tokens = None::<Token>;
    let connected = connect(options, Client::rest(client), tokens, runtime.clone(), SEED);
    let (subscription, driver) = connected.map_err(|error| failed(&error))?;
    runtime.spawn(driver);
    let read = Arc::new(Mutex::new(Vec::new()));
    let (enough, is_enough) = bounded::<()>(1);
    if expected == 0 {
        enough.close();
    }
    let keep = Arc::clone(&read);
    let handler = move |data: Bytes| {
        let mut read = lock(&keep);
        read.push(data);
        if read.len() >= expected {
            enough.close();
        }
        ready(())
    };
    let service = Service::builder().subscription(subscription, handler);
    let service = service.build().map_err(|error| failed(&error))?;
    let stop = async {
        let mut timer = pin!(runtime.timer());
        timer.as_mut().reset(runtime.now() + LIMIT);
        select(pin!(is_enough.recv()), timer).await;
    };
    let stopped = service.run_until(runtime.clone(), SEED, stop).await;
    if !stopped.is_clean() {
        return Err(failed(&"an ack was not confirmed"));
    }
    let read = std::mem::take(&mut *lock(&read));
    Ok(read)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
