//! A stream of messages.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::task::AtomicWaker;
use http::HeaderMap;
use pubsink_core::subscribe::{CallFailure, StreamEnd, StreamId, SubscribeInput};
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;
use pubsink_core::wire::grpc::{FrameReader, MESSAGE_MAX_BYTES};
use pubsink_core::wire::subscribe::grpc;

use super::client::{AnyDown, AnyStreams, AnyUp};
use super::tasks::{Tasks, failed};
use crate::seam::{Exchange, Part, Runtime};

/// The most that is read of an answer that is no stream: what is told of it is shorter.
const PAGE_MAX_BYTES: usize = 64 * 1024;
const OK: u16 = 200;

/// What is to be said on a stream. Setting it does not wait; what was not said yet is said once.
#[derive(Debug, Default)]
pub(super) struct Says {
    ping: AtomicBool,
    /// Nothing more: our half is closed.
    close: AtomicBool,
    waker: AtomicWaker,
}

impl Says {
    /// Wakes a task, which is foreign code.
    pub(super) fn ping(&self) {
        self.ping.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Wakes a task, which is foreign code.
    pub(super) fn close(&self) {
        self.close.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether to ping; false: close.
    fn poll_ping(&self, cx: &mut Context<'_>) -> Poll<bool> {
        self.waker.register(cx.waker());
        if self.close.load(Ordering::Acquire) {
            return Poll::Ready(false);
        }
        match self.ping.swap(false, Ordering::AcqRel) {
            true => Poll::Ready(true),
            false => Poll::Pending,
        }
    }
}

/// A stream on its way.
pub(super) struct Stream<'a, R> {
    pub(super) id: StreamId,
    pub(super) tasks: &'a Tasks<R>,
    pub(super) says: &'a Says,
}

impl<R: Runtime> Stream<'_, R> {
    /// Opens it, and brings what comes on it to the machine until it ends.
    pub(super) async fn run(
        self,
        client: &dyn AnyStreams,
        ack_deadline: u16,
        refused: Option<Token>,
    ) -> Result<StreamEnd, CallFailure> {
        let options = &self.tasks.shared.options;
        let token = self.tasks.token(refused).await?;
        let token = token.as_ref();
        let opened = client.open(grpc::streaming_pull(options, token), options.timeout());
        let Exchange { up, down } = opened.await.map_err(|error| failed(&error, token))?;
        let first = grpc::stream_first(options, ack_deadline, &self.tasks.client_id);
        let mut talking = pin!(self.talk(up, first));
        let mut listening = pin!(self.listen(down, token));
        let mut talks = true;
        // How it ends is heard. Neither side holds up the other.
        poll_fn(|cx| {
            if talks && talking.as_mut().poll(cx).is_ready() {
                talks = false;
            }
            listening.as_mut().poll(cx)
        })
        .await
    }

    /// Says what is to be said until our half is closed.
    async fn talk(&self, mut up: Box<dyn AnyUp>, first: Bytes) {
        let mut chunk = first;
        loop {
            if up.send(chunk).await.is_err() {
                // The other side tells why.
                return;
            }
            if !poll_fn(|cx| self.says.poll_ping(cx)).await {
                return up.close();
            }
            chunk = grpc::stream_ping();
        }
    }

    /// Reads responses while the machine has room for them.
    async fn listen(
        &self,
        mut down: Box<dyn AnyDown>,
        token: Option<&Token>,
    ) -> Result<StreamEnd, CallFailure> {
        let shared = &self.tasks.shared;
        let mut frames = FrameReader::new(MESSAGE_MAX_BYTES);
        let mut chunk = Bytes::new();
        let mut page = BytesMut::new();
        let mut head = Reply::default();
        loop {
            poll_fn(|cx| shared.poll_reads(self.id, cx)).await;
            if let Some(message) = frames.next_message(&mut chunk)? {
                self.bring(message)?;
                continue;
            }
            let part = down.next().await;
            let trailers = match part {
                Some(Ok(Part::Head(parts))) => {
                    head = self.tasks.reply(parts, Bytes::new());
                    continue;
                }
                Some(Ok(Part::Data(data))) if head.status == OK => {
                    chunk = data;
                    continue;
                }
                Some(Ok(Part::Data(data))) => {
                    let room = PAGE_MAX_BYTES - page.len();
                    page.extend_from_slice(&data[..data.len().min(room)]);
                    if page.len() < PAGE_MAX_BYTES {
                        continue;
                    }
                    HeaderMap::new()
                }
                Some(Ok(Part::Trailers(trailers))) => trailers,
                // The status of any other answer says enough.
                Some(Err(error)) if matches!(head.status, 0 | OK) => {
                    return Err(failed(&error, token));
                }
                Some(Err(_)) | None => HeaderMap::new(),
            };
            head.body = page.freeze();
            let end = grpc::read_stream_end(&head, &trailers, token);
            if end == StreamEnd::Done {
                frames.end()?;
            }
            return Ok(end);
        }
    }

    fn bring(&self, message: Bytes) -> Result<(), CallFailure> {
        let streamed = grpc::read_stream_message(message)?;
        let shared = &self.tasks.shared;
        shared.unreadable(streamed.unreadable);
        shared.input(SubscribeInput::Streamed {
            stream: self.id,
            answer: streamed.answer,
        });
        Ok(())
    }
}
