//! JSON whose members stand in the order they were given, whatever `serde_json` is built with.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::json::{write_integer, write_string};

/// A JSON value.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'static, str>),
    List(Vec<Self>),
    Object(Vec<(Cow<'static, str>, Self)>),
}

impl Node {
    /// Indented by two spaces, with a newline at the end.
    pub(super) fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out, 0);
        out.push(b'\n');
        // It is UTF-8: the writer takes only text.
        String::from_utf8_lossy(&out).into_owned()
    }

    fn write(&self, out: &mut Vec<u8>, depth: usize) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(bool) => out.extend_from_slice(if *bool { b"true" } else { b"false" }),
            Self::Number(number) => write_integer(out, number),
            Self::Text(text) => write_string(out, text),
            Self::List(items) => write_all(out, depth, b"[]", items, |out, item| {
                item.write(out, depth + 1);
            }),
            Self::Object(members) => write_all(out, depth, b"{}", members, |out, (key, value)| {
                write_string(out, key);
                out.extend_from_slice(b": ");
                value.write(out, depth + 1);
            }),
        }
    }
}

/// An object in the making.
#[derive(Debug, Default)]
pub(super) struct Object(Vec<(Cow<'static, str>, Node)>);

impl Object {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn with(
        mut self,
        key: impl Into<Cow<'static, str>>,
        value: impl Into<Node>,
    ) -> Self {
        self.0.push((key.into(), value.into()));
        self
    }

    pub(super) fn with_some<V: Into<Node>>(self, key: &'static str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }
}

fn write_all<T>(
    out: &mut Vec<u8>,
    depth: usize,
    [open, close]: &[u8; 2],
    items: &[T],
    write: impl Fn(&mut Vec<u8>, &T),
) {
    out.push(*open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        new_line(out, depth + 1);
        write(out, item);
    }
    if !items.is_empty() {
        new_line(out, depth);
    }
    out.push(*close);
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}

impl From<&'static str> for Node {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl<T: Into<Self>> From<Vec<T>> for Node {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// A foreign value, its members sorted.
impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => text.clone().into(),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(members) => members.into(),
        }
    }
}

impl From<&Map<String, Value>> for Node {
    fn from(members: &Map<String, Value>) -> Self {
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        let member = |(key, value): (&String, &Value)| (key.clone().into(), value.into());
        Self::Object(sorted.into_iter().map(member).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_serde_json_writes() {
        let value = serde_json::json!({
            "empty": [{}, [], ""],
            "list": [1, -2, 0.5, true, false, null],
            "text \"\n\u{1}é": {"a": {"b": "c"}},
        });
        let expected = serde_json::to_string_pretty(&value).unwrap() + "\n";
        assert_eq!(Node::from(&value).to_json(), expected);
    }
}
