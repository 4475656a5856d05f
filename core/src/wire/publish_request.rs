//! A publish request's body, encoded once and cut again where a part is sent anew; over REST its
//! JSON.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Uri};

use super::size::{CLOSE, OPEN, body_len};
use super::{publish_grpc as grpc, take_buffer, with_room};
use crate::attributes::Attributes;
use crate::json::{append, write_base64, write_plain_string, write_string};
use crate::options::Wire;
use crate::publish::{Body, Content};
use crate::token::Token;

/// The messages of one request as they stand in its body, or some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPublish {
    wire: Wire,
    body: Bytes,
    /// Where each message starts in `body`, and where one after the last would.
    starts: Arc<[usize]>,
    /// Which of them are meant.
    range: Range<usize>,
}

impl EncodedPublish {
    /// All messages of a batch: where each starts, and where one after the last would.
    pub(super) fn new(wire: Wire, body: Vec<u8>, starts: Vec<usize>) -> Self {
        Self {
            wire,
            body: body.into(),
            range: 0..starts.len() - 1,
            starts: starts.into(),
        }
    }

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
        let messages = &self.body[self.starts[self.range.start]..self.starts[self.range.end]];
        match self.wire {
            Wire::Rest => {
                // Without the comma (or bracket) after the last one.
                let messages = &messages[..messages.len().saturating_sub(1)];
                Bytes::from([OPEN, messages, CLOSE].concat())
            }
            Wire::Grpc => grpc::part(&self.body[..self.starts[0]], messages),
        }
    }

    /// Takes the body's buffer, where nobody else has it any more. No message is left in these.
    pub(crate) fn take_buffer(&mut self) -> Option<Vec<u8>> {
        take_buffer(std::mem::take(&mut self.body))
    }

    /// Which wire they are encoded for.
    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// Whether these are the messages `range` of a batch of `batch`.
    pub(crate) fn is_part(&self, range: &Range<usize>, batch: usize) -> bool {
        self.range == *range && self.starts.len() == batch + 1
    }

    /// The messages of `range`, counted within the original batch.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self {
            wire: self.wire,
            body: self.body.clone(),
            starts: Arc::clone(&self.starts),
            range,
        }
    }
}

/// Encodes the messages of a batch straight into one buffer of exactly the right size.
pub(super) fn encode<'a>(
    messages: impl ExactSizeIterator<Item = &'a Body> + Clone,
    buffer: Vec<u8>,
) -> EncodedPublish {
    let len = body_len(messages.clone().map(|message| message.sizes().json).sum());
    let mut out = with_room(buffer, len);
    let mut starts = Vec::with_capacity(messages.len() + 1);
    let mut scratch = Vec::new();
    let mut before = Written::default();
    out.extend_from_slice(OPEN);
    for (index, message) in messages.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        starts.push(out.len());
        write_message(&mut out, &mut scratch, &mut before, message);
    }
    starts.push(out.len() + 1);
    out.extend_from_slice(CLOSE);
    debug_assert_eq!(out.len(), len, "the size was counted wrong");
    EncodedPublish::new(Wire::Rest, out, starts)
}

/// The POST that carries `body`.
pub(super) fn http_request(url: &Uri, body: Bytes, token: Option<&Token>) -> Request<Bytes> {
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

/// The attributes of the message before, and where they were written: those that are shared are
/// copied from there.
#[derive(Debug, Default)]
pub(super) struct Written<'a> {
    attributes: Option<&'a Attributes>,
    place: Range<usize>,
}

impl<'a> Written<'a> {
    /// Writes the attributes of a message, by a copy where the message before had the same.
    pub(super) fn write(
        &mut self,
        out: &mut Vec<u8>,
        attributes: &'a Attributes,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let before = self.attributes.replace(attributes);
        if before.is_some_and(|before| before.are_shared_with(attributes)) {
            return out.extend_from_within(self.place.clone());
        }
        let start = out.len();
        write(out);
        self.place = start..out.len();
    }
}

fn write_message<'a>(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    before: &mut Written<'a>,
    message: &'a Body,
) {
    let mut separator = b'{';
    let mut member = |out: &mut Vec<u8>, name: &[u8]| {
        out.push(separator);
        separator = b',';
        append(out, name);
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
    // What was measured has been looked through for characters to escape.
    let write = match message.sizes().plain {
        true => write_plain_string,
        false => write_string,
    };
    if !message.attributes().is_empty() {
        member(out, br#""attributes":"#);
        before.write(out, message.attributes(), |out| {
            let mut separator = b'{';
            for (name, value) in message.attributes().iter() {
                out.push(separator);
                separator = b',';
                write(out, name);
                out.push(b':');
                write(out, value);
            }
            out.push(b'}');
        });
    }
    if !message.ordering_key().is_empty() {
        member(out, br#""orderingKey":"#);
        write(out, message.ordering_key());
    }
    out.push(b'}');
}
