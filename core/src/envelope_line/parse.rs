//! A line read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::json::{Reader, Value};

use super::headers::read_headers;
use super::{EnvelopeLine, LineError, LineProblem};

/// Reads one line; the newline at its end does not matter. See the [module](super) for the keys.
///
/// # Errors
///
/// [`LineError`] with the first fault, in the order of the line. Whether `size` is right is asked
/// last.
pub fn parse(line: &[u8]) -> Result<EnvelopeLine, LineError> {
    let text = std::str::from_utf8(line)
        .map_err(|error| LineError::at(error.valid_up_to(), LineProblem::NotUtf8))?;
    let mut reader = Reader::new(text);
    let start = reader.offset();
    if reader.value()? != Value::Object {
        return Err(LineError::at(start, LineProblem::NotAnObject));
    }
    let mut members = Members::default();
    reader.members(|reader, key| members.member(reader, &key))?;
    reader.end()?;
    members.finish()
}

const ID: &str = "id";
const SOURCE_ID: &str = "source_id";
const TENANT_ID: &str = "tenant_id";
const RECEIVED_AT: &str = "received_at";
const METHOD: &str = "method";
const PATH: &str = "path";
const HEADERS: &str = "headers";
const CONTENT_TYPE: &str = "content_type";
const BODY: &str = "body";
const BODY_BASE64: &str = "body_base64";
const DEDUPE_KEY: &str = "dedupe_key";
const SIZE: &str = "size";

const KEYS: [&str; 12] = [
    ID,
    SOURCE_ID,
    TENANT_ID,
    RECEIVED_AT,
    METHOD,
    PATH,
    HEADERS,
    CONTENT_TYPE,
    BODY,
    BODY_BASE64,
    DEDUPE_KEY,
    SIZE,
];

/// What was read so far.
#[derive(Debug, Default)]
struct Members {
    line: EnvelopeLine,
    seen: [bool; KEYS.len()],
    body: Option<Bytes>,
    /// The value of `size` and where it stands.
    size: Option<(u64, usize)>,
}

impl Members {
    fn member(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), LineError> {
        let (key_at, at) = (reader.key_offset(), reader.offset());
        let Some(place) = KEYS.iter().position(|known| *known == key) else {
            return Ok(reader.skip(None)?);
        };
        let key = KEYS[place];
        if std::mem::replace(&mut self.seen[place], true) {
            return Err(LineError::at(key_at, LineProblem::DuplicateKey { key }));
        }
        let value = reader.value()?;
        if value == Value::Null {
            return Ok(());
        }
        let line = &mut self.line;
        match key {
            HEADERS => line.headers = read_headers(reader, &value, at)?,
            RECEIVED_AT => line.received_at = Some(timestamp(&value, at)?),
            SIZE => self.size = Some((size(&value, at)?, at)),
            BODY | BODY_BASE64 if self.body.is_some() => {
                return Err(LineError::at(key_at, LineProblem::TwoBodies));
            }
            BODY => self.body = Some(text(value, key, at)?.into()),
            BODY_BASE64 => self.body = Some(base64(&value, at)?),
            ID => line.id = Some(id(value, at)?),
            SOURCE_ID => line.source_id = Some(text(value, key, at)?),
            TENANT_ID => line.tenant_id = Some(text(value, key, at)?),
            METHOD => line.method = Some(text(value, key, at)?),
            PATH => line.path = Some(text(value, key, at)?),
            CONTENT_TYPE => line.content_type = Some(text(value, key, at)?),
            _ => line.dedupe_key = Some(text(value, key, at)?),
        }
        Ok(())
    }

    fn finish(self) -> Result<EnvelopeLine, LineError> {
        let mut line = self.line;
        line.body = self.body.unwrap_or_default();
        match self.size {
            Some((size, at)) if u64::try_from(line.body.len()) != Ok(size) => {
                let body = line.body.len();
                Err(LineError::at(at, LineProblem::WrongSize { size, body }))
            }
            _ => Ok(line),
        }
    }
}

fn text(value: Value<'_>, key: &'static str, at: usize) -> Result<String, LineError> {
    match value {
        Value::Text(text) => Ok(text.into_owned()),
        _ => Err(LineError::wrong_value(at, key, "text")),
    }
}

fn id(value: Value<'_>, at: usize) -> Result<String, LineError> {
    const EXPECTED: &str = "text that is not empty";
    match value {
        Value::Text(id) if !id.is_empty() => Ok(id.into_owned()),
        _ => Err(LineError::wrong_value(at, ID, EXPECTED)),
    }
}

fn timestamp(value: &Value<'_>, at: usize) -> Result<i64, LineError> {
    const EXPECTED: &str = "an integer (unix milliseconds)";
    let timestamp = value.as_i64();
    timestamp.ok_or_else(|| LineError::wrong_value(at, RECEIVED_AT, EXPECTED))
}

fn size(value: &Value<'_>, at: usize) -> Result<u64, LineError> {
    match *value {
        Value::Unsigned(size) => Ok(size),
        _ => Err(LineError::wrong_value(at, SIZE, "an integer from 0")),
    }
}

fn base64(value: &Value<'_>, at: usize) -> Result<Bytes, LineError> {
    const EXPECTED: &str = "text in padded standard base64";
    let decoded = match value {
        Value::Text(text) => STANDARD.decode(text.as_bytes()).ok(),
        _ => None,
    };
    let decoded = decoded.ok_or_else(|| LineError::wrong_value(at, BODY_BASE64, EXPECTED))?;
    Ok(decoded.into())
}
