//! What publishing adds to the time of one request, and how well the linger is kept. Prints the
//! tables of `docs/performance.md`.
//!
//! `rounds` starts the stub server, and itself again for each client, in rounds in which the clients
//! take turns. `calls` and `linger` are those runs.

mod callers;
mod clients;
mod layers;
mod linger;
mod on_smol;
mod on_tokio;
mod quantiles;
mod requests;
mod rounds;
#[path = "../rounds/server.rs"]
mod server;

use clap::Parser;
use pubsink_bench::Error;

use clients::{Client, RuntimeName};
use requests::Load;
use rounds::Rounds;

/// Measures latencies.
#[derive(Debug, Parser)]
enum Arguments {
    /// All clients in interleaved rounds, and tables of their medians
    Rounds(Rounds),
    /// One client against a stub server: quantiles of the time of its requests
    Calls {
        #[arg(value_parser = Client::named)]
        client: Client,
        #[command(flatten)]
        load: Load,
    },
    /// One runtime: quantiles of the time from a message's admission to its request
    Linger {
        #[arg(value_enum)]
        runtime: RuntimeName,
        /// The linger, in ms
        #[arg(long)]
        linger_ms: u64,
        #[arg(long)]
        messages: usize,
    },
}

fn main() -> Result<(), Error> {
    let quantiles = match Arguments::parse() {
        Arguments::Rounds(rounds) => return rounds.run(),
        Arguments::Calls { client, load } => match client.runtime {
            RuntimeName::Tokio => on_tokio::calls(client, &load)?,
            RuntimeName::Smol => on_smol::calls(client, &load)?,
        },
        Arguments::Linger {
            runtime,
            linger_ms,
            messages,
        } => linger::run(runtime, linger_ms, messages)?,
    };
    println!("{quantiles}");
    Ok(())
}
