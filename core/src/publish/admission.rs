//! What is checked before a message may join a batch.

use std::fmt;

use bytes::Bytes;

use super::body::{Body, Content, Unsent};
use crate::attributes::{self, Attributes};
use crate::delivery::DeliveryContext;
use crate::envelope::Envelope;
use crate::failure::{Class, Diagnostics, Failure};
use crate::limits::{
    ATTRIBUTES_MAX, ORDERING_KEY_MAX_BYTES, REQUEST_MAX_BODY_BYTES, REQUEST_MAX_PROTOBUF_BYTES,
};
use crate::message::{self, HookMessage};
use crate::options::{OrderingKey, PublisherOptions, Wire};
use crate::reason::{ClaimProblem, InvalidMessage, Reason, SizeLimit};
use crate::text::Text;
use crate::trace_context::TraceContext;
use crate::wire::size::{Sizes, body_len, measure, protobuf_len};

/// A plain message: what replies and ordinary events are. `Debug` shows the size of its data.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The data, sent as it is.
    pub data: Bytes,
    /// The attributes.
    pub attributes: Attributes,
    /// The ordering key; empty means none.
    pub ordering_key: String,
    /// Whose message it is, so that tenants share the publisher fairly; an empty one is none.
    /// Never sent.
    pub tenant: Option<String>,
}

impl Message {
    /// A message of `data` alone.
    #[must_use]
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("data_len", &self.data.len())
            .field("attributes", &self.attributes)
            .field("ordering_key", &self.ordering_key)
            .field("tenant", &self.tenant)
            .finish()
    }
}

/// A message that passed every check: it fits a request and Pub/Sub has no rule against it.
///
/// Made from a [`Message`] or a hook by a pure function, so a caller checks on its own task and a
/// bad message never costs the machine, or another message, anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    body: Body,
    tenant: Option<Text>,
    attempt: u32,
    direct: bool,
    resumes_key: bool,
    /// None where there is nothing to say.
    diagnostics: Option<Box<Diagnostics>>,
}

impl Admission {
    /// Checks a plain message.
    ///
    /// # Errors
    ///
    /// A permanent [`Failure`] that names the rule, the value and the limit.
    pub fn message(message: Message, options: &PublisherOptions) -> Result<Self, Failure> {
        let (attributes, key) = (message.attributes, message.ordering_key);
        let sizes = check(message.data.len(), &attributes, &key, options).map_err(permanent)?;
        let content = Content::Plain(message.data);
        Ok(Self {
            body: Body::new(content, attributes, key.into(), sizes),
            tenant: message
                .tenant
                .filter(|tenant| !tenant.is_empty())
                .map(Text::from),
            attempt: 1,
            direct: !options.batch(),
            resumes_key: false,
            diagnostics: None,
        })
    }

    /// Turns a hook into its message and checks it. It is encoded later, with its request.
    ///
    /// # Errors
    ///
    /// A permanent [`Failure`] that names the rule, the value and the limit.
    pub fn hook(
        envelope: &Envelope,
        context: &DeliveryContext,
        options: &PublisherOptions,
    ) -> Result<Self, Failure> {
        let ordering_key = match options.ordering_key() {
            OrderingKey::None => String::new(),
            OrderingKey::Fixed(key) => key.clone(),
            OrderingKey::FromEnvelope(key) => key(envelope),
        };
        let (hook, diagnostics) =
            HookMessage::new(envelope, context, options.inline_max_bytes()).map_err(permanent)?;
        let mut attributes = message::attributes(envelope, context);
        if options.trace_context()
            && context.trace_context.is_none()
            && let Some(trace) = TraceContext::of_hook(envelope)
        {
            trace.write(&mut attributes);
        }
        let sizes = match check(hook.encoded_len(), &attributes, &ordering_key, options) {
            Ok(sizes) => sizes,
            Err(reason) => {
                let mut failure = permanent(reason);
                failure.diagnostics = diagnostics;
                return Err(failure);
            }
        };
        let content = Content::Hook(Box::new(hook));
        Ok(Self {
            body: Body::new(content, attributes, ordering_key.into(), sizes),
            tenant: envelope.tenant().map(Text::new),
            attempt: context.attempt.max(1),
            direct: !(options.batch() && context.batch),
            resumes_key: context.resume_key,
            diagnostics: boxed(diagnostics),
        })
    }

