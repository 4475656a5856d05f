//! A message as it is received.

use std::fmt;

use bytes::Bytes;

use crate::attributes::Attributes;
use crate::failure::MessageId;

/// The name of one lease of a message, as Pub/Sub made it: a slice of its answer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AckId(Bytes);

impl AckId {
    /// `bytes` as an ack id, where they are UTF-8.
    #[must_use]
    pub fn from_utf8(bytes: Bytes) -> Option<Self> {
        std::str::from_utf8(&bytes).is_ok().then_some(Self(bytes))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The same, without a look at whether it is text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for AckId {
    fn from(id: &str) -> Self {
        Self(Bytes::copy_from_slice(id.as_bytes()))
    }
}

impl fmt::Debug for AckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for AckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for AckId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A message that Pub/Sub leased to us.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedMessage {
    /// The name of the lease.
    pub ack_id: AckId,
    /// The message's id: the same when it is delivered again.
    pub message_id: MessageId,
    /// The payload: a slice of what came over the wire where the wire allows it.
    pub data: Bytes,
    /// The attributes.
    pub attributes: Attributes,
    /// The ordering key, empty where there is none.
    pub ordering_key: String,
    /// When it was published, unix milliseconds; 0 where the server did not say.
    pub publish_time: i64,
    /// Which delivery this is, from 1. Only where the subscription has a dead-letter policy.
    pub delivery_attempt: Option<u32>,
}

impl ReceivedMessage {
    /// A message with data alone.
    #[must_use]
    pub fn new(ack_id: AckId, message_id: MessageId, data: impl Into<Bytes>) -> Self {
        Self {
            ack_id,
            message_id,
            data: data.into(),
            attributes: Attributes::new(),
            ordering_key: String::new(),
            publish_time: 0,
            delivery_attempt: None,
        }
    }

    /// What it counts against
    /// [`max_outstanding_bytes`](super::SubscriberOptions::max_outstanding_bytes): data,
    /// attributes, ordering key and ids.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let ids = self.ack_id.as_bytes().len() + self.message_id.as_bytes().len();
        self.data.len() + self.attributes.text_len() + self.ordering_key.len() + ids
    }
}

/// Without data and attributes, which are the sender's.
impl fmt::Debug for ReceivedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedMessage")
            .field("ack_id", &self.ack_id)
            .field("message_id", &self.message_id)
            .field("data_bytes", &self.data.len())
            .field("attributes", &self.attributes.len())
            .field("ordering_key", &self.ordering_key)
            .field("publish_time", &self.publish_time)
            .field("delivery_attempt", &self.delivery_attempt)
            .finish()
    }
}
