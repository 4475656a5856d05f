//! `StreamingPull`: endless messages, as fast as the client takes them.

use std::future::poll_fn;

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use memchr::memmem;
use pubsink_bench::Error;
use pubsink_bench::load::Load;
use pubsink_bench::micro::subscribe::{
    ACK_ID_BYTES, ID_BYTES, MESSAGES, id_digits, response_frame,
};

use super::http2;

/// A response of a stream. Its messages are the same every time, but that their ids and ack ids are
/// not: each ends in digits that are written anew.
pub(crate) struct Batch {
    frame: BytesMut,
    /// Where the digits of each message stand: of its ack id and of its id.
    digits: Vec<[usize; 2]>,
}

/// The digits of an id that are written anew.
const DIGITS: usize = 12;

impl Batch {
    pub(crate) fn new(size: usize) -> Self {
        let frame = response_frame(&Load::new(MESSAGES, size));
        let ends = |pattern: &[u8], length: usize| -> Vec<usize> {
            let starts = memmem::find_iter(&frame, pattern);
            starts.map(|start| start + length - DIGITS).collect()
        };
        let ack_ids = ends(&[b'a'; ACK_ID_BYTES], ACK_ID_BYTES);
        let ids = ends(b"\x1A\x108140743286", 2 + ID_BYTES);
        let digits = ack_ids.into_iter().zip(ids);
        let digits = digits.map(|(ack_id, id)| [ack_id, id]).collect();
        Self { frame, digits }
    }

    /// The next response: its ack ids begin with number `first`.
    fn next(&self, first: u64) -> Bytes {
        let mut frame = self.frame.clone();
        for (number, at) in (first..).zip(&self.digits) {
            let digits = &id_digits(number)[ID_BYTES - DIGITS..];
            for at in *at {
                frame[at..at + DIGITS].copy_from_slice(digits);
            }
        }
        frame.freeze()
    }
}

/// Serves one stream until its client ends it. What the client sends is read and means nothing.
pub(crate) async fn serve(
    mut body: RecvStream,
    mut answer: SendResponse<Bytes>,
    batch: &Batch,
) -> Result<(), Error> {
    let mut stream = answer.send_response(http2::head()?, false)?;
    let reading = async {
        while let Some(Ok(data)) = body.data().await {
            // It fails where the stream has ended, which shows in the next turn.
            let _ = body.flow_control().release_capacity(data.len());
        }
    };
    let writing = async {
        let mut first = 0;
        while send(&mut stream, batch.next(first)).await.is_ok() {
            first += MESSAGES as u64;
        }
    };
    tokio::select! {
        () = reading => {}
        () = writing => {}
    }
    Ok(())
}

/// Sends a frame as the client's window has room.
async fn send(stream: &mut SendStream<Bytes>, mut frame: Bytes) -> Result<(), Error> {
    while !frame.is_empty() {
        stream.reserve_capacity(frame.len());
        let capacity = poll_fn(|cx| stream.poll_capacity(cx)).await;
        let capacity = capacity.ok_or("the stream ended")??;
        stream.send_data(frame.split_to(capacity.min(frame.len())), false)?;
    }
    Ok(())
}
