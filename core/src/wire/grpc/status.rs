//! The status a call over gRPC ends with.
//!
//! It stands in the trailers, or in the headers of an answer that is nothing else. It says what
//! the error document of a REST call says, so it is read into one.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use percent_encoding::percent_decode;
use prost::Message as _;

use super::proto;
use crate::wire::base64_text::decode_into;
use crate::wire::error_document::{ErrorDocument, ErrorInfo, type_name};
use crate::wire::retry_hint::RETRY_AFTER_MAX;

pub(crate) const STATUS: &str = "grpc-status";
pub(crate) const MESSAGE: &str = "grpc-message";
pub(crate) const DETAILS: &str = "grpc-status-details-bin";

/// The codes by number: their name, and the HTTP status that each stands for
/// (google/rpc/code.proto).
const CODES: [(&str, u16); 17] = [
    ("OK", 200),
    ("CANCELLED", 499),
    UNKNOWN,
    ("INVALID_ARGUMENT", 400),
    ("DEADLINE_EXCEEDED", 504),
    ("NOT_FOUND", 404),
    ("ALREADY_EXISTS", 409),
    ("PERMISSION_DENIED", 403),
    ("RESOURCE_EXHAUSTED", 429),
    ("FAILED_PRECONDITION", 400),
    ("ABORTED", 409),
    ("OUT_OF_RANGE", 400),
    ("UNIMPLEMENTED", 501),
    ("INTERNAL", 500),
    ("UNAVAILABLE", 503),
    ("DATA_LOSS", 500),
    ("UNAUTHENTICATED", 401),
];

/// What any other code is.
const UNKNOWN: (&str, u16) = ("UNKNOWN", 500);

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GrpcStatus {
    Ok,
    Failed {
        /// The HTTP status that its code stands for.
        http: u16,
        /// What it says.
        document: ErrorDocument,
    },
}

/// Reads the status of an answer. `None`: whatever answered, it did not speak gRPC to the end.
pub(crate) fn read_status(headers: &HeaderMap, trailers: &HeaderMap) -> Option<GrpcStatus> {
    let mut places = [trailers, headers].into_iter();
    let fields = places.find(|fields| fields.contains_key(STATUS))?;
    let (name, http) = code(fields.get(STATUS)?.as_bytes());
    if http == 200 {
        return Some(GrpcStatus::Ok);
    }
    let message = fields.get(MESSAGE).map(HeaderValue::as_bytes);
    let message: Vec<u8> = percent_decode(message.unwrap_or_default()).collect();
    let mut document = ErrorDocument {
        status: name.to_owned(),
        message: lossy(&message),
        ..ErrorDocument::default()
    };
    if let Some(status) = fields.get(DETAILS).and_then(details) {
        add_details(&mut document, &status);
    }
    Some(GrpcStatus::Failed { http, document })
}

/// The name of the code that `http` stands for in a document of Google's; of several the most
/// common.
pub(crate) fn name_of(http: u16) -> &'static str {
    let code = CODES.iter().find(|(_, of)| *of == http);
    code.map_or(UNKNOWN.0, |(name, _)| name)
}

/// The number of the code with this name; that of `UNKNOWN` for any other.
#[cfg(feature = "test-util")]
pub(crate) fn number_of(name: &str) -> i32 {
    let numbers = (0..).zip(CODES).find(|(_, (of, _))| *of == name);
    numbers.map_or(2, |(number, _)| number)
}

fn code(number: &[u8]) -> (&'static str, u16) {
    let digits = number.iter().all(u8::is_ascii_digit).then_some(number);
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let known = number.and_then(|number: usize| CODES.get(number));
    known.copied().unwrap_or(UNKNOWN)
}

/// A binary header, base64 with or without padding. Of several in one line the first.
fn details(value: &HeaderValue) -> Option<proto::Status> {
    let text = value.as_bytes().split(|byte| *byte == b',').next()?;
    let mut bytes = Vec::new();
    decode_into(text.trim_ascii(), &mut bytes)?;
    proto::Status::decode(Bytes::from(bytes)).ok()
}

fn add_details(document: &mut ErrorDocument, status: &proto::Status) {
    if document.message.is_empty() {
        document.message = lossy(&status.message);
    }
    for detail in &status.details {
        let value = detail.value.clone();
        match std::str::from_utf8(&detail.type_url).map(type_name) {
            Ok("google.rpc.ErrorInfo") => {
                if let Ok(info) = proto::ErrorInfo::decode(value) {
                    document.infos.push(ErrorInfo {
                        reason: info.reason,
                        metadata: info.metadata.into_iter().collect(),
                    });
                }
            }
            Ok("google.rpc.RetryInfo") => {
                let info = proto::RetryInfo::decode(value).ok();
                let delay = info.and_then(|info| pause(info.retry_delay?));
                document.retry_delay = document.retry_delay.or(delay);
            }
            _ => {}
        }
    }
}

/// A pause that is not negative, at most an hour.
fn pause(delay: proto::Duration) -> Option<Duration> {
    let seconds = u64::try_from(delay.seconds).ok()?;
    let nanos = u32::try_from(delay.nanos).ok()?;
    let pause = Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into()));
    Some(pause.min(RETRY_AFTER_MAX))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
