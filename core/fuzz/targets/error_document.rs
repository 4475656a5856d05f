//! Any body is an error document or is not; one in a list reads like one alone.

use pubsink_core::wire::ErrorDocument;

pub(crate) fn run(data: &[u8]) {
    let alone = ErrorDocument::parse(data);
    if let Some(document) = &alone {
        if data.first() == Some(&b'{') {
            let listed = [b"[", data, b"]"].concat();
            assert_eq!(ErrorDocument::parse(&listed).as_ref(), Some(document));
        }
        let delay = document.retry_delay.unwrap_or_default();
        assert!(delay <= pubsink_core::wire::RETRY_AFTER_MAX);
    }
}
