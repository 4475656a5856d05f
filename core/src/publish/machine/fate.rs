//! What becomes of all messages of a request that failed.

use std::sync::Arc;
use std::time::Duration;

use crate::failure::Class;
use crate::reason::{Reason, TransportKind};
use crate::text::Text;

/// A failure that several messages share.
pub(super) struct Fate {
    pub(super) class: FateClass,
    pub(super) reason: Arc<Reason>,
    pub(super) may_have_been_stored: bool,
}

pub(super) enum FateClass {
    Is(Class),
    /// With a draw for each message, raised to what the service named.
    Throttled(Option<Duration>),
}

impl Fate {
    pub(super) fn is(class: Class, reason: impl Into<Arc<Reason>>) -> Self {
        Self {
            class: FateClass::Is(class),
            reason: reason.into(),
            may_have_been_stored: false,
        }
    }

    pub(super) fn no_credentials(detail: Text) -> Self {
        Self::is(Class::Transient, Reason::NoCredentials { detail })
    }

    pub(super) fn transport(
        transport: TransportKind,
        detail: Text,
        may_have_been_stored: bool,
    ) -> Self {
        let reason = Reason::Transport { transport, detail };
        Self {
            may_have_been_stored,
            ..Self::is(Class::Transient, reason)
        }
    }
}

pub(super) fn closed(detail: &str) -> Reason {
    Reason::Transport {
        transport: TransportKind::Closed,
        detail: detail.into(),
    }
}
