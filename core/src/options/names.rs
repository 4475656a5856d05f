//! Project and topic ids, by Pub/Sub's naming rules.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::OptionError;

/// What may stand unescaped in a path segment (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The longest project id taken: a domain-scoped id (`example.com:name`) has room in it.
const PROJECT_MAX: usize = 128;

/// A topic's id has 3 to 255 characters (Pub/Sub's resource name rules).
const TOPIC_LENGTH: std::ops::RangeInclusive<usize> = 3..=255;

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

/// A topic's short id, for example `hooks` (not `projects/p/topics/hooks`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopicId(String);

impl TopicId {
    /// Checks `id`: a letter first, then letters, digits and `-._~+%`, 3 to 255 characters in
    /// all, not starting with `goog`.
    ///
    /// # Errors
    ///
    /// [`OptionError`] naming the id and the rule.
    pub fn new(id: &str) -> Result<Self, OptionError> {
        let refuse = |rule| Err(OptionError::new("topic", id, rule));
        if id.contains('/') {
            return refuse("the short id, without projects/…/topics/");
        }
        let charset = |b: u8| b.is_ascii_alphanumeric() || b"-._~+%".contains(&b);
        let letter_first = id.starts_with(|c: char| c.is_ascii_alphabetic());
        if !TOPIC_LENGTH.contains(&id.len()) || !letter_first || !id.bytes().all(charset) {
            return refuse("3 to 255 characters, a letter first, then letters, digits or '-._~+%'");
        }
        if id.starts_with("goog") {
            return refuse("an id that does not start with 'goog', which Google keeps for itself");
        }
        Ok(Self(id.to_owned()))
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `projects/P/topics/T`, escaped for a URL's path.
pub(super) fn topic_path(project: &ProjectId, topic: &TopicId) -> String {
    // A domain-scoped project keeps its colon: it is legal in a path segment, and some servers
    // know no escaped one.
    let project = utf8_percent_encode(&project.0, SEGMENT).to_string();
    let project = project.replace("%3A", ":");
    let topic = utf8_percent_encode(&topic.0, SEGMENT);
    format!("projects/{project}/topics/{topic}")
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
