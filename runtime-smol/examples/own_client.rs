//! Puts an HTTP client of one's own under a publisher: one that counts, around the default one.
//! Any client will do that sends a request once and gives back the reply.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use pubsink_fixtures::server::Server;
use pubsink_smol::HttpClient;
use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::core::publish::Message;
use pubsink_smol::seam::{SendLimits, Transport, TransportError};

struct Counting {
    inner: HttpClient,
    sent: Arc<AtomicU64>,
}

impl Transport for Counting {
    async fn send(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let bytes = request.body().len() as u64;
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        self.inner.send(request, limits).await
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    server.create_topic("projects/p/topics/hooks")?;
    let options = PublisherOptions::builder("p", "hooks").endpoint(&server.endpoint());

    let sent = Arc::new(AtomicU64::new(0));
    let client = Counting {
        inner: HttpClient::new(),
        sent: Arc::clone(&sent),
    };
    let publisher = pubsink_smol::publisher(options.build()?)
        .transport(client)
        .spawn()?;
    let delivered = publisher.publish(Message::new("hello")).await?;
    println!(
        "stored as {}, {} bytes sent",
        delivered.message_id,
        sent.load(Ordering::Relaxed)
    );
    Ok(())
}
