//! Which protocol is spoken.

/// How to speak to Pub/Sub. A publisher speaks REST where nothing is set, a subscription gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Wire {
    /// gRPC, which is HTTP/2: a subscription's messages are streamed as they come; what is
    /// published goes as protobuf, in three quarters of the bytes.
    #[default]
    Grpc,
    /// REST: a subscription's messages are pulled; what is published goes as JSON.
    Rest,
}
