//! How calls over gRPC end.

use bytes::Bytes;
use http::HeaderMap;

use super::super::failing::{Call, unreadable};
use crate::subscribe::{AckId, CallFailure, StreamEnd};
use crate::token::Token;
use crate::wire::grpc::status::{GrpcStatus, read_status};
use crate::wire::grpc::{FrameError, FrameReader, MESSAGE_MAX_BYTES};
use crate::wire::reply::Reply;
use crate::wire::retry_hint::parse_retry_after;

/// Reads the answer to an acknowledge or a deadline change of `ids`. The trailers are empty where
/// none came.
///
/// # Errors
///
/// [`CallFailure`]; where the answer repeats `token`, as a proxy's error page may, it does not.
pub fn read_answer(
    reply: &Reply,
    trailers: &HeaderMap,
    ids: &[AckId],
    token: Option<&Token>,
) -> Result<(), CallFailure> {
    let leases = Some(ids);
    read_end(Call { leases, token }, reply, trailers)?;
    match is_one_message(&reply.body)? {
        true => Ok(()),
        false => Err(unreadable("an OK without exactly one message".into())),
    }
}

/// Reads how a stream ended, after its last message. The body of `reply` is what came that was
/// no frame, or empty; the trailers are empty where none came.
#[must_use]
pub fn read_stream_end(reply: &Reply, trailers: &HeaderMap, token: Option<&Token>) -> StreamEnd {
    let leases = None;
    match read_end(Call { leases, token }, reply, trailers) {
        Ok(()) => StreamEnd::Done,
        Err(failure) => StreamEnd::Failed(failure),
    }
}

fn read_end(call: Call<'_>, reply: &Reply, trailers: &HeaderMap) -> Result<(), CallFailure> {
    match read_status(&reply.headers, trailers) {
        Some(GrpcStatus::Failed { http, document }) => {
            let retry_after = parse_retry_after(&reply.headers, reply.received_at_ms);
            Err(call.refused(http, &document, retry_after))
        }
        _ if reply.status != 200 => Err(call.no_document(reply)),
        Some(GrpcStatus::Ok) => Ok(()),
        None => Err(unreadable("the answer ended without a grpc-status".into())),
    }
}

/// Whether `body` is one frame and nothing else. What is in it does not matter: it is empty.
fn is_one_message(body: &Bytes) -> Result<bool, FrameError> {
    let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
    let mut body = body.clone();
    let first = reader.next_message(&mut body)?;
    let second = reader.next_message(&mut body)?;
    reader.end()?;
    Ok(first.is_some() && second.is_none())
}
