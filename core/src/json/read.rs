//! Reading: a pull reader that knows where it is.
//!
//! It accepts what serde_json accepts, its limit on nesting included, and hands it the parts that
//! are easy to get wrong (escapes, floating point). Order and duplicates of an object's keys are
//! the caller's to see.

use std::borrow::Cow;

use super::write::plain_prefix;

#[cfg(test)]
mod tests;

/// How deep arrays and objects may nest; serde_json stops there too.
const MAX_DEPTH: u8 = 127;

/// Text that is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonError {
    /// The offset of the byte that does not fit.
    pub(crate) at: usize,
    /// What would have fitted.
    pub(crate) expected: &'static str,
}

/// A value, or the opening of one: what follows an `Array` or an `Object` is read with
/// [`Reader::elements`] or [`Reader::members`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    /// Any other number.
    Float,
    Text(Cow<'a, str>),
    Array,
    Object,
}

impl Value<'_> {
    /// The value as an `i64`, where it is one.
    pub(crate) fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Unsigned(number) => i64::try_from(number).ok(),
            Self::Negative(number) => Some(number),
            _ => None,
        }
    }
}

/// Reads one JSON text.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    key_at: usize,
    depth: u8,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            key_at: 0,
            depth: 0,
        }
    }

    /// The offset of what comes next.
    pub(crate) fn offset(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The offset of the key that was read last.
    pub(crate) fn key_offset(&self) -> usize {
        self.key_at
    }

    /// Reads a scalar, or opens an array or an object.
    pub(crate) fn value(&mut self) -> Result<Value<'a>, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'{') => self.open(Value::Object),
            Some(b'[') => self.open(Value::Array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.expected("a JSON value")),
        }
    }

    /// Reads an opened object to its end. `member` is called after each key and reads its value.
    pub(crate) fn members<E: From<JsonError>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut first = true;
        while self.more(b'}', first, "`,` or `}`")? {
            first = false;
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in double quotes").into());
            }
            self.key_at = self.at;
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.expected("`:`").into());
            }
            member(self, key)?;
        }
        Ok(())
    }

    /// Reads an opened array to its end. `element` is called before each element and reads it.
    pub(crate) fn elements<E: From<JsonError>>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut first = true;
        while self.more(b']', first, "`,` or `]`")? {
            first = false;
            element(self)?;
        }
        Ok(())
    }

    /// Reads past a value, or past the rest of an opened one.
    pub(crate) fn skip(&mut self, opened: Option<&Value<'_>>) -> Result<(), JsonError> {
        let next;
        let value = match opened {
            Some(value) => value,
            None => {
                next = self.value()?;
                &next
            }
        };
        match value {
            // As deep as MAX_DEPTH, no deeper.
            Value::Object => self.members(|reader, _| reader.skip(None)),
            Value::Array => self.elements(|reader| reader.skip(None)),
            _ => Ok(()),
        }
    }

    /// Nothing but whitespace may be left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the text")),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = self.rest().as_bytes();
        let space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let blank = rest.iter().take_while(|&byte| space(byte)).count();
        self.at += blank;
        rest.get(blank).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, expected: &'static str) -> JsonError {
        JsonError {
            at: self.at,
            expected,
        }
    }

    fn open(&mut self, opened: Value<'a>) -> Result<Value<'a>, JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.expected("at most 127 levels of nesting"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(opened)
    }

    /// Whether another member follows; reads the comma before it, or the closing bracket.
    fn more(&mut self, close: u8, first: bool, what: &'static str) -> Result<bool, JsonError> {
        if self.take(close) {
            self.depth -= 1;
            return Ok(false);
        }
        if !first && !self.take(b',') {
            return Err(self.expected(what));
        }
        Ok(true)
    }

    fn word(&mut self, word: &'static str, value: Value<'a>) -> Result<Value<'a>, JsonError> {
        if !self.rest().starts_with(word) {
            return Err(self.expected("a JSON value"));
        }
        self.at += word.len();
        Ok(value)
    }

    /// Reads a string; the opening quote was seen.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        let mut escaped = false;
        loop {
            at += plain_prefix(bytes.get(at..).unwrap_or_default());
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(_) => {
                    self.at = at;
                    return Err(self.expected("an escaped control character"));
                }
                None => {
                    self.at = bytes.len();
                    return Err(self.expected("a closing `\"`"));
                }
            }
        }
        self.at = at + 1;
        if !escaped {
            return Ok(Cow::Borrowed(&self.text[start + 1..at]));
        }
        let token = &self.text[start..=at];
        serde_json::from_str(token)
            .map(Cow::Owned)
            .map_err(|error| JsonError {
                at: start + error.column().saturating_sub(1),
                expected: "a valid escape (surrogates only in pairs)",
            })
    }

    /// Reads a number; its first character was seen.
    fn number(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.at;
        let negative = self.text[start..].starts_with('-');
        self.at += usize::from(negative);
        // No number goes on after a leading zero.
        if self.rest().starts_with('0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let mut integer = true;
        if self.rest().starts_with('.') {
            integer = false;
            self.at += 1;
            self.digits()?;
        }
        if self.rest().starts_with(['e', 'E']) {
            integer = false;
            self.at += 1;
            self.at += usize::from(self.rest().starts_with(['+', '-']));
            self.digits()?;
        }
        let token = &self.text[start..self.at];
        if integer && !negative {
            if let Ok(number) = token.parse() {
                return Ok(Value::Unsigned(number));
            }
        } else if integer
            && token != "-0"
            && let Ok(number) = token.parse()
        {
            return Ok(Value::Negative(number));
        }
        match serde_json::from_str::<f64>(token) {
            Ok(_) => Ok(Value::Float),
            Err(_) => Err(JsonError {
                at: start,
                expected: "a number that a 64-bit float can hold",
            }),
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        if digits == 0 {
            return Err(self.expected("a digit"));
        }
        Ok(())
    }
}
