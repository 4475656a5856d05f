//! HTTP/2 on any runtime: the streaming transport.
//!
//! A runtime crate brings a [`Connector`] (names, sockets, its [`Runtime`]) and a name for the
//! [`Client`] on it. The protocol is by `h2`, TLS by `rustls`.
//!
//! - Calls and streams share connections, up to 100 on each, or as many as the server allows. Past
//!   that there are more, up to a bound for each server; past that they wait, within their time to
//!   connect.
//! - What a server has sent and nobody has read is at most 2 MiB for each open stream or call, and
//!   4 MiB of headers. A connection's window is as large as all of its streams', so no stream holds
//!   up another. What was not sent yet is one chunk of a stream, or the body of a call.
//! - The client sends no pings: servers take them amiss (Google's emulator breaks the connection
//!   after three). A connection that is dead without a word is found out by who waits on it: after
//!   a call that ran out of time, or a stream given up after 10 s of silence, it serves nothing new.

mod answer;
mod builder;
mod connection;
mod dial;
mod error;
mod heard;
mod line;
mod origin;
mod pool;
mod stream;
mod tls;

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use h2::SendStream;
use h2::client::ResponseFuture;
use http::{Request, Version};
use pubsink_core::reason::TransportKind;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};

use self::error::{no_connection, not_sent};
use self::heard::Heard;
use self::line::Line;
use self::origin::Origin;
use self::pool::{Dial, Lease, Next, Place, Pool};
use crate::seam::{Answer, Exchange, Runtime, SendLimits, StreamTransport, TransportError};
use crate::within::within;

pub use self::builder::ClientBuilder;
pub use self::stream::{Down, Up};
pub use rustls;

/// What a runtime has to bring.
pub trait Connector: Send + Sync + 'static {
    /// The runtime, which runs the connections.
    type Runtime: Runtime;
    /// A TCP connection. Small writes should leave at once (`TCP_NODELAY`).
    type Tcp: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// The runtime to run a connection on.
    ///
    /// # Errors
    ///
    /// When there is none here.
    fn runtime(&self) -> Result<Self::Runtime, TransportError>;

    /// The addresses of a host, with the port.
    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// Connects. Dropping the future gives it up.
    fn connect(&self, addr: SocketAddr) -> impl Future<Output = io::Result<Self::Tcp>> + Send;
}

/// An HTTP/2 client: over TLS to `https`, with prior knowledge to `http`. Each request is sent once:
/// no retries, no redirects, no proxy.
///
/// It connects when it is first used. Cloning it is cheap; clones share their connections.
pub struct Client<C>(Arc<Inner<C>>);

struct Inner<C> {
    connector: C,
    tls: Arc<ClientConfig>,
    idle_timeout: Duration,
    pool: Arc<Pool>,
}

impl<C: Connector + Default> Client<C> {
    /// The default client.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A client with settings.
    #[must_use]
    pub fn builder() -> ClientBuilder<C> {
        ClientBuilder::new(C::default())
    }
}

impl<C: Connector + Default> Default for Client<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Connector> Client<C> {
    fn from_parts(
        connector: C,
        tls: Arc<ClientConfig>,
        idle_timeout: Duration,
        connections: usize,
    ) -> Self {
        Self(Arc::new(Inner {
            connector,
            tls,
            idle_timeout,
            pool: Arc::new(Pool::new(connections)),
        }))
    }

    /// Sends a request's head, within `connect`.
    async fn begin(
        &self,
        runtime: &C::Runtime,
        mut request: Request<()>,
        is_whole: bool,
        connect: Duration,
    ) -> Result<Begun, TransportError> {
        let origin = Origin::of(request.uri())?;
        *request.version_mut() = Version::HTTP_2;
        let begin = async {
            let end = runtime.now().checked_add(connect);
            let mut lease = self.lease(runtime, &origin, end).await?;
            let begun = lease.sender.send_request(request, is_whole);
            let (response, sending) = begun.map_err(|error| not_sent(&error))?;
            // Until the stream is open: streams that were given up may still be in its way. If it
            // fails the response tells.
            let _ = poll_fn(|cx| lease.sender.poll_ready(cx)).await;
            Ok(Begun {
                response,
                sending,
                lease,
            })
        };
        let begun = within(runtime, connect, begin).await;
        begun.unwrap_or_else(|| Err(self.0.too_late(&origin, connect)))
    }

