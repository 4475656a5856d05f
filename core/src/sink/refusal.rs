//! The failures of a sink of one's own, short to write.

use std::fmt::Display;
use std::time::Duration;

use crate::failure::{Class, Failure};
use crate::reason::Reason;
use crate::text::Text;

/// What a sink of one's own says of a delivery that failed. `detail` is shown to operators and
/// kept with the dead letter, its first [8 KiB](crate::text::TEXT_MAX_BYTES): it should hold
/// neither secrets nor the hook's body.
///
/// Each says that nothing was stored; where that is not sure, add
/// [`maybe_stored(true)`](Failure::maybe_stored).
impl Failure {
    /// Never again: the hook itself is at fault.
    #[must_use]
    pub fn permanent(detail: impl Display) -> Self {
        Self::of_sink(Class::Permanent, &detail)
    }

    /// Never again until the operator mends something: a right, a name, a credential.
    #[must_use]
    pub fn config(detail: impl Display) -> Self {
        Self::of_sink(Class::Config, &detail)
    }

    /// Again, no sooner than `pause`: the destination asked for it. No pause at all is
    /// [`transient`](Self::transient).
    #[must_use]
    pub fn retry_after(pause: Duration, detail: impl Display) -> Self {
        Self::of_sink(Class::RetryAfter(pause), &detail).sane()
    }

    /// Again, by the retry policy.
    #[must_use]
    pub fn transient(detail: impl Display) -> Self {
        Self::of_sink(Class::Transient, &detail)
    }

    fn of_sink(class: Class, detail: &dyn Display) -> Self {
        let detail = Text::capped(detail.to_string().as_bytes());
        Self::new(class, Reason::Sink { detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TEXT_MAX_BYTES;

    #[test]
    fn each_has_its_class_and_says_what_the_sink_said() {
        let second = Duration::from_secs(1);
        for (failure, class) in [
            (Failure::permanent("410 Gone"), Class::Permanent),
            (Failure::config("410 Gone"), Class::Config),
            (
                Failure::retry_after(second, "410 Gone"),
                Class::RetryAfter(second),
            ),
            (
                Failure::retry_after(Duration::ZERO, "410 Gone"),
                Class::Transient,
            ),
            (Failure::transient("410 Gone"), Class::Transient),
        ] {
            assert_eq!(failure.class, class);
            assert_eq!(failure.reason.kind(), "sink");
            assert_eq!(failure.reason.to_string(), "the sink failed: 410 Gone");
            assert!(!failure.may_have_been_stored);
        }
    }

    #[test]
    fn a_sink_that_says_too_much_is_cut() {
        let failure = Failure::permanent("x".repeat(2 * TEXT_MAX_BYTES));
        assert!(failure.reason.to_string().len() < TEXT_MAX_BYTES + 100);
    }
}
