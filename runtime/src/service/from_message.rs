//! What a handler can take.

use std::sync::Arc;

use bytes::Bytes;
use pubsink_core::subscribe::ReceivedMessage;

use super::context::Context;
use super::decode_error::DecodeError;

/// What can be made of a message: an argument of a handler.
///
/// [`Json`](super::Json), [`Hook`](super::Hook), [`Bytes`], [`String`], the
/// [whole message](ReceivedMessage) behind an `Arc` and the [`Context`] are. `Result<T,
/// DecodeError>` leaves it to the handler what is done about a message that is no `T`. A codec of
/// one's own is one function:
///
/// ```
/// use pubsink_runtime::service::{Context, DecodeError, FromMessage};
///
/// /// A temperature in tenths of a degree, big-endian.
/// struct Reading(i16);
///
/// impl FromMessage for Reading {
///     fn from_message(context: &Context) -> Result<Self, DecodeError> {
///         let data: Result<[u8; 2], _> = context.data()[..].try_into();
///         let data = data.map_err(|_| DecodeError::new("a reading", "it is not of 2 bytes"))?;
///         Ok(Self(i16::from_be_bytes(data)))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler cannot take a `{Self}`",
    label = "it is not known how to make this of a message",
    note = "a handler takes `Json<T>`, `Hook`, `Bytes`, `String`, `Arc<ReceivedMessage>`, \
            `Context`, or a type of yours that implements `FromMessage`"
)]
pub trait FromMessage: Sized {
    /// Reads the message.
    ///
    /// # Errors
    ///
    /// [`DecodeError`], where it is none. What follows is set by
    /// [`on_decode_error`](super::HandlerBuilder::on_decode_error).
    fn from_message(context: &Context) -> Result<Self, DecodeError>;
}

/// The data: the buffer it came in.
impl FromMessage for Bytes {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        Ok(context.data().clone())
    }
}

/// The data as text, which has to be UTF-8.
impl FromMessage for String {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        let text = std::str::from_utf8(context.data());
        text.map(str::to_owned).map_err(|error| {
            let at = error.valid_up_to();
            DecodeError::new("text", format!("it is not UTF-8 at byte {at}"))
        })
    }
}

impl FromMessage for Arc<ReceivedMessage> {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        Ok(Self::clone(context.message()))
    }
}

impl FromMessage for Context {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        Ok(context.clone())
    }
}

/// Never fails: the handler sees what is wrong.
impl<T: FromMessage> FromMessage for Result<T, DecodeError> {
    fn from_message(context: &Context) -> Result<Self, DecodeError> {
        Ok(T::from_message(context))
    }
}
