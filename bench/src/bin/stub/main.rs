//! A Pub/Sub that only counts: it takes publishes over REST and gRPC as fast as one core can, and
//! serves streaming pulls, so that what is measured is the client.
//!
//! Each connection shows by its first bytes which of the two it speaks. `GET /count` tells how many
//! messages were published or acknowledged so far, `GET /bytes` how many bytes of bodies came. A body
//! may be compressed, by gzip.

mod count;
mod gunzip;
mod http1;
mod http2;
mod pull;
mod replies;

use std::cell::Cell;
use std::rc::Rc;

use clap::Parser;
use pubsink_bench::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

use replies::Replies;

/// Counts what is published to it, and serves endless messages.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8095")]
    listen: String,
    /// How large the messages are that are served to streaming pulls
    #[arg(long, default_value_t = 1_024)]
    pull_size: usize,
}

/// What all connections share.
struct Server {
    counted: Cell<u64>,
    /// Bytes of bodies, as they came.
    bytes: Cell<u64>,
    replies: Replies,
    pull: pull::Batch,
}

impl Server {
    fn count(&self, messages: usize) {
        self.counted.set(self.counted.get() + messages as u64);
    }

    fn came(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes as u64);
    }
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let server = Rc::new(Server {
        counted: Cell::new(0),
        bytes: Cell::new(0),
        replies: Replies::new(),
        pull: pull::Batch::new(arguments.pull_size),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, listen(&arguments.listen, server))
}

async fn listen(address: &str, server: Rc<Server>) -> Result<(), Error> {
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let server = Rc::clone(&server);
        tokio::task::spawn_local(async move {
            if let Err(error) = serve(stream, server).await {
                eprintln!("stub: {error}");
            }
        });
    }
}

async fn serve(stream: TcpStream, server: Rc<Server>) -> Result<(), Error> {
    // HTTP/2 begins with PRI, and no method of HTTP/1.1 does.
    let mut first = [0; 3];
    while stream.peek(&mut first).await? == 1 {
        tokio::task::yield_now().await;
    }
    if first.starts_with(b"PR") {
        http2::serve(stream, server).await
    } else {
        http1::serve(stream, &server).await
    }
}
