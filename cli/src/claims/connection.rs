//! One connection, from accept to close.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::service::{self, Service};
use super::unstalled::Unstalled;
use crate::interrupt::Interrupt;

/// How long a head may take, and a connection be idle.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer.
const STALLED: Duration = Duration::from_secs(30);

/// Serves a connection to its end. Asked to finish, it ends with the answer under way.
pub(super) async fn serve(stream: TcpStream, service: Arc<Service>, interrupt: Interrupt) {
    // Without it small answers would wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Unstalled::new(stream, STALLED));
    let answer = service_fn(move |request| service::answer(Arc::clone(&service), request));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX);
    let mut serving = pin!(http.serve_connection(stream, answer));
    let ended = match select(serving.as_mut(), pin!(interrupt.asked())).await {
        Either::Left((ended, _)) => ended,
        Either::Right(_) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
