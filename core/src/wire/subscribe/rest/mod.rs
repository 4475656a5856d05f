//! The REST wire of a subscription.

mod pull;

use bytes::Bytes;
use http::{Request, Uri};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::failing::{Call, unreadable};
use super::size::{ack_id_bytes, ack_overhead_bytes};
use crate::json::{write_integer, write_string};
use crate::subscribe::{AckId, CallFailure, SubscriberOptions, Wire};
use crate::text::Text;
use crate::token::Token;
use crate::wire::error_document::ErrorDocument;
use crate::wire::publish_request::http_request;
use crate::wire::reply::Reply;
use crate::wire::retry_hint::parse_retry_after;
use crate::wire::shown::shown;

pub use pull::read_pull;

/// `subscriptions.pull`: at most `max_messages`, 1 to 1,000. The answer can take 90 s where there
/// is nothing.
#[must_use]
pub fn pull(
    options: &SubscriberOptions,
    max_messages: u32,
    token: Option<&Token>,
) -> Request<Bytes> {
    let mut body = br#"{"maxMessages":"#.to_vec();
    write_integer(&mut body, max_messages);
    body.push(b'}');
    post(options, "pull", body, token)
}

/// `subscriptions.acknowledge`.
#[must_use]
pub fn acknowledge(
    options: &SubscriberOptions,
    ids: &[AckId],
    token: Option<&Token>,
) -> Request<Bytes> {
    let mut body = write_ids(options, ids);
    body.push(b'}');
    post(options, "acknowledge", body, token)
}

/// `subscriptions.modifyAckDeadline`: `seconds` from when it arrives, 0 to 600; 0 gives the
/// messages back.
#[must_use]
pub fn modify_ack_deadline(
    options: &SubscriberOptions,
    ids: &[AckId],
    seconds: u16,
    token: Option<&Token>,
) -> Request<Bytes> {
    let mut body = write_ids(options, ids);
    body.extend_from_slice(br#","ackDeadlineSeconds":"#);
    write_integer(&mut body, seconds);
    body.push(b'}');
    post(options, "modifyAckDeadline", body, token)
}

/// Reads the answer to an acknowledge or a deadline change of `ids`.
///
/// # Errors
///
/// [`CallFailure`]; where the reply repeats `token`, as a proxy's error page may, it does not.
pub fn read_answer(reply: &Reply, ids: &[AckId], token: Option<&Token>) -> Result<(), CallFailure> {
    let leases = Some(ids);
    if reply.status != 200 {
        return Err(failure(Call { leases, token }, reply));
    }
    // Anything else that says 200 is a page of something in between.
    match object::<IgnoredAny>(&reply.body) {
        Some(_) => Ok(()),
        None => Err(unreadable_success(reply, token)),
    }
}

/// What follows a reply that is no success.
fn failure(call: Call<'_>, reply: &Reply) -> CallFailure {
    let Some(document) = ErrorDocument::parse(&reply.body) else {
        return call.no_document(reply);
    };
    let retry_after = parse_retry_after(&reply.headers, reply.received_at_ms);
    call.refused(reply.status, &document, retry_after)
}

fn unreadable_success(reply: &Reply, token: Option<&Token>) -> CallFailure {
    let body = shown(&reply.body, token);
    let detail = format!("HTTP status 200 with a body that is not Pub/Sub's: {body:?}");
    unreadable(Text::capped(detail.as_bytes()))
}

/// Reads an object; a list of its fields is none.
fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(json).ok())?
}

/// A body with `ids`, and room for what follows them.
fn write_ids(options: &SubscriberOptions, ids: &[AckId]) -> Vec<u8> {
    let len: usize = ids.iter().map(|id| ack_id_bytes(Wire::Rest, id)).sum();
    let mut body = Vec::with_capacity(len + ack_overhead_bytes(Wire::Rest, options));
    body.extend_from_slice(br#"{"ackIds":["#);
    for (index, id) in ids.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_string(&mut body, id.as_str());
    }
    body.push(b']');
    body
}

fn post(
    options: &SubscriberOptions,
    method: &str,
    body: Vec<u8>,
    token: Option<&Token>,
) -> Request<Bytes> {
    let url = format!("{}/v1/{}:{method}", options.endpoint(), options.path());
    // The options leave room for it: there is none that is too long.
    let url = Uri::try_from(url).unwrap_or_default();
    http_request(&url, body.into(), token)
}
