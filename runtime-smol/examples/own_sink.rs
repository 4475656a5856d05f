//! A sink of one's own: hooks go to a worker of this process.

use std::error::Error;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use pubsink_smol::core::delivery::DeliveryContext;
use pubsink_smol::core::envelope::Envelope;
use pubsink_smol::core::failure::Failure;
use pubsink_smol::core::sink::Receipt;
use pubsink_smol::journal::MemoryJournal;
use pubsink_smol::sink::Sink;

/// Hands hooks to a worker, as long as it keeps up.
struct Inbox(SyncSender<Envelope>);

impl Sink for Inbox {
    async fn deliver(&self, hook: &Envelope, _: &DeliveryContext) -> Result<Receipt, Failure> {
        match self.0.try_send(hook.clone()) {
            Ok(()) => Ok(Receipt::new()),
            Err(TrySendError::Full(_)) => {
                let pause = Duration::from_millis(100);
                Err(Failure::retry_after(pause, "the worker is behind"))
            }
            Err(TrySendError::Disconnected(_)) => Err(Failure::transient("the worker is gone")),
        }
    }

    /// What the worker has not done is lost with the process.
    fn durable(&self) -> bool {
        false
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (inbox, worker) = sync_channel(1);
    let dispatch = pubsink_smol::dispatch(MemoryJournal::default())
        .sink("worker", Inbox(inbox))
        .spawn()?;
    let worker = smol::unblock(move || {
        for hook in worker.iter().take(3) {
            println!("{} came in, {} bytes", hook.id, hook.size());
        }
    });
    for id in ["one", "two", "three"] {
        // Once this is done, its sender can be told that the hook was received.
        let hook = Envelope::new(id, "github", 1_764_500_000_332, "the body");
        dispatch.enqueue(hook).await?;
    }
    worker.await;
    dispatch.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
