//! Classes as labels.

use pubsink_core::failure::{Class, ErrorClass};

/// The label of what did not fail.
pub(super) const NONE: &str = "none";

/// The label of each class, in the order of [`index`].
pub(super) const CLASSES: [&str; 4] = ["permanent", "config", "throttled", "transient"];

/// Counts of each class.
pub(super) type ByClass = [u64; CLASSES.len()];

/// Where a class stands in [`CLASSES`].
pub(super) fn index(class: Class) -> usize {
    match class {
        Class::Permanent => 0,
        Class::Config => 1,
        Class::RetryAfter(_) => 2,
        Class::Transient => 3,
    }
}

/// Where an operator's class stands in [`ErrorClass::ALL`].
pub(super) fn error_index(class: ErrorClass) -> usize {
    match class {
        ErrorClass::Permanent => 0,
        ErrorClass::Throttled => 1,
        ErrorClass::Transient => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_class_has_its_own_label() {
        let pause = Class::RetryAfter(Duration::ZERO);
        let classes = [Class::Permanent, Class::Config, pause, Class::Transient];
        for (class, label) in classes.into_iter().zip(CLASSES) {
            assert_eq!(CLASSES[index(class)], label);
            let error_class = class.error_class();
            assert_eq!(ErrorClass::ALL[error_index(error_class)], error_class);
            assert_eq!(label == error_class.as_str(), !class.is_config());
        }
    }
}
