//! One run of a client of ours, or of a floor, against the stub server.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use pubsink_bench::hooks::Hooks;
use pubsink_bench::load::{BATCH_MAX_BYTES, Load};
use pubsink_bench::measure::{Figures, Started};
use pubsink_bench::ours::{self, Payload, Work};
use pubsink_bench::{Error, floor, pulls};
use pubsink_core::options::{Compression, PublisherOptions, Wire};

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
    /// How large each body is; they are random
    #[arg(long, default_value_t = 1_024)]
    size: usize,
    /// Bodies of the hooks in FILE, lines of JSON, or the hooks themselves, in turn
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    hooks: Option<PathBuf>,
    /// Compress requests of more than BYTES; ours alone can
    #[arg(long, value_name = "BYTES")]
    gzip: Option<usize>,
    /// How much work goes into that, 1 to 9
    #[arg(long, value_name = "N", requires = "gzip", default_value_t = Compression::GZIP_LEVEL)]
    gzip_level: u8,
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
    /// Requests of at most 500 kB of data
    TokioSmall,
    /// As many messages together as fit a request
    TokioVectors,
    /// The same in requests of at most 500 kB of data
    TokioVectorsSmall,
    /// As many messages together as fit a request
    TokioVectorsGrpc,
    TokioHook,
    TokioHookGrpc,
    Smol,
    SmolGrpc,
    SmolHook,
    /// Takes messages in the place of publishing them: slices of what came, acked by one call for
    /// each response
    FloorPull,
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
    use Payload::{Hook, Raw, Together};
    use Wire::{Grpc, Rest};
    match arguments.client {
        Client::FloorRest | Client::FloorHyper | Client::FloorGrpc => on_floor(arguments),
        Client::Tokio | Client::TokioSmall => on_tokio(arguments, Rest, Raw),
        Client::TokioGrpc => on_tokio(arguments, Grpc, Raw),
        Client::TokioVectors | Client::TokioVectorsSmall => on_tokio(arguments, Rest, Together),
        Client::TokioVectorsGrpc => on_tokio(arguments, Grpc, Together),
        Client::TokioHook => on_tokio(arguments, Rest, Hook),
        Client::TokioHookGrpc => on_tokio(arguments, Grpc, Hook),
        Client::Smol => on_smol(arguments, Rest, Raw),
        Client::SmolGrpc => on_smol(arguments, Grpc, Raw),
        Client::SmolHook => on_smol(arguments, Rest, Hook),
        Client::FloorPull => tokio()?.block_on(async {
            let started = Started::now()?;
            floor::pull::consume(&arguments.address, arguments.messages).await?;
            started.end(arguments.messages)
        }),
        Client::TokioPull => {
            tokio()?.block_on(pulls::on_tokio(&arguments.address, arguments.messages))
        }
        Client::SmolPull => pulls::on_smol(&arguments.address, arguments.messages),
    }
}

impl Arguments {
    fn load(&self, hooks: Option<&Hooks>) -> Load {
        match hooks {
            Some(hooks) => Load::of(self.messages, hooks.bodies()),
            None => Load::new(self.messages, self.size),
        }
    }

    fn hooks(&self) -> Result<Option<Hooks>, Error> {
        let file = self.hooks.as_ref();
        file.map(|file| Hooks::read(&std::fs::read(file)?))
            .transpose()
    }

    fn batch_max_bytes(&self) -> usize {
        match self.client {
            Client::TokioSmall | Client::TokioVectorsSmall => SMALL_BATCH_BYTES,
            _ => BATCH_MAX_BYTES,
        }
    }

    fn compression(&self) -> Compression {
        let level = self.gzip_level;
        self.gzip
            .map_or(Compression::Off, |above| Compression::Gzip { above, level })
    }
}

/// Of a request's data, where requests are small: what they come to stays in the caches.
const SMALL_BATCH_BYTES: usize = 500_000;

fn on_floor(arguments: &Arguments) -> Result<Figures, Error> {
    let load = arguments.load(arguments.hooks()?.as_ref());
    let address = &*arguments.address;
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
    published(arguments, wire, payload, |options, work| {
        tokio()?.block_on(ours::on_tokio(options, work))
    })
}

fn on_smol(arguments: &Arguments, wire: Wire, payload: Payload) -> Result<Figures, Error> {
    published(arguments, wire, payload, ours::on_smol)
}

fn published(
    arguments: &Arguments,
    wire: Wire,
    payload: Payload,
    publish: impl FnOnce(PublisherOptions, Work<'_>) -> Result<Figures, Error>,
) -> Result<Figures, Error> {
    let options = ours::options(&arguments.address, wire, arguments.compression())
        .batch_max_bytes(arguments.batch_max_bytes())
        .build()?;
    let hooks = arguments.hooks()?;
    let work = Work {
        load: &arguments.load(hooks.as_ref()),
        hooks: hooks.as_ref(),
        payload,
    };
    publish(options, work)
}

fn tokio() -> Result<tokio::runtime::Runtime, Error> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}
