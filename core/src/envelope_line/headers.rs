//! The headers of a line.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use crate::json::{Reader, Value};

use super::LineError;

/// Reads headers in either form, in their order; `opened` is their value, which stands at `at`.
pub(super) fn read_headers(
    reader: &mut Reader<'_>,
    opened: &Value<'_>,
    at: usize,
) -> Result<Vec<(String, Bytes)>, LineError> {
    let mut headers = Vec::new();
    match opened {
        Value::Object => reader.members(|reader, name| {
            read_values(reader, |value| headers.push((name.to_string(), value)))
        })?,
        Value::Array => reader.elements(|reader| {
            headers.push(read_pair(reader)?);
            Ok::<_, LineError>(())
        })?,
        _ => return Err(wrong(at, "an object or a list of [name, value] pairs")),
    }
    Ok(headers)
}

/// A value, or a list of values.
fn read_values(reader: &mut Reader<'_>, mut push: impl FnMut(Bytes)) -> Result<(), LineError> {
    const EXPECTED: &str = "text, {\"base64\":\"…\"} or a list of these for each header";
    let at = reader.offset();
    let value = reader.value()?;
    if value != Value::Array {
        push(read_value(reader, value, at, EXPECTED)?);
        return Ok(());
    }
    reader.elements(|reader| {
        let at = reader.offset();
        let value = reader.value()?;
        push(read_value(reader, value, at, EXPECTED)?);
        Ok(())
    })
}

fn read_pair(reader: &mut Reader<'_>) -> Result<(String, Bytes), LineError> {
    const EXPECTED: &str = "[name, value] pairs of text or {\"base64\":\"…\"}";
    let at = reader.offset();
    if reader.value()? != Value::Array {
        return Err(wrong(at, EXPECTED));
    }
    let (mut name, mut value) = (None, None);
    reader.elements(|reader| {
        let at = reader.offset();
        let next = reader.value()?;
        match next {
            Value::Text(text) if name.is_none() => name = Some(text.into_owned()),
            next if name.is_some() && value.is_none() => {
                value = Some(read_value(reader, next, at, EXPECTED)?);
            }
            _ => return Err(wrong(at, EXPECTED)),
        }
        Ok(())
    })?;
    name.zip(value).ok_or_else(|| wrong(at, EXPECTED))
}

/// Text, or the object that stands for bytes.
fn read_value(
    reader: &mut Reader<'_>,
    opened: Value<'_>,
    at: usize,
    expected: &'static str,
) -> Result<Bytes, LineError> {
    let mut bytes = None;
    match opened {
        Value::Text(text) => return Ok(text.into_owned().into()),
        Value::Object => reader.members(|reader, key| {
            let value = reader.value()?;
            match value {
                Value::Text(text) if key == "base64" && bytes.is_none() => {
                    bytes = STANDARD.decode(text.as_bytes()).ok();
                }
                _ => return Err(wrong(at, expected)),
            }
            Ok(())
        })?,
        _ => {}
    }
    bytes.map(Bytes::from).ok_or_else(|| wrong(at, expected))
}

fn wrong(at: usize, expected: &'static str) -> LineError {
    LineError::wrong_value(at, "headers", expected)
}
