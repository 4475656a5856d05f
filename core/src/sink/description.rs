//! Where a sink sends to.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::destination;
use crate::options::{OrderingKey, PublisherOptions};

/// The hook that a description is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Its source.
    pub source_id: String,
    /// Its tenant; none where it differs from hook to hook.
    pub tenant_id: Option<String>,
}

/// Where a sink sends a hook, in the words of AsyncAPI. Holds no credentials and no userinfo.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Description {
    /// The protocol's AsyncAPI name: `googlepubsub`.
    pub protocol: String,
    /// The host, with its port where it is not the scheme's own.
    pub host: String,
    /// The channel's address: `projects/P/topics/T`.
    pub address: String,
    /// What travels.
    pub payload: Payload,
    /// The ordering key, where it is one for all messages.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub ordering_key: Option<String>,
    /// What the protocol has to say of the channel. For Pub/Sub the version of the binding.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Bindings::is_empty"))]
    pub channel_bindings: Bindings,
    /// What the protocol has to say of the messages. For Pub/Sub the ordering key is added in the
    /// document.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Bindings::is_empty"))]
    pub message_bindings: Bindings,
}

/// AsyncAPI bindings: by protocol an object that the protocol's binding defines.
pub type Bindings = BTreeMap<String, Map<String, Value>>;

/// The protocol's name of Google Cloud Pub/Sub.
pub(crate) const GOOGLEPUBSUB: &str = "googlepubsub";

impl Description {
    /// The topic that a publisher with these options publishes to.
    #[must_use]
    pub fn of_topic(options: &PublisherOptions) -> Self {
        let url = options.publish_url();
        let own = if url.scheme_str() == Some("http") {
            80
        } else {
            443
        };
        let host = url.host().unwrap_or_default();
        let host = match url.port_u16().filter(|port| *port != own) {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut description = Self::message(GOOGLEPUBSUB, host, options.topic_name());
        if let OrderingKey::Fixed(key) = options.ordering_key() {
            description.ordering_key = Some(key.clone()).filter(|key| !key.is_empty());
        }
        description
    }

    /// A channel that messages are published to.
    ///
    /// A URL for a host is cut down to its host and port, and an address loses its query and what
    /// stands before an `@`. What cannot be told from a credential is not kept: the host is then
    /// [`UNKNOWN_HOST`](super::UNKNOWN_HOST), the address empty, which means unknown.
    ///
    /// ```
    /// use pubsink_core::sink::Description;
    ///
    /// let url = "https://user:secret@example.com:8443/v1?token=secret";
    /// assert_eq!(Description::message("kafka", url, "hooks").host, "example.com:8443");
    /// ```
    #[must_use]
    pub fn message(
        protocol: impl Into<String>,
        host: impl Into<String>,
        address: impl Into<String>,
    ) -> Self {
        let protocol = destination::protocol(&protocol.into());
        let mut channel_bindings = Bindings::new();
        if protocol == GOOGLEPUBSUB {
            channel_bindings.insert(protocol.clone(), binding());
        }
        Self {
            protocol,
            host: destination::host(&host.into()),
            address: destination::address(&address.into()),
            payload: Payload::Message,
            ordering_key: None,
            channel_bindings,
            message_bindings: Bindings::new(),
        }
    }
}

/// What travels to a sink's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Payload {
    /// The hook message. Only these are part of an AsyncAPI document.
    Message,
    /// The hook's body as it was received.
    Body,
}

/// A Pub/Sub binding that says nothing but the version it is written in.
pub(crate) fn binding() -> Map<String, Value> {
    Map::from_iter([("bindingVersion".to_owned(), "0.2.0".into())])
}
