//! A driver that needs no executor.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::seam::Transport;
use pubsink_runtime::{Publisher, TokenProvider, connect};
use smol::Executor;

use crate::runtime::Smol;

/// Runs a publisher and its requests, all inside this one future: any executor, or a plain
/// `block_on`, is enough.
///
/// It ends when the publisher was closed and everything is settled; dropped before that, it
/// gives its requests up and settles what is left as failed. While nobody polls it nothing is
/// sent, and requests in flight may run out of time.
#[must_use = "a publisher sends nothing until its driver runs"]
pub struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Driver {
    pub(crate) fn connect<T: Transport, P: TokenProvider>(
        options: PublisherOptions,
        transport: T,
        tokens: Option<P>,
        seed: u64,
    ) -> (Publisher, Self) {
        let executor = Arc::new(Executor::new());
        let runtime = Smol::from(&executor);
        let (publisher, driver) = connect(options, runtime, transport, tokens, seed);
        let all = async move { executor.run(driver).await };
        (publisher, Self(Box::pin(all)))
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}
