//! A hook as it is handed over.

use std::sync::Arc;

use pubsink_core::claim::ClaimRef;
use pubsink_core::envelope::Envelope;
use pubsink_core::text::Text;

/// A hook that is to be delivered, and what is to be known about that. Made of an [`Envelope`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    pub(super) envelope: Arc<Envelope>,
    pub(super) to: Option<Vec<Text>>,
    pub(super) claim: Option<ClaimRef>,
    pub(super) once: Option<Text>,
}

impl Incoming {
    /// A hook for every sink.
    #[must_use]
    pub fn new(envelope: impl Into<Arc<Envelope>>) -> Self {
        Self {
            envelope: envelope.into(),
            to: None,
            claim: None,
            once: None,
        }
    }

    /// Only for the sinks of these names.
    #[must_use]
    pub fn to<N: AsRef<str>>(mut self, sinks: impl IntoIterator<Item = N>) -> Self {
        let sinks = sinks.into_iter();
        self.to = Some(sinks.map(|name| Text::new(name.as_ref())).collect());
        self
    }

    /// Under a name by which the journal knows the hook again: a second one of that name is not
    /// stored, however often it comes, and its acceptance tells what became of the first. The
    /// journal remembers the name for as long as it lives.
    #[must_use]
    pub fn once(mut self, name: impl Into<Text>) -> Self {
        self.once = Some(name.into());
        self
    }

    /// With the claim under which its body lies, for the sinks that do not send a body of its size
    /// themselves. Default: the dispatcher checks such a body in, where it has a
    /// [store](super::DispatchBuilder::claims).
    #[must_use]
    pub fn claim(mut self, claim: ClaimRef) -> Self {
        self.claim = Some(claim);
        self
    }
}

impl From<Envelope> for Incoming {
    fn from(envelope: Envelope) -> Self {
        Self::new(envelope)
    }
}

impl From<Arc<Envelope>> for Incoming {
    fn from(envelope: Arc<Envelope>) -> Self {
        Self::new(envelope)
    }
}