    /// A connection with room for a request of a caller who waits for it until `end`.
    async fn lease(
        &self,
        runtime: &C::Runtime,
        origin: &Origin,
        end: Option<Instant>,
    ) -> Result<Lease, TransportError> {
        loop {
            let mut room = pin!(self.0.pool.room());
            room.as_mut().enable();
            let now = runtime.now();
            let next = self.0.pool.next(origin, now, end, || self.dial(origin));
            match next {
                Next::Lease(lease) => return Ok(lease),
                // Who has more time than the one who began it tries another after that.
                Next::Dial(dial, Some(until)) if end.is_none_or(|end| until < end) => {
                    within(runtime, until - now, dial).await.unwrap_or(Ok(()))?;
                }
                Next::Dial(dial, _) => dial.await?,
                Next::Full => room.await,
            }
        }
    }

    /// Begins to make a connection.
    fn dial(&self, origin: &Origin) -> Dial {
        let (inner, origin) = (Arc::clone(&self.0), origin.clone());
        let dial = async move {
            let runtime = inner.connector.runtime()?;
            inner.connect(&runtime, &origin).await
        };
        dial.boxed().shared()
    }
}

impl<C: Connector> Inner<C> {
    /// Makes a connection and puts it into the pool.
    async fn connect(&self, runtime: &C::Runtime, origin: &Origin) -> Result<(), TransportError> {
        let tcp = dial::tcp(&self.connector, runtime, origin).await?;
        if origin.tls {
            let tls = dial::tls(tcp, origin, &self.tls).await?;
            self.start(runtime, origin, tls).await
        } else {
            self.start(runtime, origin, tcp).await
        }
    }

    async fn start<T>(
        &self,
        runtime: &C::Runtime,
        origin: &Origin,
        io: T,
    ) -> Result<(), TransportError>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let clock = runtime.clone();
        let line = Arc::new(Line::new(origin.clone(), move || clock.now()));
        let name = line.origin.name();
        let heard = Heard {
            io,
            line: Arc::clone(&line),
        };
        let (sender, connection) = connection::handshake(heard)
            .await
            .map_err(|error| no_connection(format_args!("no HTTP/2 with {name}: {error}")))?;
        let place = Place {
            pool: Arc::downgrade(&self.pool),
            line: Arc::clone(&line),
        };
        self.pool.add(sender, Arc::clone(&line));
        let running = connection::run(runtime.clone(), connection, place, self.idle_timeout);
        runtime.spawn(running);
        if self.pool.has(&line) {
            Ok(())
        } else {
            let detail = format_args!("the connection with {name} ended as soon as it was made");
            Err(no_connection(detail))
        }
    }

    fn too_late(&self, origin: &Origin, limit: Duration) -> TransportError {
        let (name, limit) = (origin.name(), limit.as_millis());
        if self.pool.is_full(origin) {
            no_connection(format_args!(
                "no room on the connections to {name} within {limit} ms"
            ))
        } else {
            no_connection(format_args!("no connection with {name} within {limit} ms"))
        }
    }
}

/// A request whose head was sent.
struct Begun {
    response: ResponseFuture,
    sending: SendStream<Bytes>,
    lease: Lease,
}

impl<C: Connector> StreamTransport for Client<C> {
    type Up = Up;
    type Down = Down;

    async fn call(
        &self,
        request: Request<Bytes>,
        limits: SendLimits,
    ) -> Result<Answer, TransportError> {
        let runtime = self.0.connector.runtime()?;
        let (head, body) = request.into_parts();
        let request = Request::from_parts(head, ());
        let begun = self.begin(&runtime, request, body.is_empty(), limits.connect);
        let Begun {
            response,
            mut sending,
            mut lease,
        } = begun.await?;
        let exchange = async {
            if !body.is_empty() {
                // If it fails the answer tells.
                let _ = sending.send_data(body, true);
            }
            answer::read(response, limits.body_max).await
        };
        let Some(answer) = within(&runtime, limits.response, exchange).await else {
            lease.timed_out();
            let limit = limits.response.as_millis();
            let detail = format!("no reply within {limit} ms");
            return Err(TransportError::new(TransportKind::Timeout, detail));
        };
        lease.done();
        answer
    }

    async fn open(
        &self,
        request: Request<()>,
        connect: Duration,
    ) -> Result<Exchange<Up, Down>, TransportError> {
        let runtime = self.0.connector.runtime()?;
        let begun = self.begin(&runtime, request, false, connect).await?;
        Ok(stream::exchange(begun.response, begun.sending, begun.lease))
    }
}

impl<C> Clone for Client<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C> fmt::Debug for Client<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("idle_timeout", &self.0.idle_timeout)
            .field("pool", &self.0.pool)
            .finish_non_exhaustive()
    }
}
