//! One run of a client of ours, or of a floor, against the stub server.

use clap::{Parser, ValueEnum};
use pubsink_bench::load::Load;
use pubsink_bench::measure::{Figures, Started};
use pubsink_bench::ours::{self, Payload};
use pubsink_bench::{Error, floor, pulls};
use pubsink_core::options::Wire;

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
    /// JSON into a reused buffer, over a bare socket
    FloorRest,
    /// JSON into a reused buffer, over hyper
    FloorHyper,
    /// Protobuf into a reused buffer, over h2
    FloorGrpc,
    Tokio,
    TokioGrpc,
    TokioHook,
    Smol,
    SmolGrpc,
    SmolHook,
    /// Takes messages in the place of publishing them
    TokioPull,
    /// Takes messages in the place of publishing them
    SmolPull,
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    println!("{}", run(&arguments)?);
    Ok(())
}

fn run(arguments: &Arguments) -> Result<Figures, Error> {
    use Payload::{Hook, Raw};
    use Wire::{Grpc, Rest};
    match arguments.client {
        Client::FloorRest | Client::FloorHyper | Client::FloorGrpc => on_floor(arguments),
        Client::Tokio => on_tokio(arguments, Rest, Raw),
        Client::TokioGrpc => on_tokio(arguments, Grpc, Raw),
        Client::TokioHook => on_tokio(arguments, Rest, Hook),
        Client::Smol => on_smol(arguments, Rest, Raw),
        Client::SmolGrpc => on_smol(arguments, Grpc, Raw),
        Client::SmolHook => on_smol(arguments, Rest, Hook),
        Client::TokioPull => {
            tokio()?.block_on(pulls::on_tokio(&arguments.address, arguments.messages))
        }
        Client::SmolPull => pulls::on_smol(&arguments.address, arguments.messages),
    }
}

impl Arguments {
    fn load(&self) -> Load {
        Load::new(self.messages, self.size)
    }
}

fn on_floor(arguments: &Arguments) -> Result<Figures, Error> {
    let (address, load) = (&*arguments.address, arguments.load());
    tokio()?.block_on(async {
        let started = Started::now()?;
        match arguments.client {
            Client::FloorHyper => floor::hyper::publish(address, &load).await?,
            Client::FloorGrpc => floor::grpc::publish(address, &load).await?,
            _ => floor::rest::publish(address, &load).await?,
        }
        started.end(load.messages)
    })
}

fn on_tokio(arguments: &Arguments, wire: Wire, payload: Payload) -> Result<Figures, Error> {
    let options = ours::options(&arguments.address, wire)?;
    let load = arguments.load();
    tokio()?.block_on(ours::on_tokio(options, &load, payload))
}

fn on_smol(arguments: &Arguments, wire: Wire, payload: Payload) -> Result<Figures, Error> {
    let options = ours::options(&arguments.address, wire)?;
    ours::on_smol(options, &arguments.load(), payload)
}

fn tokio() -> Result<tokio::runtime::Runtime, Error> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}
