//! Reading a whole answer.

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use h2::client::ResponseFuture;
use http::{HeaderMap, StatusCode};
use pubsink_core::reason::TransportKind;

use super::error::{broken, is_enough};
use crate::seam::{Answer, TransportError};

/// Reads an answer with at most `max` bytes of body. One that breaks off or is too large is an
/// error if it is a 200; any other status says enough without the rest.
pub(super) async fn read(response: ResponseFuture, max: usize) -> Result<Answer, TransportError> {
    let response = response.await.map_err(|error| broken(&error))?;
    let (parts, mut stream) = response.into_parts();
    let mut body = Body::default();
    let trailers = match rest(&mut stream, &mut body, max).await {
        Ok(trailers) => trailers,
        Err(error) if parts.status == StatusCode::OK => return Err(error),
        Err(_) => HeaderMap::new(),
    };
    Ok(Answer {
        parts,
        body: body.whole(),
        trailers,
    })
}

async fn rest(
    stream: &mut RecvStream,
    body: &mut Body,
    max: usize,
) -> Result<HeaderMap, TransportError> {
    loop {
        let mut chunk = match stream.data().await {
            None => break,
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) if is_enough(&error) => return Ok(HeaderMap::new()),
            Some(Err(error)) => return Err(broken(&error)),
        };
        let room = max - body.length;
        if chunk.len() > room {
            body.add(chunk.split_to(room));
            let detail = format!("the answer has more than {max} bytes");
            return Err(TransportError::new(TransportKind::Other, detail));
        }
        // It fails only for bytes that never came.
        let _ = stream.flow_control().release_capacity(chunk.len());
        body.add(chunk);
    }
    match stream.trailers().await {
        Ok(trailers) => Ok(trailers.unwrap_or_default()),
        Err(error) if is_enough(&error) => Ok(HeaderMap::new()),
        Err(error) => Err(broken(&error)),
    }
}

/// Chunks of a body, put together once all are there.
#[derive(Default)]
struct Body {
    chunks: Vec<Bytes>,
    length: usize,
}

impl Body {
    fn add(&mut self, chunk: Bytes) {
        self.length += chunk.len();
        self.chunks.push(chunk);
    }

    fn whole(mut self) -> Bytes {
        if self.chunks.len() <= 1 {
            return self.chunks.pop().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(self.length);
        for chunk in self.chunks {
            whole.extend_from_slice(&chunk);
        }
        whole.freeze()
    }
}
