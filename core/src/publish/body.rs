//! What is sent of a message.

use std::fmt;

use bytes::Bytes;

use crate::attributes::Attributes;
use crate::message::HookMessage;
use crate::text::Text;
use crate::wire::size::{PackedSizes, Sizes};

/// What is sent of a message, measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Body {
    content: Content,
    attributes: Attributes,
    ordering_key: Text,
    sizes: PackedSizes,
}

/// What becomes the message's data.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// Data as it is.
    Plain(Bytes),
    /// A hook, encoded when its request is. In a box, since a message is moved often.
    Hook(Box<HookMessage>),
}

/// A message that was settled and never left. Its data can be its owner's own memory
/// ([`Bytes::from_owner`]), whose `Drop` is foreign code.
#[derive(Debug)]
pub struct Unsent(#[expect(dead_code, reason = "it is there to be dropped")] Body);

impl From<Body> for Unsent {
    fn from(body: Body) -> Self {
        Self(body)
    }
}

impl Body {
    /// Of a message that has these sizes and passed every check.
    pub(super) fn new(
        content: Content,
        attributes: Attributes,
        ordering_key: Text,
        sizes: Sizes,
    ) -> Self {
        Self {
            content,
            attributes,
            ordering_key,
            sizes: sizes.into(),
        }
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    pub(crate) fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Empty where it has none.
    pub(crate) fn ordering_key(&self) -> &Text {
        &self.ordering_key
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes.into()
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(data) => f.debug_struct("Plain").field("len", &data.len()).finish(),
            Self::Hook(hook) => f.debug_tuple("Hook").field(hook).finish(),
        }
    }
}
