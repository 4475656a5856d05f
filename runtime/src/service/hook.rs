//! The hook message.

use std::ops::Deref;

use bytes::Bytes;
use pubsink_core::claim::ClaimRef;
use pubsink_core::message::{self, DecodedMessage};

use super::context::Context;
use super::decode_error::DecodeError;
use super::from_message::FromMessage;

/// A hook, as sinks publish it ([`message`]): decoded and checked. A
/// body that did not travel stays a [claim](Self::claim), for the handler to redeem.
///
/// A hook may come more than once: process it once per
/// [`idempotency_key`](DecodedMessage::idempotency_key()).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook(pub DecodedMessage);

impl Hook {
    /// The body, where it travelled in the message.
    #[must_use]
    pub fn body(&self) -> Option<&Bytes> {
        self.0.body.as_ref()
    }

    /// Where the body lies, where it did not.
    #[must_use]
    pub fn claim(&self) -> Option<&ClaimRef> {
        self.0.claim.as_ref()
    }
}

impl FromMessage for Hook {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        Ok(Self(message::decode(context.data())?))
    }
}

impl Deref for Hook {
    type Target = DecodedMessage;

    fn deref(&self) -> &DecodedMessage {
        &self.0
    }
}
