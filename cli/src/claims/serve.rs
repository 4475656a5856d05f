//! `pubsink claims serve`: claims over HTTP.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use futures_util::future::{Either, select};
use pubsink_core::claim::ClaimsUrl;
use pubsink_core::claim::endpoint::Endpoint;
use tokio::net::{TcpListener as Listener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::accepting::Failures;
use super::service::Service;
use super::{StoreFlag, connection, tokens};
use crate::exit::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::say::{print, say};

/// How many connections there are at most. More wait to be accepted.
const CONNECTIONS_MAX: u32 = 256;
/// Out of file descriptors, say: try again a little later.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(20);
/// How long the answers under way may take when the command is asked to finish.
const FINISHING: Duration = Duration::from_secs(10);

/// Serve the bodies of a claim store over HTTP/1.1, until SIGINT or SIGTERM.
///
/// Answers GET and HEAD of /v1/claims/TENANT/ID, byte ranges too, to those who have a bearer token
/// for the tenant, and of /health to all. Speaks no TLS: put it behind what does. Prints its
/// address as host:port on standard output.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 ended by a signal; 2 it could not run",
    group = ArgGroup::new("who").required(true).args(["token_file", "open_to_all"])
)]
pub(super) struct Arguments {
    #[command(flatten)]
    store: StoreFlag,
    /// Where to listen, as host:port; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// Serve those who have a token of FILE: one a line, `TOKEN tenant1,tenant2` or `TOKEN *`; #
    /// begins a comment. It is read once
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Serve whoever asks, all tenants' claims
    #[arg(long)]
    open_to_all: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let store = arguments.store.open()?;
    let endpoint = match &arguments.token_file {
        Some(path) => tokens::read(path)?,
        None => Endpoint::open_to_all(),
    };
    let cannot = |error| CommandError::new(format!("cannot listen on {}", arguments.listen), error);
    let listener = TcpListener::bind(&arguments.listen).map_err(cannot)?;
    let addr = listener.local_addr().map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let interrupt = Interrupt::listen()?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new("cannot start the runtime", error))?;
    print(addr)?;
    // Another reading of it, which has nothing to hide.
    let place = ClaimsUrl::parse(&arguments.store.claims).map(|url| url.to_string());
    say(format_args!(
        "pubsink: the claims of {} at http://{addr}; Ctrl-C ends it",
        place.unwrap_or_default()
    ));
    if endpoint.is_open_to_all() {
        say("pubsink: whoever can reach it is served");
    }
    let service = Arc::new(Service { endpoint, store });
    let served = runtime.block_on(serve(listener, service, interrupt));
    // A read that hangs must not hold up the end.
    runtime.shutdown_background();
    served.map_err(cannot)?;
    Ok(Exit::Delivered)
}

/// Accepts connections until the command is asked to finish, and then waits for their end.
async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    interrupt: Interrupt,
) -> io::Result<()> {
    let listener = Listener::from_std(listener)?;
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
    let mut failures = Failures::default();
    loop {
        let accepting = pin!(accept(&listener, &free));
        let (stream, permit) = match select(pin!(interrupt.asked()), accepting).await {
            Either::Left(_) => break,
            Either::Right((Ok(accepted), _)) => accepted,
            Either::Right((Err(error), _)) => {
                if let Some(failures) = failures.failed(Instant::now()) {
                    tracing::warn!(%error, failures, "connections could not be accepted");
                }
                sleep(AFTER_FAILED_ACCEPT).await;
                continue;
            }
        };
        let serving = connection::serve(stream, Arc::clone(&service), interrupt.clone());
        tokio::spawn(async move {
            serving.await;
            drop(permit);
        });
    }
    drop(listener);
    // Those that are not over by then are broken off.
    let _ = timeout(FINISHING, free.acquire_many(CONNECTIONS_MAX)).await;
    Ok(())
}

async fn accept(
    listener: &Listener,
    free: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(free).acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}
