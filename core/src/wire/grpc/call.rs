//! The head of a call.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, TE};
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use percent_encoding::utf8_percent_encode;

use crate::options::UNRESERVED;
use crate::token::Token;

/// Tells Google's front end, which does not read messages, what the call is about.
const REQUEST_PARAMS: HeaderName = HeaderName::from_static("x-goog-request-params");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// A call of the method at `url` about a resource: the name of its field, and its own name.
pub(in crate::wire) fn call<B>(
    url: Uri,
    (field, resource): (&str, &str),
    body: B,
    token: Option<&Token>,
) -> Request<B> {
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    *request.uri_mut() = url;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    let resource = utf8_percent_encode(resource, UNRESERVED);
    if let Ok(params) = HeaderValue::try_from(format!("{field}={resource}")) {
        headers.insert(REQUEST_PARAMS, params);
    }
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, token.header());
    }
    request
}

/// Tells the server how long its answer is waited for.
pub(in crate::wire) fn set_timeout<B>(request: &mut Request<B>, timeout: Duration) {
    if let Ok(timeout) = HeaderValue::try_from(timeout_text(timeout)) {
        request.headers_mut().insert(TIMEOUT, timeout);
    }
}

/// A `grpc-timeout`: at most eight digits and a unit. Never shorter than `timeout`, but for the
/// ones beyond 11,000 years.
fn timeout_text(timeout: Duration) -> String {
    const DIGITS_MAX: u128 = 99_999_999;
    let nanos = timeout.as_nanos();
    let units = [
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60 * 1_000_000_000, 'M'),
        (3_600 * 1_000_000_000, 'H'),
    ];
    let mut counts = units
        .map(|(unit, name)| (nanos.div_ceil(unit), name))
        .into_iter();
    let fits = counts.find(|(count, _)| *count <= DIGITS_MAX);
    let (count, unit) = fits.unwrap_or((DIGITS_MAX, 'H'));
    format!("{count}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_at_most_eight_digits_and_are_rounded_up() {
        let of = |seconds, nanos| timeout_text(Duration::new(seconds, nanos));
        assert_eq!(of(5, 0), "5000m");
        assert_eq!(of(0, 1), "1m");
        assert_eq!(of(0, 1_500_000), "2m");
        assert_eq!(of(99_999, 999_000_000), "99999999m");
        assert_eq!(of(99_999, 999_000_001), "100000S");
        assert_eq!(of(100_000_000, 0), "1666667M");
        assert_eq!(of(6_000_000_000, 0), "1666667H");
        assert_eq!(of(u64::MAX, 0), "99999999H");
    }
}
