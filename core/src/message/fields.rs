//! The keys of a message: read from JSON, each with the check of its type.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::{JsonError, Reader, Value};

use super::decode_error::{DecodeCode, DecodeError};

/// The lowest version [`decode`](super::decode()) reads.
pub const MIN_VERSION: u64 = 1;

/// The highest version [`decode`](super::decode()) reads: a v2 message is a v1 message with more keys.
pub const MAX_VERSION: u64 = 2;

/// How a hook was verified when it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Verification {
    /// `ok`, `failed` or `skipped`; anything else is carried as it is.
    pub status: String,
    /// Whether the hook was let in although a check failed.
    pub flagged: bool,
}

/// A message's keys, of each the last value.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    values: [Option<Value<'a>>; KEYS.len()],
    /// The members of `headers`; one that is no text is none.
    headers: Option<BTreeMap<Cow<'a, str>, Option<Cow<'a, str>>>>,
    status: Option<Value<'a>>,
    flagged: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    pub(super) fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let text = std::str::from_utf8(data).map_err(|_| DecodeCode::InvalidJson)?;
        let mut reader = Reader::new(text);
        let mut fields = Self::default();
        let whole = reader.value()?;
        if whole == Value::Object {
            reader.members(|reader, key| fields.member(reader, &key))?;
        } else {
            reader.skip(Some(&whole))?;
        }
        reader.end()?;
        if whole != Value::Object {
            return Err(DecodeCode::NotAnObject.into());
        }
        Ok(fields)
    }

    pub(super) fn version(&self) -> Result<u64, DecodeError> {
        match self.get("v") {
            Some(&Value::Unsigned(v)) if (MIN_VERSION..=MAX_VERSION).contains(&v) => Ok(v),
            _ => Err(DecodeCode::UnsupportedVersion.into()),
        }
    }

    pub(super) fn received_at(&self) -> Result<i64, DecodeError> {
        let value = self.get("received_at").and_then(Value::as_i64);
        value.ok_or(DecodeError::field("received_at"))
    }

    pub(super) fn size(&self) -> Result<u64, DecodeError> {
        match self.get("size") {
            Some(&Value::Unsigned(size)) => Ok(size),
            _ => Err(DecodeError::field("size")),
        }
    }

    pub(super) fn required(&self, key: &'static str) -> Result<&str, DecodeError> {
        self.text(key).ok_or_else(|| DecodeError::field(key))
    }

    pub(super) fn optional(&self, key: &'static str) -> Result<Option<String>, DecodeError> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.to_string())),
            Some(_) => Err(DecodeError::field(key)),
        }
    }

    pub(super) fn headers(&self) -> Result<BTreeMap<String, String>, DecodeError> {
        let wrong = DecodeError::field("headers");
        match self.get("headers") {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object) => {}
            Some(_) => return Err(wrong),
        }
        let members = self.headers.iter().flatten();
        members
            .map(|(name, value)| match value {
                Some(value) => Ok((name.to_string(), value.to_string())),
                None => Err(wrong),
            })
            .collect()
    }

    /// Lowercase hex. Unlike other keys it may be missing, but not `null`.
    pub(super) fn sha256(&self) -> Result<Option<String>, DecodeError> {
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match self.get("sha256") {
            None => Ok(None),
            Some(Value::Text(hex)) if hex.len() == 64 && hex.bytes().all(is_digit) => {
                Ok(Some(hex.to_string()))
            }
            Some(_) => Err(DecodeError::field("sha256")),
        }
    }

    pub(super) fn verification(&self) -> Result<Option<Verification>, DecodeError> {
        if !self.is_present("verification") {
            return Ok(None);
        }
        // Both are `None` where it is no object.
        match (&self.status, &self.flagged) {
            (Some(Value::Text(status)), Some(Value::Bool(flagged))) if !status.is_empty() => {
                Ok(Some(Verification {
                    status: status.to_string(),
                    flagged: *flagged,
                }))
            }
            _ => Err(DecodeError::field("verification")),
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_present(&self, key: &str) -> bool {
        !matches!(self.get(key), None | Some(Value::Null))
    }

    fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.values[place(key)?].as_ref()
    }

    fn member(&mut self, reader: &mut Reader<'a>, key: &str) -> Result<(), JsonError> {
        let Some(place) = place(key) else {
            return reader.skip(None);
        };
        let value = reader.value()?;
        match (key, &value) {
            ("headers", Value::Object) => {
                let mut headers = BTreeMap::new();
                reader.members(|reader, name| {
                    headers.insert(name, read_text(reader)?);
                    Ok::<_, JsonError>(())
                })?;
                self.headers = Some(headers);
            }
            ("verification", opened) => {
                (self.status, self.flagged) = (None, None);
                if *opened == Value::Object {
                    reader.members(|reader, key| self.verification_member(reader, &key))?;
                } else {
                    reader.skip(Some(opened))?;
                }
            }
            (_, opened) => reader.skip(Some(opened))?,
        }
        self.values[place] = Some(value);
        Ok(())
    }

    fn verification_member(&mut self, reader: &mut Reader<'a>, key: &str) -> Result<(), JsonError> {
        let value = reader.value()?;
        reader.skip(Some(&value))?;
        match key {
            "status" => self.status = Some(value),
            "flagged" => self.flagged = Some(value),
            _ => {}
        }
        Ok(())
    }
}

impl From<JsonError> for DecodeError {
    fn from(_: JsonError) -> Self {
        DecodeCode::InvalidJson.into()
    }
}

/// The keys that are read.
const KEYS: [&str; 19] = [
    "v",
    "id",
    "source_id",
    "tenant_id",
    "received_at",
    "content_type",
    "size",
    "dedupe_key",
    "replay_id",
    "idempotency_key",
    "headers",
    "sha256",
    "body_base64",
    "claim",
    "verification",
    "traceparent",
    "tracestate",
    "instance",
    "region",
];

fn place(key: &str) -> Option<usize> {
    KEYS.iter().position(|known| *known == key)
}

/// Reads a value that should be text.
fn read_text<'a>(reader: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>, JsonError> {
    let value = reader.value()?;
    reader.skip(Some(&value))?;
    Ok(match value {
        Value::Text(text) => Some(text),
        _ => None,
    })
}
