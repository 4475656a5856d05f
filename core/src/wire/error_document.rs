//! Google's error document.

use std::time::Duration;

use serde_json::{Map, Value};

use super::retry_hint::parse_retry_delay;

/// What an error document says. Everything in it may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ErrorDocument {
    /// `status`, for example `NOT_FOUND`; empty where it is missing.
    pub status: String,
    /// `message`, empty where it is missing.
    pub message: String,
    /// The `reason` of each ErrorInfo among the details.
    pub info_reasons: Vec<String>,
    /// Each `reason` of the legacy `errors` list.
    pub legacy_reasons: Vec<String>,
    /// The `retryDelay` of a RetryInfo among the details.
    pub retry_delay: Option<Duration>,
}

impl ErrorDocument {
    /// Reads `body` as `{"error":{…}}`, or as a list whose first item is that.
    ///
    /// It counts as an error document only with a `code` or a `status`: the token endpoint's
    /// `{"error":"invalid_grant"}` and a gateway's own JSON do not.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(body).ok()?;
        if let Value::Array(items) = &mut document {
            document = items.first_mut()?.take();
        }
        let error = document.get("error")?.as_object()?;
        let status = text(error, "status");
        if status.is_none() && !error.get("code").is_some_and(Value::is_number) {
            return None;
        }
        let details = list(error, "details");
        let of_type = |name: &'static str| {
            details.clone().filter(move |detail| {
                let kind = detail.get("@type").and_then(Value::as_str);
                kind.is_some_and(|kind| kind.rsplit('/').next() == Some(name))
            })
        };
        Some(Self {
            status: status.unwrap_or_default(),
            message: text(error, "message").unwrap_or_default(),
            info_reasons: of_type("google.rpc.ErrorInfo")
                .filter_map(|info| text(info, "reason"))
                .collect(),
            legacy_reasons: list(error, "errors")
                .filter_map(|item| text(item, "reason"))
                .collect(),
            retry_delay: of_type("google.rpc.RetryInfo").find_map(|info| {
                let delay = info.get("retryDelay").and_then(Value::as_str)?;
                parse_retry_delay(delay)
            }),
        })
    }

    /// The reason to show: ErrorInfo's, or else the legacy one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let mut reasons = self.info_reasons.iter().chain(&self.legacy_reasons);
        reasons.next().map(String::as_str)
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The objects of the list at `key`.
fn list<'a>(
    object: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a Map<String, Value>> + Clone {
    let items = object.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_may_be_missing_but_not_code_and_status_both() {
        let parse = |body: &str| ErrorDocument::parse(body.as_bytes());
        assert_eq!(
            parse(r#"{"error":{"code":501}}"#),
            Some(ErrorDocument::default())
        );
        assert_eq!(
            parse(r#"{"error":{"status":"ABORTED"}}"#).unwrap().status,
            "ABORTED"
        );
        for other in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"error":{}}"#,
            r#"{"error":"invalid_grant"}"#,
            r#"{"error":{"message":"no"}}"#,
            "<html>",
            r#"{"error":{"code":"400"}}"#,
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn odd_details_are_passed_over() {
        let body = br#"{"error":{"code":403,"details":[7,{},{"@type":5},
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"R"}],
            "errors":["x",{"reason":"legacy"}]}}"#;
        let document = ErrorDocument::parse(body).unwrap();
        assert_eq!(document.info_reasons, ["R"]);
        assert_eq!(document.legacy_reasons, ["legacy"]);
        assert_eq!(document.reason(), Some("R"));
    }
}
