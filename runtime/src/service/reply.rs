//! The answer to a message.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use pubsink_core::attributes::Attributes;
use pubsink_core::failure::Failure;
use pubsink_core::publish::Message;
use pubsink_core::serde_json;
use pubsink_core::text::Text;
use serde::Serialize;

/// A message that answers one: published by the handler's publisher
/// ([`reply_to`](super::HandlerBuilder::reply_to)), and stored before the answered one is settled.
///
/// Delivery is at least once, so a reply may be published more than once.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    message: Message,
    /// The first header whose value is not UTF-8.
    not_text: Option<Text>,
}

impl Reply {
    /// A reply of this data, which is handed over and not copied.
    #[must_use]
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self {
            message: Message::new(data),
            not_text: None,
        }
    }

    /// A reply of `value` as JSON, with the attribute `content_type`.
    ///
    /// # Errors
    ///
    /// Where `value` has no form in JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        let reply = Self::new(serde_json::to_vec(value)?);
        Ok(reply.attribute("content_type", "application/json"))
    }

    /// With this attribute. One of its name is replaced.
    #[must_use]
    pub fn attribute(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.message.attributes.insert(name, value);
        self
    }

    /// With this header, which becomes an attribute. An attribute is text: a value that is not
    /// UTF-8 fails the reply.
    #[must_use]
    pub fn header(mut self, name: impl Into<Cow<'static, str>>, value: impl AsRef<[u8]>) -> Self {
        let name = name.into();
        match std::str::from_utf8(value.as_ref()) {
            Ok(value) => self.attribute(name, value.to_owned()),
            Err(_) => {
                let not_text = &mut self.not_text;
                not_text.get_or_insert_with(|| Text::capped(name.as_bytes()));
                self
            }
        }
    }

    /// With this ordering key. Empty: none.
    #[must_use]
    pub fn ordering_key(mut self, key: impl Into<String>) -> Self {
        self.message.ordering_key = key.into();
        self
    }

    /// Its data.
    #[must_use]
    pub fn data(&self) -> &Bytes {
        &self.message.data
    }

    /// Its attributes.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.message.attributes
    }

    pub(super) fn into_message(self) -> Result<Message, ReplyError> {
        match self.not_text {
            Some(header) => Err(ReplyError::NotText { header }),
            None => Ok(self.message),
        }
    }
}

/// Without data and attributes, which are the handler's.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("data_bytes", &self.message.data.len())
            .field("attributes", &self.message.attributes.len())
            .field("ordering_key", &self.message.ordering_key)
            .finish_non_exhaustive()
    }
}

/// Why a reply was not published. The message it answers is retried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// A header's value is not UTF-8, and an attribute is text.
    #[error("the value of header {header:?} is not UTF-8; an attribute has to be")]
    NotText {
        /// The header.
        header: Text,
    },
    /// The handler has no publisher: it needs [`reply_to`](super::HandlerBuilder::reply_to).
    #[error("the handler replied, and it has no publisher for replies: set one with `reply_to`")]
    NoPublisher,
    /// It was not stored, as far as is known.
    #[error("the reply was not published: {0}")]
    Publish(#[from] Failure),
}
