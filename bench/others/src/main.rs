//! One run of another publisher against the stub server.
//!
//! Each is used as its documentation says, with the batches that all clients here have: at most
//! 1,000 messages or 7.5 MB, and at most 10,000 messages or 64 MiB unconfirmed. All run on a tokio
//! runtime of one thread.

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod gcloud;
mod google;
mod google_pull;
#[path = "../../src/load.rs"]
#[allow(dead_code)]
mod load;
#[path = "../../src/measure.rs"]
#[allow(dead_code)]
mod measure;
mod pub_sub_client;

use std::collections::{HashMap, VecDeque};

use clap::{Parser, ValueEnum};
use load::{ATTRIBUTES, Load};
use measure::Figures;
use tokio::task::JoinHandle;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Publishes messages and prints what it cost.
#[derive(Debug, Parser)]
struct Arguments {
    /// Who publishes
    #[arg(value_enum)]
    client: Client,
    /// The stub server, host:port
    #[arg(long)]
    address: String,
    #[arg(long)]
    messages: usize,
    /// How large each body is
    #[arg(long)]
    size: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Client {
    /// google-cloud-pubsub, its batching
    Google,
    /// google-cloud-pubsub, an ordering key for each message
    GoogleKeys,
    /// google-cloud-pubsub; takes messages in the place of publishing them
    GooglePull,
    /// gcloud-pubsub, its batching
    Gcloud,
    /// gcloud-pubsub, vectors that are made beforehand
    GcloudVectors,
    /// pub-sub-client, which has no batching
    PubSubClient,
}

/// How many ready-made batches are in flight.
const IN_FLIGHT: usize = 4;

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let load = Load::new(arguments.messages, arguments.size);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    println!("{}", runtime.block_on(run(&arguments, load))?);
    Ok(())
}

async fn run(arguments: &Arguments, load: Load) -> Result<Figures, Error> {
    let address = &arguments.address;
    match arguments.client {
        Client::Google => google::publish(address, &load, false).await,
        Client::GoogleKeys => google::publish(address, &load, true).await,
        Client::GooglePull => google_pull::consume(address, arguments.messages).await,
        Client::Gcloud => gcloud::publish(address, &load).await,
        Client::GcloudVectors => gcloud::publish_vectors(address, &load).await,
        Client::PubSubClient => pub_sub_client::publish(address, &load).await,
    }
}

/// The attributes of a message, as all of these clients take them. Each message has a clone, which
/// is cheaper than a new map.
fn attributes() -> HashMap<String, String> {
    let pairs = ATTRIBUTES.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Sends one batch after another, four at a time. `send` starts sending the messages of a range.
async fn in_batches(
    load: &Load,
    mut send: impl FnMut(std::ops::Range<usize>) -> JoinHandle<Result<usize, Error>>,
) -> Result<(), Error> {
    let mut in_flight = VecDeque::<JoinHandle<Result<usize, Error>>>::new();
    let mut ids = 0;
    for start in (0..load.messages).step_by(load.batch()) {
        if in_flight.len() == IN_FLIGHT
            && let Some(oldest) = in_flight.pop_front()
        {
            ids += oldest.await??;
        }
        in_flight.push_back(send(start..load.messages.min(start + load.batch())));
    }
    for batch in in_flight {
        ids += batch.await??;
    }
    if ids != load.messages {
        return Err(format!("{} messages have {ids} ids", load.messages).into());
    }
    Ok(())
}
