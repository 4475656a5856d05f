//! Runs clients against the stub server, in rounds in which they take turns, and prints the tables
//! of `docs/performance.md`: medians of all rounds.

mod clients;
mod server;
mod table;

use std::path::PathBuf;
use std::process::Command;

use clap::Parser;
use pubsink_bench::Error;
use pubsink_bench::measure::Figures;

use clients::Client;
use server::Stub;
use table::Results;

/// Runs clients in interleaved rounds and prints tables of their figures.
#[derive(Debug, Parser)]
struct Arguments {
    /// The sizes of bodies, in bytes
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_024, 16_384])]
    sizes: Vec<usize>,
    /// How many rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only the clients with these names
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Bytes of bodies that a run publishes, in MiB, but 100,000 to 3,000,000 messages
    #[arg(long, default_value_t = 1_000)]
    volume_mib: usize,
    /// Where the server listens
    #[arg(long, default_value = "127.0.0.1:8095")]
    address: String,
    /// The directory of this build's binaries
    #[arg(long)]
    bin: PathBuf,
    /// The binary of the other clients, where it was built
    #[arg(long)]
    others: Option<PathBuf>,
}

impl Arguments {
    fn messages(&self, size: usize) -> usize {
        (self.volume_mib * 1024 * 1024 / size.max(1)).clamp(100_000, 3_000_000)
    }

    fn clients(&self) -> Vec<Client> {
        let all = Client::ALL.into_iter();
        let here = all.filter(|client| client.is_ours() || self.others.is_some());
        let named = |name: &str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        here.filter(|client| named(client.name())).collect()
    }
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let clients = arguments.clients();
    let mut results = Results::new(&arguments.sizes, &clients);
    for round in 1..=arguments.rounds {
        for &size in &arguments.sizes {
            let stub = Stub::start(&arguments.bin.join("stub"), &arguments.address, size)?;
            for &client in &clients {
                let figures = run(&arguments, &stub, client, size)?;
                eprintln!("round {round} {size} B {}: {figures}", client.name());
                results.add(size, client, figures);
            }
        }
    }
    print!("{results}");
    Ok(())
}

/// One run. What the server counted has to be what the client published, or acknowledged.
fn run(arguments: &Arguments, stub: &Stub, client: Client, size: usize) -> Result<Figures, Error> {
    let binary = match (&arguments.others, client.is_ours()) {
        (Some(others), false) => others.clone(),
        _ => arguments.bin.join("client"),
    };
    let messages = arguments.messages(size);
    let before = stub.count()?;
    let mut command = server::pinned(0, &binary);
    command
        .arg(client.name())
        .args(["--address", &arguments.address])
        .args(["--messages", &messages.to_string()])
        .args(["--size", &size.to_string()])
        // pub-sub-client has its server's address from here.
        .env("PUB_SUB_BASE_URL", format!("http://{}", arguments.address));
    let printed = output(&mut command)?;
    let counted = stub.count()? - before;
    if counted != messages as u64 {
        let name = client.name();
        return Err(format!("{name} says {messages} messages, the server {counted}").into());
    }
    Figures::parse(&printed).ok_or_else(|| format!("no figures in {printed:?}").into())
}

fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
