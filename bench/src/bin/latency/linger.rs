//! How long a batch of one message waits beyond its linger.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use pubsink_bench::Error;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::Message;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{SendLimits, Transport, TransportError};
use smol::Executor;
use smol::channel::{Receiver, Sender, bounded};

use crate::clients::RuntimeName;
use crate::quantiles::Quantiles;

/// Publishes one message after another, each when the last one is confirmed and after a pause, so
/// that each is a batch of its own.
pub(crate) fn run(
    runtime: RuntimeName,
    linger_ms: u64,
    messages: usize,
) -> Result<Quantiles, Error> {
    let linger = Duration::from_millis(linger_ms);
    let options = PublisherOptions::builder("p", "hooks").batch_linger(linger);
    let options = options.build()?;
    let (sender, sent) = bounded(1);
    let transport = Notes(sender);
    let mut run = Run {
        linger,
        messages,
        sent,
        // The pauses are the same in every run.
        pauses: fastrand::Rng::with_seed(1),
    };
    match runtime {
        RuntimeName::Tokio => {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build()?.block_on(async {
                let publisher = pubsink_tokio::publisher(options).transport(transport);
                run.measure(&publisher.spawn()?, tokio::time::sleep).await
            })
        }
        RuntimeName::Smol => {
            let executor = Arc::new(Executor::new());
            let publisher = pubsink_smol::publisher(options).transport(transport);
            let publisher = publisher.spawn_on(&executor)?;
            let sleep = |pause| async move {
                smol::Timer::after(pause).await;
            };
            smol::block_on(executor.run(run.measure(&publisher, sleep)))
        }
    }
}

/// A transport that notes when it was given a request, and answers at once.
struct Notes(Sender<Instant>);

impl Transport for Notes {
    async fn send(
        &self,
        _: Request<Bytes>,
        _: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        // Nobody reads it where the run has ended.
        let _ = self.0.send(Instant::now()).await;
        let reply = Bytes::from_static(br#"{"messageIds":["1"]}"#);
        Ok(Response::new(reply))
    }
}

struct Run {
    linger: Duration,
    messages: usize,
    /// When requests were sent.
    sent: Receiver<Instant>,
    pauses: fastrand::Rng,
}

impl Run {
    async fn measure<S: Future<Output = ()>>(
        &mut self,
        publisher: &Publisher,
        sleep: impl Fn(Duration) -> S,
    ) -> Result<Quantiles, Error> {
        let mut over = Vec::with_capacity(self.messages);
        for _ in 0..self.messages {
            // Of any part of a millisecond, so that nothing keeps step with a timer's.
            sleep(Duration::from_micros(self.pauses.u64(1_000..6_000))).await;
            let admitted = Instant::now();
            let delivery = publisher.publish(Message::new("a message"));
            let sent = self.sent.recv().await?;
            delivery.await?;
            let waited = sent - admitted;
            let more = waited.checked_sub(self.linger);
            over.push(more.ok_or_else(|| format!("sent after {waited:?}, before its linger"))?);
        }
        Quantiles::of(over).ok_or_else(|| "no messages were published".into())
    }
}
