//! Dead letters, and sending them again after the repair: a journal on disk, and a sink that is
//! broken at first.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_smol::Dispatch;
use pubsink_smol::core::delivery::DeliveryContext;
use pubsink_smol::core::envelope::Envelope;
use pubsink_smol::core::failure::Failure;
use pubsink_smol::core::journal::{
    DeadId, DeadLetter, Filter, JournalError, ReplayJob, ReplayState,
};
use pubsink_smol::core::sink::Receipt;
use pubsink_smol::sink::Sink;

/// Refuses every hook for good until it is mended.
#[derive(Clone, Default)]
struct Shop {
    mended: Arc<AtomicBool>,
}

impl Sink for Shop {
    async fn deliver(
        &self,
        hook: &Envelope,
        context: &DeliveryContext,
    ) -> Result<Receipt, Failure> {
        if !self.mended.load(Ordering::Relaxed) {
            return Err(Failure::permanent("the shop does not know this order"));
        }
        let replay = context.replay_id.as_deref().unwrap_or("none");
        println!("{} came in, replay {replay}", hook.id);
        Ok(Receipt::new())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("pubsink-replay-{}", std::process::id()));
    let shop = Shop::default();
    let dispatch = pubsink_smol::dispatch(DiskJournal::open(&folder, DiskOptions::default())?)
        .sink("shop", shop.clone())
        .spawn()?;
    for id in ["one", "two", "three"] {
        let hook = Envelope::new(id, "orders", 1_764_500_000_332, "the body");
        dispatch.enqueue(hook).await?;
    }

    for letter in dead(&dispatch, 3).await? {
        let (hook, cause) = (&letter.envelope.id, &letter.cause);
        println!("{hook} died: {} ({})", cause.message, cause.kind);
    }

    shop.mended.store(true, Ordering::Relaxed);
    let mut job = ReplayJob::new("after the repair", Filter::default());
    job.per_second = 100;
    let id = dispatch.begin_replay(job).await?.id;
    let job = loop {
        let jobs = dispatch.replays().await?;
        let job = jobs.into_iter().find(|job| job.id == id);
        let job = job.ok_or("there is no such replay")?;
        // Done: all were sent. Settled: none of them is on its way any more.
        match job.state {
            ReplayState::Done if job.is_settled() => break job,
            // It pauses itself when its messages keep dying.
            ReplayState::Failing => break job,
            _ => pause().await,
        }
    };
    let progress = job.progress;
    println!(
        "{:?}: {} sent, {} delivered, {} died again",
        job.state, progress.sent, progress.delivered, progress.died
    );

    dispatch.shutdown(Duration::from_secs(5)).await;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// Waits until there are so many dead letters. A service would be told of each by `on_event`.
async fn dead(dispatch: &Dispatch, count: usize) -> Result<Vec<DeadLetter>, JournalError> {
    loop {
        let all = Filter::default();
        let letters = dispatch.dead_letters(all, DeadId::default(), count).await?;
        if letters.len() == count {
            return Ok(letters);
        }
        pause().await;
    }
}

async fn pause() {
    smol::Timer::after(Duration::from_millis(10)).await;
}
