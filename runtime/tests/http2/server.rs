//! An HTTP/2 server that does what a case says.

use std::future::{Future, poll_fn};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

type Handler = Arc<dyn Fn(Call) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A running server. It ends when it is dropped.
pub(crate) struct Server {
    addr: SocketAddr,
    is_tls: bool,
    accepted: Arc<AtomicUsize>,
    closed: mpsc::UnboundedReceiver<usize>,
    _stop: oneshot::Sender<()>,
}

/// What it is like before it runs.
pub(crate) struct ServerBuilder {
    http2: Builder,
    tls: Option<TlsAcceptor>,
    silent: usize,
}

/// One request and its answer.
pub(crate) struct Call {
    /// Which of the server's connections it came on, from 0.
    pub(crate) connection: usize,
    pub(crate) request: Request<RecvStream>,
    pub(crate) respond: SendResponse<Bytes>,
    control: mpsc::UnboundedSender<Command>,
}

enum Command {
    GoAway,
    Cut,
}

impl Server {
    pub(crate) fn builder() -> ServerBuilder {
        ServerBuilder {
            http2: Builder::new(),
            tls: None,
            silent: 0,
        }
    }

    /// One with the protocol's defaults.
    pub(crate) fn start<F>(handler: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::builder().start(handler)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority())
    }

    /// By name where it is TLS, since its certificate names no address.
    pub(crate) fn authority(&self) -> String {
        let host = if self.is_tls {
            "localhost"
        } else {
            "127.0.0.1"
        };
        format!("{host}:{}", self.addr.port())
    }

    /// The connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Waits for the end of a connection; which one it was.
    pub(crate) async fn closed(&mut self) -> usize {
        self.closed.recv().await.unwrap()
    }
}

impl ServerBuilder {
    pub(crate) fn max_streams(mut self, max: u32) -> Self {
        self.http2.max_concurrent_streams(max);
        self
    }

    /// Windows so large that a client has to wait for nothing but what is not read on its stream.
    pub(crate) fn wide_connection(mut self) -> Self {
        self.http2.initial_connection_window_size(64 * 1024 * 1024);
        self
    }

    /// Takes the first connections and says nothing on them.
    pub(crate) fn silent(mut self, connections: usize) -> Self {
        self.silent = connections;
        self
    }

    pub(crate) fn tls(mut self, tls: TlsAcceptor) -> Self {
        self.tls = Some(tls);
        self
    }

    pub(crate) fn start<F>(self, handler: impl Fn(Call) -> F + Send + Sync + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |call| Box::pin(handler(call)));
        let (stop, stopped) = oneshot::channel();
        let (ended, closed) = mpsc::unbounded_channel();
        let accepted = Arc::new(AtomicUsize::new(0));
        let (is_tls, count) = (self.tls.is_some(), Arc::clone(&accepted));
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let addr = listener.local_addr().unwrap();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = self.accept(listener, handler, count, ended) => {}
                    _ = stopped => {}
                }
            });
        });
        Server {
            addr,
            is_tls,
            accepted,
            closed,
            _stop: stop,
        }
    }

    async fn accept(
        self,
        listener: TcpListener,
        handler: Handler,
        count: Arc<AtomicUsize>,
        ended: mpsc::UnboundedSender<usize>,
    ) {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            tcp.set_nodelay(true).unwrap();
            let connection = count.fetch_add(1, Ordering::SeqCst);
            let (http2, tls) = (self.http2.clone(), self.tls.clone());
            let (handler, ended) = (Arc::clone(&handler), ended.clone());
            let is_silent = connection < self.silent;
            tokio::spawn(async move {
                match tls {
                    None if is_silent => hang_on(tcp).await,
                    None => serve(tcp, http2, connection, handler).await,
                    // A client that does not like the certificate goes away here.
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(tcp).await {
                            serve(stream, http2, connection, handler).await;
                        }
                    }
                }
                let _ = ended.send(connection);
            });
        }
    }
}

/// Reads until the client has gone.
async fn hang_on(mut tcp: TcpStream) {
    let _ = tokio::io::copy(&mut tcp, &mut tokio::io::sink()).await;
}

async fn serve<T>(io: T, http2: Builder, connection: usize, handler: Handler)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (control, mut commands) = mpsc::unbounded_channel();
    let Ok(mut http2) = http2.handshake::<_, Bytes>(io).await else {
        return;
    };
    loop {
        tokio::select! {
            accepted = http2.accept() => {
                let Some(Ok((request, respond))) = accepted else {
                    return;
                };
                tokio::spawn(handler(Call {
                    connection,
                    request,
                    respond,
                    control: control.clone(),
                }));
            }
            command = commands.recv() => match command {
                Some(Command::GoAway) => http2.graceful_shutdown(),
                Some(Command::Cut) | None => return,
            },
        }
    }
}

impl Call {
    pub(crate) fn path(&self) -> &str {
        self.request.uri().path()
    }

    /// Begins an answer.
    pub(crate) fn head(&mut self) -> SendStream<Bytes> {
        self.head_of(200)
    }

    pub(crate) fn head_of(&mut self, status: u16) -> SendStream<Bytes> {
        let head = response(status);
        self.respond.send_response(head, false).unwrap()
    }

    /// Answers with `body` and good trailers.
    pub(crate) fn answer(&mut self, body: impl Into<Bytes>) {
        let mut stream = self.head();
        stream.send_data(body.into(), false).unwrap();
        stream.send_trailers(trailers("0")).unwrap();
    }

    /// Answers by a head that is all.
    pub(crate) fn refuse(&mut self, status: &str) {
        let mut head = response(200);
        *head.headers_mut() = trailers(status);
        self.respond.send_response(head, true).unwrap();
    }

    /// The next chunk of the request. An empty one only marks the end.
    pub(crate) async fn chunk(&mut self) -> Option<Bytes> {
        let body = self.request.body_mut();
        loop {
            let chunk = body.data().await?.ok()?;
            if !chunk.is_empty() {
                body.flow_control().release_capacity(chunk.len()).unwrap();
                return Some(chunk);
            }
        }
    }

    /// The rest of the request.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut read = Vec::new();
        while let Some(chunk) = self.chunk().await {
            read.extend_from_slice(&chunk);
        }
        read
    }

    /// Waits until the client resets a stream that was not answered.
    pub(crate) async fn reset(&mut self) -> Reason {
        poll_fn(|cx| self.respond.poll_reset(cx)).await.unwrap()
    }

    /// Takes no more streams on this connection.
    pub(crate) fn go_away(&self) {
        let _ = self.control.send(Command::GoAway);
    }

    /// Ends this connection without a word.
    pub(crate) fn cut(&self) {
        let _ = self.control.send(Command::Cut);
    }
}

/// Waits until the client resets a stream whose answer has begun.
pub(crate) async fn reset(stream: &mut SendStream<Bytes>) -> Reason {
    poll_fn(|cx| stream.poll_reset(cx)).await.unwrap()
}

fn response(status: u16) -> Response<()> {
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::from_u16(status).unwrap();
    head
}

pub(crate) fn trailers(status: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_str(status).unwrap());
    trailers
}
