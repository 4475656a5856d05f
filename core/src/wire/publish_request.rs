//! A publish request's body, encoded once and cut again where a part is sent anew.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Uri};

use super::size::{CLOSE, OPEN, body_len};
use crate::json::{write_base64, write_string};
use crate::publish::{Admission, Content};
use crate::token::Token;

/// The messages of one request as they stand in its body, or some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPublish {
    body: Bytes,
    /// Where each message starts in `body`, and where one after the last would.
    starts: Arc<[usize]>,
    /// Which of them are meant.
    range: Range<usize>,
}

impl EncodedPublish {
    /// How many messages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The body of a request of these messages. The whole is shared, a part is copied together.
    #[must_use]
    pub fn body(&self) -> Bytes {
        if self.range == (0..self.starts.len() - 1) {
            return self.body.clone();
        }
        let messages = self.starts[self.range.start]..self.starts[self.range.end];
        // Without the comma (or bracket) after the last one.
        let messages =
            &self.body[messages.start..messages.end.saturating_sub(1).max(messages.start)];
        Bytes::from([OPEN, messages, CLOSE].concat())
    }

    /// Whether these are the messages `range` of a batch of `batch`.
    pub(crate) fn is_part(&self, range: &Range<usize>, batch: usize) -> bool {
        self.range == *range && self.starts.len() == batch + 1
    }

    /// The messages of `range`, counted within the original batch.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self {
            body: self.body.clone(),
            starts: Arc::clone(&self.starts),
            range,
        }
    }
}

/// Encodes the messages of a batch straight into one buffer of exactly the right size.
pub(crate) fn encode<'a>(
    messages: impl ExactSizeIterator<Item = &'a Admission> + Clone,
) -> EncodedPublish {
    let len = body_len(messages.clone().map(|message| message.sizes().json).sum());
    let count = messages.len();
    let mut out = Vec::with_capacity(len);
    let mut starts = Vec::with_capacity(count + 1);
    let mut scratch = Vec::new();
    out.extend_from_slice(OPEN);
    for (index, message) in messages.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        starts.push(out.len());
        write_message(&mut out, &mut scratch, message);
    }
    starts.push(out.len() + 1);
    out.extend_from_slice(CLOSE);
    debug_assert_eq!(out.len(), len, "the size was counted wrong");
    EncodedPublish {
        body: out.into(),
        starts: starts.into(),
        range: 0..count,
    }
}

/// The POST that carries `body`.
pub(crate) fn http_request(url: &Uri, body: Bytes, token: Option<&Token>) -> Request<Bytes> {
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.clone();
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, token.header());
    }
    request
}

fn write_message(out: &mut Vec<u8>, scratch: &mut Vec<u8>, message: &Admission) {
    let mut separator = b'{';
    let mut member = |out: &mut Vec<u8>, name: &[u8]| {
        out.push(separator);
        separator = b',';
        out.extend_from_slice(name);
    };
    if message.sizes().data > 0 {
        member(out, br#""data":""#);
        match message.content() {
            Content::Plain(data) => write_base64(out, data),
            Content::Hook(hook) => {
                scratch.clear();
                hook.encode_into(scratch);
                write_base64(out, scratch);
            }
        }
        out.push(b'"');
    }
    if !message.attributes().is_empty() {
        member(out, br#""attributes":"#);
        let mut separator = b'{';
        for (name, value) in message.attributes().iter() {
            out.push(separator);
            separator = b',';
            write_string(out, name);
            out.push(b':');
            write_string(out, value);
        }
        out.push(b'}');
    }
    if !message.ordering_key().is_empty() {
        member(out, br#""orderingKey":"#);
        write_string(out, message.ordering_key());
    }
    out.push(b'}');
}
