//! The two sides of an open stream.

use std::fmt;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};

use super::error::{broken, ended, is_enough};
use super::pool::Lease;
use crate::seam::{Downlink, Exchange, Part, TransportError, Uplink};

/// A stream of a request that was sent.
pub(super) fn exchange(
    response: ResponseFuture,
    sending: SendStream<Bytes>,
    lease: Lease,
) -> Exchange<Up, Down> {
    let sending = Sending(Arc::new(Mutex::new(sending)));
    Exchange {
        up: Up(sending.clone()),
        down: Down {
            coming: Coming::Head(response),
            sending,
            lease: Some(lease),
        },
    }
}

/// The sending side of a stream.
pub struct Up(Sending);

impl Up {
    /// Waits until the server takes more.
    ///
    /// Only then is the chunk handed over, and all of it: what does not fit the server's window
    /// waits in the connection, and the next chunk waits here.
    fn poll_send(&self, chunk: &Bytes, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        let mut sending = self.0.lock();
        sending.reserve_capacity(1);
        while sending.capacity() == 0 {
            match ready!(sending.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Poll::Ready(Err(ended())),
            }
        }
        let sent = sending.send_data(chunk.clone(), false);
        Poll::Ready(sent.map_err(|_| ended()))
    }
}

impl Uplink for Up {
    async fn send(&mut self, chunk: Bytes) -> Result<(), TransportError> {
        if chunk.is_empty() {
            return Ok(());
        }
        let _unreserved = Unreserved(&self.0);
        poll_fn(|cx| self.poll_send(&chunk, cx)).await
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It fails where the stream has ended.
        let _ = self.0.lock().send_data(Bytes::new(), true);
    }
}

impl fmt::Debug for Up {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Up")
    }
}

/// Gives back what was reserved for a chunk that was not sent: to other streams it counts.
struct Unreserved<'a>(&'a Sending);

impl Drop for Unreserved<'_> {
    fn drop(&mut self) {
        self.0.lock().reserve_capacity(0);
    }
}

/// The receiving side of a stream.
pub struct Down {
    coming: Coming,
    sending: Sending,
    /// None once the stream has ended.
    lease: Option<Lease>,
}

enum Coming {
    Head(ResponseFuture),
    Data(RecvStream),
    Trailers(RecvStream),
    Ended,
}

impl Down {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Part, TransportError>>> {
        loop {
            match &mut self.coming {
                Coming::Head(response) => match ready!(Pin::new(response).poll(cx)) {
                    Ok(response) => {
                        let (parts, stream) = response.into_parts();
                        self.coming = Coming::Data(stream);
                        return Poll::Ready(Some(Ok(Part::Head(parts))));
                    }
                    Err(error) => return Poll::Ready(Some(Err(self.fail(&error)))),
                },
                Coming::Data(stream) => match ready!(stream.poll_data(cx)) {
                    Some(Ok(data)) => {
                        // It fails only for bytes that never came.
                        let _ = stream.flow_control().release_capacity(data.len());
                        // An empty frame says nothing.
                        if !data.is_empty() {
                            return Poll::Ready(Some(Ok(Part::Data(data))));
                        }
                    }
                    Some(Err(error)) if !is_enough(&error) => {
                        return Poll::Ready(Some(Err(self.fail(&error))));
                    }
                    Some(Err(_)) => self.end(),
                    None => {
                        let Coming::Data(stream) =
                            std::mem::replace(&mut self.coming, Coming::Ended)
                        else {
                            continue;
                        };
                        self.coming = Coming::Trailers(stream);
                    }
                },
                Coming::Trailers(stream) => match ready!(stream.poll_trailers(cx)) {
                    Ok(trailers) => {
                        self.end();
                        if let Some(trailers) = trailers {
                            return Poll::Ready(Some(Ok(Part::Trailers(trailers))));
                        }
                    }
                    Err(error) if is_enough(&error) => self.end(),
                    Err(error) => return Poll::Ready(Some(Err(self.fail(&error)))),
                },
                Coming::Ended => return Poll::Ready(None),
            }
        }
    }

    /// The server has said all. What we have not will not be read.
    fn end(&mut self) {
        self.coming = Coming::Ended;
        self.sending.lock().send_reset(Reason::NO_ERROR);
        if let Some(mut lease) = self.lease.take() {
            lease.done();
        }
    }

    fn fail(&mut self, error: &h2::Error) -> TransportError {
        self.coming = Coming::Ended;
        // Where the fault was found here the server does not know yet.
        self.sending.lock().send_reset(Reason::CANCEL);
        if let Some(mut lease) = self.lease.take() {
            lease.done();
        }
        broken(error)
    }
}

impl Downlink for Down {
    async fn next(&mut self) -> Option<Result<Part, TransportError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for Down {
    fn drop(&mut self) {
        if self.lease.is_some() {
            self.sending.lock().send_reset(Reason::CANCEL);
        }
    }
}

impl fmt::Debug for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Down")
            .field("open_on", &self.lease)
            .finish_non_exhaustive()
    }
}

/// The sending half of a stream, which both sides need: one to send, one to reset it. Locked for
/// moments, never across an await.
#[derive(Clone)]
struct Sending(Arc<Mutex<SendStream<Bytes>>>);

impl Sending {
    fn lock(&self) -> MutexGuard<'_, SendStream<Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
