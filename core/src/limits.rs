//! Pub/Sub's own limits on a publish request.
//!
//! Sources: Google's quotas page for counts and lengths; for the two sizes of a request public
//! reports against the real service (GoogleCloudPlatform/pubsub#267, apache/beam#23022), since no
//! page gives the size of the HTTP body. Lengths are bytes of UTF-8.

/// The most messages of one request.
pub const REQUEST_MAX_MESSAGES: usize = 1_000;

/// The most bytes of a request's HTTP body as sent.
pub const REQUEST_MAX_BODY_BYTES: usize = 10_485_760;

/// The most bytes of a request as protobuf, which the service makes of every JSON request.
pub const REQUEST_MAX_PROTOBUF_BYTES: usize = 10_000_000;

/// The most attributes of one message.
pub const ATTRIBUTES_MAX: usize = 100;

/// The most bytes of an attribute's name.
pub const ATTRIBUTE_NAME_MAX_BYTES: usize = 256;

/// The prefix of attribute names that Google keeps for itself.
pub const ATTRIBUTE_NAME_RESERVED: &str = "goog";

/// The most bytes of an attribute's value.
pub const ATTRIBUTE_VALUE_MAX_BYTES: usize = 1_024;

/// The most bytes of an ordering key.
pub const ORDERING_KEY_MAX_BYTES: usize = 1_024;
