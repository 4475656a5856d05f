//! The runtimes that commands run on.

use std::sync::Arc;
use std::thread;

use clap::{Args, ValueEnum};
use pubsink_core::options::PublisherOptions;
use pubsink_tokio::seam::{Runtime, Transport};
use pubsink_tokio::{Publisher, TokenProvider, Tokio};
use smol::Executor;
use tokio::runtime::Builder;

use crate::claims::Store;
use crate::exit::{CommandError, Exit};
use crate::subscribe::{self, Opening};

/// Which runtime, and with it which HTTP client.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct RuntimeFlag {
    /// The async runtime and HTTP client to send with
    #[arg(long, env = "PUBSINK_RUNTIME", value_enum, default_value_t = Name::Tokio)]
    runtime: Name,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    /// tokio, with hyper
    Tokio,
    /// smol, with isahc (curl)
    Smol,
}

/// Where the publisher's own tasks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tasks {
    /// On the thread that works too: the least overhead.
    Here,
    /// On another: whatever the work blocks on, such as a reader of its output, the requests in
    /// flight go on and do not time out.
    Aside,
}

/// What a command does with a publisher, whatever the runtime.
pub(crate) trait Work {
    /// What comes of it.
    type Done;

    async fn run<R: Runtime, T: Transport>(
        self,
        runtime: R,
        client: T,
        publisher: Publisher,
    ) -> Result<Self::Done, CommandError>;
}

impl RuntimeFlag {
    /// Opens a claim store that is used on it.
    pub(crate) fn open_claims(self, url: &str) -> Result<Store, CommandError> {
        match self.runtime {
            Name::Tokio => Store::on_tokio(url),
            Name::Smol => Store::on_smol(url),
        }
    }

    /// Opens a subscription, and handles its messages until the end.
    pub(crate) fn serve(self, opening: Opening) -> Result<Exit, CommandError> {
        match self.runtime {
            Name::Tokio => subscribe::on_tokio(opening),
            Name::Smol => subscribe::on_smol(opening),
        }
    }

    /// Starts a publisher and does the work with it.
    pub(crate) fn run<W: Work>(
        self,
        tasks: Tasks,
        options: PublisherOptions,
        tokens: Option<impl TokenProvider>,
        work: W,
    ) -> Result<W::Done, CommandError> {
        match self.runtime {
            Name::Tokio => on_tokio(tasks, options, tokens, work),
            Name::Smol => on_smol(tasks, options, tokens, work),
        }
    }
}

fn on_tokio<W: Work>(
    tasks: Tasks,
    options: PublisherOptions,
    tokens: Option<impl TokenProvider>,
    work: W,
) -> Result<W::Done, CommandError> {
    let mut builder = match tasks {
        Tasks::Here => Builder::new_current_thread(),
        Tasks::Aside => Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new("cannot start the runtime", error))?;
    let done = runtime.block_on(async {
        let client = pubsink_tokio::HttpClient::new();
        let publisher = pubsink_tokio::publisher(options).transport(client.clone());
        let publisher = match tokens {
            Some(tokens) => publisher.token_provider(tokens).spawn(),
            None => publisher.spawn(),
        };
        let publisher = publisher.map_err(|error| CommandError(error.to_string()))?;
        let runtime = Tokio::new(tokio::runtime::Handle::current());
        work.run(runtime, client, publisher).await
    });
    // A host name that is still being looked up must not hold up the end.
    runtime.shutdown_background();
    done
}

fn on_smol<W: Work>(
    tasks: Tasks,
    options: PublisherOptions,
    tokens: Option<impl TokenProvider>,
    work: W,
) -> Result<W::Done, CommandError> {
    let executor = Arc::new(Executor::new());
    let client = pubsink_smol::HttpClient::new();
    let publisher = pubsink_smol::publisher(options).transport(client.clone());
    let publisher = match tokens {
        Some(tokens) => publisher.token_provider(tokens).spawn_on(&executor),
        None => publisher.spawn_on(&executor),
    };
    let publisher = publisher.map_err(|error| CommandError(error.to_string()))?;
    let work = work.run(pubsink_smol::Smol::from(&executor), client, publisher);
    match tasks {
        Tasks::Here => smol::block_on(executor.run(work)),
        Tasks::Aside => {
            // Runs until this function ends.
            let (stop, stopped) = async_channel::bounded::<()>(1);
            let aside = Arc::clone(&executor);
            thread::spawn(move || smol::block_on(aside.run(stopped.recv())));
            let done = smol::block_on(work);
            stop.close();
            done
        }
    }
}
