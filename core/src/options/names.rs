//! Project and topic ids, by Pub/Sub's naming rules.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::OptionError;

/// What has to be escaped anywhere in a URL: all but RFC 3986's unreserved characters.
pub(crate) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The longest project id taken: a domain-scoped id (`example.com:name`) has room in it.
const PROJECT_MAX: usize = 128;

/// Pub/Sub's resource name rules.
const ID_LENGTH: std::ops::RangeInclusive<usize> = 3..=255;

/// A project's id, for example `my-project` or `example.com:my-project`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProjectId(String);

impl ProjectId {
    /// Checks `id`: 1 to 128 of letters, digits, `-`, `.`, `_` and `:`, a letter or digit first.
    /// Emulators take ids that
    /// Google's own services would not, so the rule is wider than theirs.
    ///
    /// # Errors
    ///
    /// [`OptionError`] naming the id and the rule.
    pub fn new(id: &str) -> Result<Self, OptionError> {
        let charset = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
        let named = id.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !named || id.len() > PROJECT_MAX || !id.bytes().all(charset) {
            return Err(OptionError::new(
                "project",
                id,
                "1 to 128 letters, digits, '-', '.', '_' or ':', a letter or digit first",
            ));
        }
        Ok(Self(id.to_owned()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Declares a kind of resource's short id.
macro_rules! resource_id {
    ($(#[$doc:meta])* $name:ident, $option:literal, $path:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks `id`: a letter first, then letters, digits and `-._~+%`, 3 to 255 characters
            /// in all, not starting with `goog`.
            ///
            /// # Errors
            ///
            /// [`OptionError`] naming the id and the rule.
            pub fn new(id: &str) -> Result<Self, OptionError> {
                check_id($option, id, concat!("the short id, without projects/…/", $path, "/"))?;
                Ok(Self(id.to_owned()))
            }

            /// The id.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

resource_id! {
    /// A topic's short id, for example `hooks` (not `projects/p/topics/hooks`).
    TopicId, "topic", "topics"
}

resource_id! {
    /// A subscription's short id, for example `billing` (not `projects/p/subscriptions/billing`).
    SubscriptionId, "subscription", "subscriptions"
}

fn check_id(option: &'static str, id: &str, short: &'static str) -> Result<(), OptionError> {
    let refuse = |rule| Err(OptionError::new(option, id, rule));
    if id.contains('/') {
        return refuse(short);
    }
    let charset = |b: u8| b.is_ascii_alphanumeric() || b"-._~+%".contains(&b);
    let letter_first = id.starts_with(|c: char| c.is_ascii_alphabetic());
    if !ID_LENGTH.contains(&id.len()) || !letter_first || !id.bytes().all(charset) {
        return refuse("3 to 255 characters, a letter first, then letters, digits or '-._~+%'");
    }
    if id.starts_with("goog") {
        return refuse("an id that does not start with 'goog', which Google keeps for itself");
    }
    Ok(())
}

/// `projects/P/topics/T`, escaped for a URL's path.
pub(super) fn topic_path(project: &ProjectId, topic: &TopicId) -> String {
    resource_path(project, "topics", &topic.0)
}

/// `projects/P/subscriptions/S`, escaped for a URL's path.
pub(crate) fn subscription_path(project: &ProjectId, subscription: &SubscriptionId) -> String {
    resource_path(project, "subscriptions", &subscription.0)
}

fn resource_path(project: &ProjectId, collection: &str, id: &str) -> String {
    // A domain-scoped project keeps its colon: it is legal in a path segment, and some servers
    // know no escaped one.
    let project = utf8_percent_encode(&project.0, UNRESERVED).to_string();
    let project = project.replace("%3A", ":");
    let id = utf8_percent_encode(id, UNRESERVED);
    format!("projects/{project}/{collection}/{id}")
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_named_in_its_own_words() {
        assert!(SubscriptionId::new("billing-1").is_ok());
        let error = SubscriptionId::new("projects/p/subscriptions/abc").unwrap_err();
        assert_eq!(error.option, "subscription");
        assert!(
            error.expected.contains("projects/…/subscriptions/"),
            "{error}"
        );
    }

    #[test]
    fn topics_by_pubsubs_rules() {
        for good in ["abc", "A0-._~+%z", &"a".repeat(255)] {
            assert!(TopicId::new(good).is_ok(), "{good}");
        }
        let long = "a".repeat(256);
        for bad in [
            "",
            "ab",
            "1bc",
            "goog-x",
            "a b",
            "café",
            "projects/p/topics/abc",
            &long,
        ] {
            let error = TopicId::new(bad).unwrap_err().to_string();
            assert!(error.contains("topic"), "{error}");
        }
    }

    #[test]
    fn projects_may_be_domain_scoped() {
        for good in ["p", "my-project", "example.com:my-project"] {
            assert!(ProjectId::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "-p", "a/b", "a b", "projects/p"] {
            assert!(ProjectId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_path_is_escaped_once() {
        let project = ProjectId::new("example.com:p").unwrap();
        let topic = TopicId::new("A0-._~+%z").unwrap();
        let path = topic_path(&project, &topic);
        assert_eq!(path, "projects/example.com:p/topics/A0-._~%2B%25z");
    }
}
