//! Where a sink sends to.

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
}

impl Description {
    /// A channel that messages are published to.
    #[must_use]
    pub fn message(
        protocol: impl Into<String>,
        host: impl Into<String>,
        address: impl Into<String>,
    ) -> Self {
        Self {
            protocol: protocol.into(),
            host: host.into(),
            address: address.into(),
            payload: Payload::Message,
            ordering_key: None,
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