    /// The same message as attempt number `attempt`, from 1.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt.max(1);
        self
    }

    /// The same message as the next one of its ordering key by the caller's own order: where the
    /// key was stopped it goes on with this message, once it is admitted. Hooks say so in
    /// [`DeliveryContext::resume_key`].
    #[must_use]
    pub fn resuming_key(mut self) -> Self {
        self.resumes_key = true;
        self
    }

    /// Whether its ordering key goes on with it.
    #[must_use]
    pub fn resumes_key(&self) -> bool {
        self.resumes_key
    }

    /// Whether it is sent in a request of its own.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The bytes of data, attributes and ordering key: what it counts against the ceilings.
    #[must_use]
    pub fn size(&self) -> usize {
        self.body.sizes().message
    }

    /// Whose message it is.
    #[must_use]
    pub fn tenant(&self) -> Option<&Text> {
        self.tenant.as_ref()
    }

    /// Its ordering key; empty where it has none.
    #[must_use]
    pub fn ordering_key(&self) -> &Text {
        self.body.ordering_key()
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// With the diagnostics a hook's admission had, and sent as that was: for a trace.
    #[cfg(feature = "test-util")]
    pub(crate) fn restored(mut self, diagnostics: Diagnostics, direct: bool) -> Self {
        self.diagnostics = boxed(diagnostics);
        self.direct = direct;
        self
    }

    pub(crate) fn diagnostics(&self) -> Diagnostics {
        unboxed(self.diagnostics.clone())
    }

    /// What is sent of it, the number of its attempt, and its diagnostics.
    pub(super) fn into_parts(self) -> (Body, u32, Option<Box<Diagnostics>>) {
        (self.body, self.attempt, self.diagnostics)
    }
}

impl From<Admission> for Unsent {
    fn from(admission: Admission) -> Self {
        admission.body.into()
    }
}

/// Hardly any message has diagnostics, and every message has the room for them.
fn boxed(diagnostics: Diagnostics) -> Option<Box<Diagnostics>> {
    (!diagnostics.is_empty()).then(|| Box::new(diagnostics))
}

pub(crate) fn unboxed(diagnostics: Option<Box<Diagnostics>>) -> Diagnostics {
    diagnostics.map_or_else(Diagnostics::default, |diagnostics| *diagnostics)
}

fn permanent(reason: Reason) -> Failure {
    let class = match &reason {
        // The hook is as it should be: whoever runs this gave it no claim store.
        Reason::ClaimCheck(ClaimProblem::Missing { .. }) => Class::Config,
        _ => Class::Permanent,
    };
    Failure::new(class, reason)
}

/// Measures what is sent of a message with `data` bytes of data, and checks it against every limit.
fn check(
    data: usize,
    attributes: &Attributes,
    ordering_key: &str,
    options: &PublisherOptions,
) -> Result<Sizes, Reason> {
    let sizes = measure(data, attributes, ordering_key);
    check_rules(data, attributes, ordering_key).map_err(Reason::InvalidMessage)?;
    check_sizes(&sizes, options)?;
    Ok(sizes)
}

fn check_rules(
    data: usize,
    attributes: &Attributes,
    ordering_key: &str,
) -> Result<(), InvalidMessage> {
    if data == 0 && attributes.is_empty() {
        return Err(InvalidMessage::Blank);
    }
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(InvalidMessage::TooManyAttributes {
            count: attributes.len(),
            max: ATTRIBUTES_MAX,
        });
    }
    // They may be shared by many messages, and were looked at as they were made.
    if attributes.may_break_a_rule() {
        for (name, value) in attributes.iter() {
            attributes::check(name, value)?;
        }
    }
    if ordering_key.len() > ORDERING_KEY_MAX_BYTES {
        return Err(InvalidMessage::OrderingKeyTooLong {
            size: ordering_key.len(),
            max: ORDERING_KEY_MAX_BYTES,
        });
    }
    Ok(())
}

/// The message by its own measure, then alone in a request: a server may never answer one that is
/// too large.
fn check_sizes(sizes: &Sizes, options: &PublisherOptions) -> Result<(), Reason> {
    let protobuf = protobuf_len(options.topic_name(), sizes.protobuf);
    let body = match options.wire() {
        Wire::Rest => body_len(sizes.json),
        // Beside the protobuf it has a few bytes.
        Wire::Grpc => 0,
    };
    let checks = [
        (
            sizes.message,
            options.max_message_bytes(),
            SizeLimit::Message,
        ),
        (body, REQUEST_MAX_BODY_BYTES, SizeLimit::RequestBody),
        (
            protobuf,
            REQUEST_MAX_PROTOBUF_BYTES,
            SizeLimit::RequestProtobuf,
        ),
    ];
    for (size, max, limit) in checks {
        if size > max {
            return Err(Reason::MessageTooLarge { size, max, limit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
