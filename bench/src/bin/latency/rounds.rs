//! Runs in interleaved rounds, and their medians as Markdown.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum as _};
use pubsink_bench::Error;

use crate::clients::{Client, Layer, RuntimeName};
use crate::quantiles::Quantiles;
use crate::server::{Stub, pinned};

/// What is run.
#[derive(Debug, Args)]
pub(crate) struct Rounds {
    /// How many publish at once, each one message at a time
    #[arg(long, value_delimiter = ',', default_values_t = [1, 100])]
    callers: Vec<usize>,
    /// How many rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How many messages a client publishes in a round
    #[arg(long, default_value_t = 20_000)]
    messages: usize,
    /// How large each body is
    #[arg(long, default_value_t = 1_024)]
    size: usize,
    /// The lingers, in ms
    #[arg(long, value_delimiter = ',', default_values_t = [1, 5, 10, 50])]
    lingers: Vec<u64>,
    /// How many messages linger in a round
    #[arg(long, default_value_t = 200)]
    lingering: usize,
    /// Where the server listens
    #[arg(long, default_value = "127.0.0.1:8096")]
    address: String,
    /// The directory of this build's binaries
    #[arg(long)]
    bin: PathBuf,
}

/// Each run's figures, by what was run.
struct Figures<K>(Vec<(K, Quantiles)>);

type Calls = (usize, Client);
type Linger = (RuntimeName, u64);

impl Rounds {
    /// Runs all of it and prints the tables.
    pub(crate) fn run(&self) -> Result<(), Error> {
        let (mut calls, mut lingers) = (Figures(Vec::new()), Figures(Vec::new()));
        let stub = Stub::start(&self.bin.join("stub"), &self.address, self.size)?;
        for round in 1..=self.rounds {
            for &callers in &self.callers {
                for client in Client::ALL {
                    let quantiles = self.calls(&stub, callers, client)?;
                    eprintln!("round {round}, {callers}, {}: {quantiles}", client.name());
                    calls.0.push(((callers, client), quantiles));
                }
            }
            for &linger in &self.lingers {
                for &runtime in RuntimeName::value_variants() {
                    let quantiles = self.linger(runtime, linger)?;
                    eprintln!("round {round}, {runtime:?}, {linger} ms: {quantiles}");
                    lingers.0.push(((runtime, linger), quantiles));
                }
            }
        }
        for &callers in &self.callers {
            print_calls(callers, &calls);
        }
        self.print_lingers(&lingers);
        Ok(())
    }

    /// One run. What the server counted has to be what the client published.
    fn calls(&self, stub: &Stub, callers: usize, client: Client) -> Result<Quantiles, Error> {
        let before = stub.count()?;
        let mut command = self.command("calls");
        command
            .arg(client.name())
            .args(["--address", &self.address])
            .args(["--callers", &callers.to_string()])
            .args(["--messages", &self.messages.to_string()])
            .args(["--size", &self.size.to_string()]);
        let quantiles = quantiles(&mut command)?;
        let counted = stub.count()? - before;
        if counted != self.messages as u64 {
            let (name, messages) = (client.name(), self.messages);
            return Err(format!("{name} says {messages} messages, the server {counted}").into());
        }
        Ok(quantiles)
    }

    fn linger(&self, runtime: RuntimeName, linger: u64) -> Result<Quantiles, Error> {
        let mut command = self.command("linger");
        command
            .arg(runtime.name())
            .args(["--linger-ms", &linger.to_string()])
            .args(["--messages", &self.lingering.to_string()]);
        quantiles(&mut command)
    }

    /// This binary, on a core of its own.
    fn command(&self, name: &str) -> Command {
        let mut command = pinned(0, &self.bin.join("latency"));
        command.arg(name);
        command
    }

    fn print_lingers(&self, lingers: &Figures<Linger>) {
        println!("| linger | runtime | p50 over, µs | p99 over, µs | longest over, µs |");
        println!("|---|---|---|---|---|");
        for &linger in &self.lingers {
            for &runtime in RuntimeName::value_variants() {
                let of = || lingers.of((runtime, linger));
                let longest = of().map(|quantiles| quantiles.max).max();
                println!(
                    "| {linger} ms | {} | {:.0} | {:.0} | {:.0} |",
                    runtime.name(),
                    median(of().map(|quantiles| micros(quantiles.p50))),
                    median(of().map(|quantiles| micros(quantiles.p99))),
                    micros(longest.unwrap_or_default()),
                );
            }
        }
    }
}

/// The times of each client, and what they are over the bare client's of the same round.
fn print_calls(callers: usize, calls: &Figures<Calls>) {
    let s = if callers == 1 { "" } else { "s" };
    println!(
        "| {callers} caller{s} | p50, µs | p99, µs | p50 over the bare client's, µs | p99 over it, µs |"
    );
    println!("|---|---|---|---|---|");
    for client in Client::ALL {
        let mut clients = Client::ALL.into_iter();
        let Some(floor) = clients.find(|other| other.is_floor_of(client)) else {
            continue;
        };
        let times = |of: fn(&Quantiles) -> Duration| {
            let times = calls.of((callers, client)).map(|run| micros(of(&run)));
            let floors = calls.of((callers, floor)).map(|run| micros(of(&run)));
            let over = times.clone().zip(floors).map(|(time, floor)| time - floor);
            (median(times), median(over))
        };
        let (p50, p50_over) = times(|quantiles| quantiles.p50);
        let (p99, p99_over) = times(|quantiles| quantiles.p99);
        let over = match client.layer {
            Layer::Bare => " |  |".to_owned(),
            Layer::Transport | Layer::Publisher => format!("{p50_over:.1} | {p99_over:.1} |"),
        };
        println!("| {} | {p50:.1} | {p99:.1} | {over}", client.title);
    }
    println!();
}

impl<K: PartialEq + Copy> Figures<K> {
    /// The runs of `key`, by round.
    fn of(&self, key: K) -> impl Iterator<Item = Quantiles> + Clone {
        let runs = self.0.iter();
        runs.filter_map(move |(of, quantiles)| (*of == key).then_some(*quantiles))
    }
}

/// What a run printed.
fn quantiles(command: &mut Command) -> Result<Quantiles, Error> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    Quantiles::parse(&said).ok_or_else(|| {
        let complained = String::from_utf8_lossy(&output.stderr);
        format!("{command:?}: {}\n{said}{complained}", output.status).into()
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
