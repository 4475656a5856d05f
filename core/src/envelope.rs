//! One webhook as it was received.

use std::fmt;

use bytes::Bytes;

/// One webhook as it was received. The body is bytes and stays bytes: nothing here parses it.
///
/// `Debug` shows the names of its headers and the size of its body, and none of what they hold;
/// nor its path, which is a secret with some providers.
#[derive(Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The hook's own id: UUIDv7 text by custom, any non-empty string accepted.
    pub id: String,
    /// The source the hook was captured under.
    pub source_id: String,
    /// The tenant, where the source carries one.
    pub tenant_id: Option<String>,
    /// When the hook was received, unix milliseconds.
    pub received_at: i64,
    /// The request's method.
    pub method: String,
    /// The request's path.
    pub path: String,
    /// The request's headers in the order they arrived. A value is bytes: HTTP does not promise
    /// text.
    pub headers: Vec<(String, Bytes)>,
    /// The request's content type.
    pub content_type: Option<String>,
    /// The body, verbatim.
    pub body: Bytes,
    /// The provider's own key for the event, where one was found.
    pub dedupe_key: Option<String>,
}

impl Envelope {
    /// A hook with a body and nothing else: `POST /`, without tenant, headers, content type or
    /// dedupe key. `received_at` is unix milliseconds.
    ///
    /// ```
    /// use pubsink_core::envelope::Envelope;
    ///
    /// let hook = Envelope {
    ///     path: "/hooks/github".to_owned(),
    ///     ..Envelope::new("019ad465", "github", 1_764_500_000_332, r#"{"ref":"main"}"#)
    /// };
    /// assert_eq!((hook.method.as_str(), hook.size()), ("POST", 14));
    /// assert_eq!(hook.tenant(), None);
    /// ```
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        source_id: impl Into<String>,
        received_at: i64,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            id: id.into(),
            source_id: source_id.into(),
            tenant_id: None,
            received_at,
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: Vec::new(),
            content_type: None,
            body: body.into(),
            dedupe_key: None,
        }
    }

    /// The tenant; an empty one is none.
    #[must_use]
    pub fn tenant(&self) -> Option<&str> {
        self.tenant_id
            .as_deref()
            .filter(|tenant| !tenant.is_empty())
    }

    /// The body's length in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.body.len()
    }

    /// What it counts against a ceiling of bytes: its body, its headers, its id and path.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let headers = self.headers.iter();
        let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
        self.body.len() + headers + self.id.len() + self.path.len()
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Envelope")
            .field("id", &self.id)
            .field("source_id", &self.source_id)
            .field("tenant_id", &self.tenant_id)
            .field("received_at", &self.received_at)
            .field("method", &self.method)
            .field("headers", &names)
            .field("content_type", &self.content_type)
            .field("size", &self.size())
            .field("dedupe_key", &self.dedupe_key)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_holds_is_not_shown() {
        let mut hook = Envelope::new("the-id", "s", 0, "hunter2");
        hook.path = "/hooks/hunter2".to_owned();
        hook.headers
            .push(("x-api-key".to_owned(), "hunter2".into()));
        let shown = format!("{hook:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        for part in ["the-id", "x-api-key", "size: 7"] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}
