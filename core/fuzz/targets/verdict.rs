//! What a verdict keeps is bounded.

use pubsink_core::reason::Reason;
use pubsink_core::text::TEXT_MAX_BYTES;
use pubsink_core::wire::{RETRY_AFTER_MAX, Verdict};

/// Checks the reason and the pause of a verdict.
pub(crate) fn is_bounded(verdict: &Verdict) {
    match verdict {
        Verdict::Delivered(_) => {}
        Verdict::Throttled {
            reason, at_least, ..
        } => {
            assert!(at_least.unwrap_or_default() <= RETRY_AFTER_MAX);
            bounded(reason);
        }
        Verdict::Refused(reason)
        | Verdict::TooLarge(reason)
        | Verdict::Unauthenticated(reason)
        | Verdict::Config(reason)
        | Verdict::Transient { reason, .. } => bounded(reason),
        _ => panic!("a verdict this target does not know"),
    }
}

fn bounded(reason: &Reason) {
    // Lossy decoding makes at most three bytes of one, in each of three texts.
    assert!(reason.to_string().len() <= 3 * (4 * TEXT_MAX_BYTES + 200));
}
