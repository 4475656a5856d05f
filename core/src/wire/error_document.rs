//! Google's error document.

use std::time::Duration;

use serde_json::{Map, Value};

use super::retry_hint::parse_retry_delay;
use super::shown::shown;
use crate::reason::Reason;
use crate::token::Token;

/// The reasons with which a 403 means "slow down": ErrorInfo's, then the legacy ones.
const RATE_LIMIT_INFO: &str = "RATE_LIMIT_EXCEEDED";
const RATE_LIMIT_LEGACY: [&str; 3] = [
    "rateLimitExceeded",
    "userRateLimitExceeded",
    "quotaExceeded",
];

/// What an error document says. Everything in it may be missing. The status of a gRPC call says
/// the same things.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ErrorDocument {
    /// `status`, for example `NOT_FOUND`; empty where it is missing.
    pub status: String,
    /// `message`, empty where it is missing.
    pub message: String,
    /// Each ErrorInfo among the details.
    pub infos: Vec<ErrorInfo>,
    /// Each `reason` of the legacy `errors` list.
    pub legacy_reasons: Vec<String>,
    /// The `retryDelay` of a RetryInfo among the details.
    pub retry_delay: Option<Duration>,
}

/// Why something failed, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ErrorInfo {
    /// Its `reason`, for example `SERVICE_DISABLED`; empty where it is missing.
    pub reason: String,
    /// Names and values, for example ack ids and what became of each.
    pub metadata: Vec<(String, String)>,
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
                kind.is_some_and(|kind| type_name(kind) == name)
            })
        };
        Some(Self {
            status: status.unwrap_or_default(),
            message: text(error, "message").unwrap_or_default(),
            infos: of_type("google.rpc.ErrorInfo").map(error_info).collect(),
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
        let infos = self.infos.iter().map(|info| info.reason.as_str());
        let legacy = self.legacy_reasons.iter().map(String::as_str);
        infos
            .filter(|reason| !reason.is_empty())
            .chain(legacy)
            .next()
    }

    /// What happened, as failures keep it: without `token`.
    pub(super) fn to_reason(&self, http: u16, token: Option<&Token>) -> Reason {
        let show = |text: &str| shown(text.as_bytes(), token);
        Reason::Pubsub {
            http,
            status: show(&self.status),
            message: show(&self.message),
            error_reason: self.reason().map(show),
        }
    }

    /// Whether a 403 is about how much is asked for, not about rights.
    pub(super) fn is_rate_limit(&self, http: u16) -> bool {
        let info = |info: &ErrorInfo| info.reason == RATE_LIMIT_INFO;
        let legacy = |reason: &String| RATE_LIMIT_LEGACY.contains(&reason.as_str());
        http == 403 && (self.infos.iter().any(info) || self.legacy_reasons.iter().any(legacy))
    }
}

fn error_info(info: &Map<String, Value>) -> ErrorInfo {
    let metadata = info.get("metadata").and_then(Value::as_object);
    let pairs = metadata.into_iter().flatten();
    ErrorInfo {
        reason: text(info, "reason").unwrap_or_default(),
        metadata: pairs
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
    }
}

/// The name of a type, from the URL that a detail has of it.
pub(super) fn type_name(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
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
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"R",
             "metadata":{"b":"2","a":7,"c":"3"}},
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":[]}],
            "errors":["x",{"reason":"legacy"}]}}"#;
        let document = ErrorDocument::parse(body).unwrap();
        let metadata = [("b", "2"), ("c", "3")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        let info = ErrorInfo {
            reason: "R".to_owned(),
            metadata: metadata.to_vec(),
        };
        assert_eq!(document.infos, [info, ErrorInfo::default()]);
        assert_eq!(document.legacy_reasons, ["legacy"]);
        assert_eq!(document.reason(), Some("R"));
    }
}
