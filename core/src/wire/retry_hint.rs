//! How long a server asks us to wait.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderMap;
use http::header::RETRY_AFTER;

/// The longest pause a server is granted: beyond an hour a hint is more likely a mistake.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// The `Retry-After` header: seconds, or an HTTP date as seen at `now_ms` (unix milliseconds).
pub(super) fn parse_retry_after(headers: &HeaderMap, now_ms: u64) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than a u64 holds are more than an hour.
        let seconds = value.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date = date.duration_since(UNIX_EPOCH).ok()?;
    let pause = date.saturating_sub(Duration::from_millis(now_ms));
    Some(pause.min(RETRY_AFTER_MAX))
}

/// RetryInfo's `retryDelay`, a protobuf duration as JSON: decimal seconds, up to nine digits of a
/// fraction, then `s`.
pub(super) fn parse_retry_delay(text: &str) -> Option<Duration> {
    let number = text.strip_suffix('s')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let seconds = whole.parse().unwrap_or(u64::MAX);
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    Some(
        Duration::from_secs(seconds)
            .saturating_add(Duration::from_nanos(nanos))
            .min(RETRY_AFTER_MAX),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn header(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(value).unwrap());
        // Sun, 06 Nov 1994 08:49:37 GMT
        parse_retry_after(&headers, 784_111_777_000)
    }

    #[test]
    fn seconds_or_a_date_at_most_an_hour() {
        assert_eq!(header("12"), Some(Duration::from_secs(12)));
        assert_eq!(header("0"), Some(Duration::ZERO));
        assert_eq!(
            header("Sun, 06 Nov 1994 08:50:07 GMT"),
            Some(Duration::from_secs(30))
        );
        assert_eq!(
            header("Sun, 06 Nov 1994 08:00:00 GMT"),
            Some(Duration::ZERO)
        );
        assert_eq!(header("99999"), Some(RETRY_AFTER_MAX));
        assert_eq!(header("99999999999999999999999"), Some(RETRY_AFTER_MAX));
        assert_eq!(
            header("Fri, 31 Dec 9999 23:59:59 GMT"),
            Some(RETRY_AFTER_MAX)
        );
        for bad in ["", "-1", "1.5", "soon"] {
            assert_eq!(header(bad), None, "{bad}");
        }
    }

    #[test]
    fn delays_are_decimal_seconds() {
        let ms = Duration::from_millis;
        assert_eq!(parse_retry_delay("45.837s"), Some(ms(45_837)));
        assert_eq!(parse_retry_delay("3s"), Some(ms(3_000)));
        assert_eq!(
            parse_retry_delay("0.000000001s"),
            Some(Duration::from_nanos(1))
        );
        assert_eq!(
            parse_retry_delay("999999999999999999999s"),
            Some(RETRY_AFTER_MAX)
        );
        for bad in ["", "s", "1", "-1s", "1.s", ".5s", "1.0123456789s", "1e3s"] {
            assert_eq!(parse_retry_delay(bad), None, "{bad}");
        }
    }
}
