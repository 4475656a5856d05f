//! One webhook as it was received.

use bytes::Bytes;

/// One webhook as it was received. The body is bytes and stays bytes: nothing here parses it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
