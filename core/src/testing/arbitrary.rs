//! Inputs by chance, for users' fuzz targets. What a type promises, its values here keep.

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use bytes::Bytes;
use http::HeaderValue;
use http::header::RETRY_AFTER;

use super::answer::{Says, What};
use super::{Answer, TokenAnswer, replies};
use crate::attributes::Attributes;
use crate::claim::ClaimRef;
use crate::delivery::{DeliveryContext, ForwardHeaders};
use crate::envelope::Envelope;
use crate::publish::Message;
use crate::reason::TransportKind;
use crate::token::Token;
use crate::wire::Reply;

impl<'a> Arbitrary<'a> for Envelope {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            id: u.arbitrary()?,
            source_id: u.arbitrary()?,
            tenant_id: u.arbitrary()?,
            received_at: u.arbitrary()?,
            method: u.arbitrary()?,
            path: u.arbitrary()?,
            headers: u
                .arbitrary_iter::<(String, Vec<u8>)>()?
                .map(|header| header.map(|(name, value)| (name, value.into())))
                .collect::<Result<_>>()?,
            content_type: u.arbitrary()?,
            body: bytes(u)?,
            dedupe_key: u.arbitrary()?,
        })
    }
}

impl<'a> Arbitrary<'a> for DeliveryContext {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            attempt: u.int_in_range(1..=u32::MAX)?,
            claim: u.arbitrary()?,
            replay_id: u.arbitrary()?,
            forward_headers: u.arbitrary()?,
            max_headers: u.arbitrary()?,
            forward_headers_max_bytes: u.arbitrary()?,
            trace_context: None,
            batch: u.arbitrary()?,
            resume_key: u.arbitrary()?,
        })
    }
}

impl<'a> Arbitrary<'a> for ForwardHeaders {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let only: Option<Vec<String>> = u.arbitrary()?;
        Ok(only.map_or(Self::Default, Self::Only))
    }
}

/// Not all of them pass admission.
impl<'a> Arbitrary<'a> for Message {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            data: bytes(u)?,
            attributes: u.arbitrary()?,
            ordering_key: u.arbitrary()?,
            tenant: u.arbitrary()?,
        })
    }
}

impl<'a> Arbitrary<'a> for Attributes {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        u.arbitrary_iter::<(String, String)>()?.collect()
    }
}

/// Only valid ones, signed or not.
impl<'a> Arbitrary<'a> for ClaimRef {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let tenant = url_safe(u, 1, 64)?;
        let (received_at, id): (i64, String) = u.arbitrary()?;
        let claim = Self::derive(Some(&tenant), received_at, &id)
            .map_err(|_| arbitrary::Error::IncorrectFormat)?;
        if u.arbitrary()? {
            return Ok(claim);
        }
        let expiry = u.int_in_range(1..=999_999_999_999_u64)?;
        let signature = url_safe(u, 43, 43)?;
        let (tenant, id) = (claim.tenant(), claim.id());
        Self::parse(&format!(
            "urn:ankusa:claim:v2:{tenant}:{id}:{expiry}:{signature}"
        ))
        .map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

/// Those that mean something to a publisher among them.
impl<'a> Arbitrary<'a> for Reply {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut reply = match u.int_in_range(0..=3)? {
            0 => {
                let ids = (0..u.int_in_range(0..=9)?).map(|id: u8| id.to_string());
                replies::ids(ids)
            }
            1 => error(u)?,
            2 => replies::page(http_status(u)?, u.arbitrary::<String>()?),
            _ => Self {
                status: http_status(u)?,
                body: bytes(u)?,
                ..Self::default()
            },
        };
        if u.ratio(1, 4)? {
            let value = u.arbitrary::<&[u8]>()?;
            if let Ok(value) = HeaderValue::from_bytes(value) {
                reply.headers.insert(RETRY_AFTER, value);
            }
        }
        reply.received_at_ms = u.arbitrary()?;
        Ok(reply)
    }
}

impl<'a> Arbitrary<'a> for Answer {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut answer = match u.int_in_range(0..=7)? {
            0 | 1 => Self::stored(),
            2 => Self::refused(),
            3 => Self::of(What::Reply(u.arbitrary()?)),
            4 => Self::reply(error(u)?),
            5 => Self::failed(*u.choose(&TRANSPORT_KINDS)?),
            6 => Self::lost(),
            _ => Self::never(),
        };
        if u.ratio(1, 4)? {
            answer = answer.although_stored();
        }
        let after: Option<u16> = u.arbitrary()?;
        answer.after = after.map(|ms| Duration::from_millis(ms.into()));
        Ok(answer)
    }
}

impl<'a> Arbitrary<'a> for TokenAnswer {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let says = match u.int_in_range(0..=5)? {
            number @ 0..=2 => {
                let token = Token::new(&format!("token-{number}"));
                Says::Token(Ok(token.map_err(|_| arbitrary::Error::IncorrectFormat)?))
            }
            3 => Says::Token(Err(u.arbitrary::<String>()?.into())),
            4 => Says::Lost,
            _ => Says::Never,
        };
        let after = Duration::from_millis(u.arbitrary::<u16>()?.into());
        Ok(Self::of(says).after(after))
    }
}

const HTTP_STATUSES: [u16; 16] = [
    200, 400, 401, 403, 404, 408, 409, 413, 429, 499, 500, 502, 503, 504, 204, 302,
];

const STATUSES: [&str; 9] = [
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "INTERNAL",
    "ABORTED",
    "",
];

const TRANSPORT_KINDS: [TransportKind; 5] = [
    TransportKind::Connect,
    TransportKind::Timeout,
    TransportKind::Connection,
    TransportKind::Closed,
    TransportKind::Other,
];

fn error(u: &mut Unstructured<'_>) -> Result<Reply> {
    let http = http_status(u)?;
    let error = replies::error(http, u.choose(&STATUSES)?, &u.arbitrary::<String>()?);
    Ok(match u.int_in_range(0..=3)? {
        0 => error.reason("RATE_LIMIT_EXCEEDED").build(),
        1 => error.legacy_reason("quotaExceeded").build(),
        2 => {
            let ms = u.arbitrary::<u32>()?;
            error.retry_delay(Duration::from_millis(ms.into())).build()
        }
        _ => error.build(),
    })
}

fn http_status(u: &mut Unstructured<'_>) -> Result<u16> {
    if u.ratio(1, 8)? {
        return u.int_in_range(100..=999);
    }
    Ok(*u.choose(&HTTP_STATUSES)?)
}

fn url_safe(u: &mut Unstructured<'_>, min: usize, max: usize) -> Result<String> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    let len = u.int_in_range(min..=max)?;
    (0..len)
        .map(|_| Ok(char::from(*u.choose(ALPHABET)?)))
        .collect()
}

fn bytes(u: &mut Unstructured<'_>) -> Result<Bytes> {
    Ok(u.arbitrary::<Vec<u8>>()?.into())
}
