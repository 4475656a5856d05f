//! What a server sees of a publisher.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Version};
use prost::Message as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use super::settled::millis;
use crate::message::{DecodeError, DecodedMessage, decode};
use crate::publish::RequestId;
use crate::wire::grpc::{FrameReader, MESSAGE_MAX_BYTES};

/// A request as the server saw it.
///
/// Serialized it is when it came and its messages, for snapshots that people read; its exact bytes
/// are [`body`](Self::body).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SentRequest {
    /// Its number. A request that is sent again with a fresh token keeps it.
    pub id: RequestId,
    /// When it was sent, from the simulation's start.
    pub at: Duration,
    /// The request as a transport would send it.
    pub http: Request<Bytes>,
    /// The messages in its body.
    pub messages: Vec<SentMessage>,
}

impl SentRequest {
    pub(super) fn new(id: RequestId, at: Duration, http: Request<Bytes>) -> Self {
        let messages = match http.version() {
            Version::HTTP_2 => SentMessage::read_all_grpc(http.body()),
            _ => SentMessage::read_all(http.body()).ok(),
        };
        Self {
            id,
            at,
            messages: messages.expect("the machine sends what Pub/Sub takes"),
            http,
        }
    }

    /// The exact bytes of its body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        self.http.body()
    }
}

impl Serialize for SentRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("SentRequest", 2)?;
        fields.serialize_field("at_ms", &millis(self.at))?;
        fields.serialize_field("messages", &self.messages)?;
        fields.end()
    }
}

/// A message as it arrives.
///
/// Serialized without what is empty; data that is no text is `data_base64`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SentMessage {
    /// The data, base64 undone.
    pub data: Bytes,
    /// The attributes.
    pub attributes: BTreeMap<String, String>,
    /// The ordering key, empty where there is none.
    pub ordering_key: String,
}

impl SentMessage {
    /// Reads the messages of a publish request's body over gRPC: one frame. None where it is
    /// none, or holds another message.
    #[must_use]
    pub fn read_all_grpc(body: &Bytes) -> Option<Vec<Self>> {
        let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
        let mut rest = body.clone();
        let message = reader.next_message(&mut rest).ok()??;
        let request = proto::PublishRequest::decode(message).ok()?;
        rest.is_empty().then_some(())?;
        let messages = request.messages.into_iter().map(|message| Self {
            data: message.data,
            attributes: message.attributes,
            ordering_key: message.ordering_key,
        });
        Some(messages.collect())
    }

    /// Reads the messages of a publish request's body over REST, for servers of your own.
    ///
    /// # Errors
    ///
    /// What is wrong with the body: another shape, a field that Pub/Sub does not know, broken
    /// base64.
    pub fn read_all(body: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        let body: Body = serde_json::from_slice(body)?;
        let messages = body.messages.into_iter();
        messages.map(Self::read).collect()
    }

    /// The hook the message carries.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] where it carries none.
    pub fn hook(&self) -> Result<DecodedMessage, DecodeError> {
        decode(&self.data)
    }

    fn read(message: Message) -> Result<Self, serde_json::Error> {
        let data = STANDARD.decode(message.data);
        Ok(Self {
            data: data.map_err(serde::de::Error::custom)?.into(),
            attributes: message.attributes,
            ordering_key: message.ordering_key,
        })
    }
}

impl Serialize for SentMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("SentMessage", 3)?;
        match std::str::from_utf8(&self.data) {
            Ok("") => {}
            Ok(text) => fields.serialize_field("data", text)?,
            Err(_) => fields.serialize_field("data_base64", &STANDARD.encode(&self.data))?,
        }
        if !self.attributes.is_empty() {
            fields.serialize_field("attributes", &self.attributes)?;
        }
        if !self.ordering_key.is_empty() {
            fields.serialize_field("ordering_key", &self.ordering_key)?;
        }
        fields.end()
    }
}

/// A message that a simulation's server stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stored {
    /// The id it was stored under: `id-0`, `id-1` and so on.
    pub id: String,
    /// The message.
    #[serde(flatten)]
    pub message: SentMessage,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Message {
    #[serde(default)]
    data: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    #[serde(default)]
    ordering_key: String,
}

/// A publish request by its public field numbers: not what it is written by.
mod proto {
    use std::collections::BTreeMap;

    use bytes::Bytes;

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct PublishRequest {
        #[prost(string, tag = "1")]
        pub(super) topic: String,
        #[prost(message, repeated, tag = "2")]
        pub(super) messages: Vec<PubsubMessage>,
    }

    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub(super) struct PubsubMessage {
        #[prost(bytes = "bytes", tag = "1")]
        pub(super) data: Bytes,
        #[prost(btree_map = "string, string", tag = "2")]
        pub(super) attributes: BTreeMap<String, String>,
        #[prost(string, tag = "5")]
        pub(super) ordering_key: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_and_what_is_none_is_refused() {
        let body = br#"{"messages":[{"data":"AP8=","orderingKey":"k"},{"attributes":{"a":""}}]}"#;
        let messages = SentMessage::read_all(body).unwrap();
        assert_eq!(
            serde_json::to_string(&messages).unwrap(),
            r#"[{"data_base64":"AP8=","ordering_key":"k"},{"attributes":{"a":""}}]"#
        );
        for broken in [
            "",
            "{}",
            r#"{"messages":[{"data":"?"}]}"#,
            r#"{"messages":[{"date":""}]}"#,
        ] {
            assert!(
                SentMessage::read_all(broken.as_bytes()).is_err(),
                "{broken}"
            );
        }
    }
}
