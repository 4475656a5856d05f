//! JSON by serde.

use std::ops::{Deref, DerefMut};

use pubsink_core::serde_json::{self, error::Category};
use serde::de::DeserializeOwned;

use super::context::Context;
use super::decode_error::DecodeError;
use super::from_message::FromMessage;

/// A message that is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromMessage for Json<T> {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        let value = serde_json::from_slice(context.data());
        value
            .map(Self)
            .map_err(|error| DecodeError::new("JSON", reason(&error)))
    }
}

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Json<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// What is wrong, in words that are serde's and the type's. What serde quotes of the body is left
/// out.
fn reason(error: &serde_json::Error) -> String {
    let at = format!("line {} column {}", error.line(), error.column());
    match error.classify() {
        Category::Io | Category::Syntax => format!("the syntax is wrong at {at}"),
        Category::Eof => format!("it ends too soon, at {at}"),
        Category::Data => {
            let text = error.to_string();
            match known(text.strip_suffix(&format!(" at {at}")).unwrap_or(&text)) {
                Some(known) => format!("{known}, at {at}"),
                None => format!("a value is not allowed, at {at}"),
            }
        }
    }
}

/// The part of serde's own messages that comes from the type.
fn known(text: &str) -> Option<String> {
    let name = |rest: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let name = rest.strip_prefix('`')?.strip_suffix('`')?;
        name.bytes().all(plain).then(|| name.to_owned())
    };
    if let Some(field) = text.strip_prefix("missing field ").and_then(name) {
        return Some(format!("field `{field}` is missing"));
    }
    if let Some(field) = text.strip_prefix("duplicate field ").and_then(name) {
        return Some(format!("field `{field}` is there twice"));
    }
    let kinds = [
        ("invalid type: ", "a value is of the wrong type"),
        ("invalid value: ", "a value is out of range"),
        ("invalid length ", "a list is of the wrong length"),
        ("unknown variant `", "a value is none of the variants"),
        (
            "data did not match any variant ",
            "a value is none of the variants",
        ),
        ("unknown field `", "there is a field that is not known"),
    ];
    let (_, said) = kinds.iter().find(|(kind, _)| text.starts_with(kind))?;
    // What was found is quoted before what was expected, and may hold anything.
    Some(match text.rsplit_once(", expected ") {
        Some((_, expected)) if !text.ends_with(NOTHING[0]) && !text.ends_with(NOTHING[1]) => {
            format!("{said}: expected {expected}")
        }
        _ => (*said).to_owned(),
    })
}

/// How serde ends where there is nothing to expect.
const NOTHING: [&str; 2] = [", there are no fields", ", there are no variants"];
