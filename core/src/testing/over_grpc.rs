//! What a scripted server says, over gRPC.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::BytesMut;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use prost::Message as _;
use serde::Deserialize;

use crate::wire::grpc::proto::{self, PublishResponse};
use crate::wire::grpc::status::{DETAILS, MESSAGE, STATUS, name_of, number_of};
use crate::wire::grpc::write_frame;
use crate::wire::{ErrorDocument, Reply};

/// What `grpc-message` escapes.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// What a script says as over REST, as a gRPC server says it, with the trailers after it: an
/// error document is a status, a list of ids a message. What else there is stays as it is.
pub(super) fn spoken(reply: &Reply) -> (Reply, HeaderMap) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Ids {
        message_ids: Vec<String>,
    }
    if let Some(document) = ErrorDocument::parse(&reply.body) {
        let mut said = answer(reply.received_at_ms);
        said.headers.extend(
            reply
                .headers
                .iter()
                .filter(|(name, _)| *name != CONTENT_TYPE)
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let status = match document.status.as_str() {
            "" => name_of(reply.status),
            status => status,
        };
        let reasons = document.infos.iter().map(|info| info.reason.as_str());
        let retry_delay = document.retry_delay;
        return (
            said,
            failed(status, &document.message, reasons, retry_delay),
        );
    }
    match serde_json::from_slice::<Ids>(&reply.body) {
        Ok(Ids { message_ids }) if reply.status == 200 => {
            let mut said = answer(reply.received_at_ms);
            let message_ids = message_ids.into_iter().map(Into::into).collect();
            let response = PublishResponse { message_ids };
            let mut body = BytesMut::new();
            // A script has no ids of 4 GiB.
            let _ = write_frame(&mut body, |out| response.encode_raw(out));
            said.body = body.freeze();
            (said, ok())
        }
        _ => (reply.clone(), HeaderMap::new()),
    }
}

/// The trailers of a call that did what it was asked for.
pub(super) fn ok() -> HeaderMap {
    HeaderMap::from_iter([(
        HeaderName::from_static(STATUS),
        HeaderValue::from_static("0"),
    )])
}

/// The trailers of a call that failed, with an ErrorInfo for each reason.
pub(super) fn failed<'a>(
    status: &str,
    message: &str,
    reasons: impl Iterator<Item = &'a str>,
    retry_delay: Option<Duration>,
) -> HeaderMap {
    let code = number_of(status);
    let mut details: Vec<_> = reasons.map(error_info).collect();
    details.extend(retry_delay.map(retry_info));
    let mut fields = HeaderMap::new();
    fields.insert(STATUS, code.into());
    let text = utf8_percent_encode(message, ESCAPED).to_string();
    if let Ok(text) = HeaderValue::try_from(text) {
        fields.insert(MESSAGE, text);
    }
    if !details.is_empty() {
        let message = message.to_owned().into();
        let status = proto::Status {
            code,
            message,
            details,
        };
        let status = STANDARD_NO_PAD.encode(status.encode_to_vec());
        if let Ok(status) = HeaderValue::try_from(status) {
            fields.insert(DETAILS, status);
        }
    }
    fields
}

fn answer(received_at_ms: u64) -> Reply {
    let grpc = HeaderValue::from_static("application/grpc");
    Reply {
        status: 200,
        headers: HeaderMap::from_iter([(CONTENT_TYPE, grpc)]),
        received_at_ms,
        ..Reply::default()
    }
}

fn error_info(reason: &str) -> proto::Any {
    let info = proto::ErrorInfo {
        reason: reason.to_owned(),
        ..proto::ErrorInfo::default()
    };
    any("ErrorInfo", &info)
}

fn retry_info(pause: Duration) -> proto::Any {
    let retry_delay = proto::Duration {
        seconds: i64::try_from(pause.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(pause.subsec_nanos()).unwrap_or_default(),
    };
    let info = proto::RetryInfo {
        retry_delay: Some(retry_delay),
    };
    any("RetryInfo", &info)
}

fn any(name: &str, detail: &impl prost::Message) -> proto::Any {
    proto::Any {
        type_url: format!("type.googleapis.com/google.rpc.{name}").into(),
        value: detail.encode_to_vec().into(),
    }
}
