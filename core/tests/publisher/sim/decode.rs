//! A request's body, read as a server reads it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// A message as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodedMessage {
    pub(crate) data: Vec<u8>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) ordering_key: String,
}

impl DecodedMessage {
    /// The number at the head of the data.
    pub(crate) fn tag(&self) -> u64 {
        let digits = self.data.iter().take_while(|byte| byte.is_ascii_digit());
        let digits: Vec<_> = digits.copied().collect();
        String::from_utf8(digits).unwrap().parse().unwrap()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Message {
    data: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    ordering_key: Option<String>,
}

/// Reads a body. Empty parts must be left out, as the format says.
pub(crate) fn body(body: &[u8]) -> Vec<DecodedMessage> {
    let body: Body = serde_json::from_slice(body).unwrap();
    let messages = body.messages.into_iter();
    messages
        .map(|message| {
            assert_ne!(message.data.as_deref(), Some(""));
            assert_ne!(message.attributes, Some(BTreeMap::new()));
            assert_ne!(message.ordering_key.as_deref(), Some(""));
            DecodedMessage {
                data: STANDARD.decode(message.data.unwrap_or_default()).unwrap(),
                attributes: message.attributes.unwrap_or_default(),
                ordering_key: message.ordering_key.unwrap_or_default(),
            }
        })
        .collect()
}
