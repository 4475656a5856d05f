//! A request for each message.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use pubsink_runtime::service::Context;
use pubsink_tokio::seam::{SendLimits, Transport, TransportError};

use super::handler::REPLY_MAX;

/// How long connecting may take, and the answer after it.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause a server is granted: well below what a lease can be kept.
const PAUSE_MAX: Duration = Duration::from_secs(600);
/// With what the headers of attributes begin.
const ATTRIBUTE: &str = "x-pubsub-attribute-";
/// What a header's value cannot hold, and what marks that.
const VALUE: &AsciiSet = &CONTROLS.add(b'%');
/// What a header's name cannot hold, and a little more.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Posts each message to a URL.
pub(super) struct Forward<T> {
    pub(super) client: T,
    pub(super) url: Uri,
    /// Whether what is answered is the reply.
    pub(super) replies: bool,
    /// The shortest pause.
    pub(super) retry_base: Duration,
}

/// What was answered.
pub(super) enum Answered {
    /// It is done. The body and its type, where they are the reply.
    Done {
        body: Bytes,
        content_type: Option<String>,
    },
    /// It is to come again no sooner.
    Later(Duration),
}

/// Why a message is not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum ForwardError {
    #[error("the message makes no request: {0}")]
    Request(http::Error),
    #[error("the server answered nothing: {0}")]
    Transport(TransportError),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("the server answered more than {REPLY_MAX} bytes, which no reply holds")]
    TooLong,
}

/// Checks a URL.
pub(super) fn url(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().map(http::uri::Authority::as_str);
    match authority {
        Some(authority) if known && !authority.contains('@') => Ok(uri),
        _ => Err("it has to be http://HOST/… or https://HOST/…, without a user".to_owned()),
    }
}

impl<T: Transport> Forward<T> {
    pub(super) async fn post(&self, context: &Context) -> Result<Answered, ForwardError> {
        let request = request(&self.url, context).map_err(ForwardError::Request)?;
        let mut limits = SendLimits::new(TIMEOUT);
        if self.replies {
            limits.body_max = REPLY_MAX + 1;
        }
        let answer = self.client.send(request, limits).await;
        let answer = answer.map_err(ForwardError::Transport)?;
        let (head, body) = answer.into_parts();
        match head.status {
            status if !status.is_success() => match pause(status, &head.headers) {
                Some(pause) => Ok(Answered::Later(pause.max(self.retry_base))),
                None => Err(ForwardError::Status(status)),
            },
            _ if !self.replies => Ok(Answered::Done {
                body: Bytes::new(),
                content_type: None,
            }),
            _ if body.len() > REPLY_MAX => Err(ForwardError::TooLong),
            _ => {
                let content_type = head.headers.get(CONTENT_TYPE);
                let content_type = content_type.and_then(|value| value.to_str().ok());
                Ok(Answered::Done {
                    body,
                    content_type: content_type.map(str::to_owned),
                })
            }
        }
    }
}

fn request(url: &Uri, context: &Context) -> Result<Request<Bytes>, http::Error> {
    let mut request = Request::post(url.clone()).body(context.data().clone())?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, content_type(context));
    let attempt = context
        .delivery_attempt()
        .map(|attempt| attempt.to_string());
    for (name, value) in [
        ("x-pubsub-subscription", Some(context.subscription())),
        ("x-pubsub-message-id", Some(context.message_id().as_str())),
        ("x-pubsub-ordering-key", context.ordering_key()),
        ("x-pubsub-delivery-attempt", attempt.as_deref()),
    ] {
        if let Some(value) = value {
            headers.insert(HeaderName::from_static(name), encoded(value)?);
        }
    }
    for (name, value) in context.message().attributes.iter() {
        let name = format!("{ATTRIBUTE}{}", utf8_percent_encode(name, NAME));
        // Names that differ in case alone are one header with two values.
        headers
            .try_append(HeaderName::try_from(name)?, encoded(value)?)
            .map_err(http::Error::from)?;
    }
    Ok(request)
}

/// What the attribute says, under either of its usual names.
fn content_type(context: &Context) -> HeaderValue {
    let attributes = &context.message().attributes;
    let known = attributes
        .get("content_type")
        .or_else(|| attributes.get("content-type"));
    let known = known.and_then(|value| HeaderValue::from_str(value).ok());
    known.unwrap_or(const { HeaderValue::from_static("application/octet-stream") })
}

fn encoded(value: &str) -> Result<HeaderValue, http::Error> {
    // Spaces at the ends would be lost.
    let set = match value.trim_matches(' ').len() == value.len() {
        true => VALUE,
        false => const { &VALUE.add(b' ') },
    };
    Ok(HeaderValue::try_from(
        utf8_percent_encode(value, set).to_string(),
    )?)
}

/// The pause that a server asks for which has too much to do.
fn pause(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let busy = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ];
    let asked = headers
        .get(RETRY_AFTER)
        .filter(|_| busy.contains(&status))?;
    let asked = asked.to_str().ok()?.trim();
    let pause = match asked.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = httpdate::parse_http_date(asked).ok()?;
            date.duration_since(SystemTime::now()).unwrap_or_default()
        }
    };
    Some(pause.min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pubsink_core::failure::MessageId;
    use pubsink_core::subscribe::{AckId, ReceivedMessage};

    #[test]
    fn a_url_is_http_and_has_a_host() {
        for good in ["http://127.0.0.1:80", "https://h/p?q=1"] {
            assert!(url(good).is_ok(), "{good}");
        }
        for bad in ["", "/path", "h:80", "ftp://h/", "http://u:p@h/", "http:///"] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn attributes_are_headers_whatever_is_in_them() {
        let mut message =
            ReceivedMessage::new(AckId::from("a"), MessageId::from_utf8("7").unwrap(), "{}");
        message.ordering_key = "k\n".to_owned();
        message
            .attributes
            .insert("content_type", "application/json; charset=utf-8");
        message.attributes.insert("Event:é", "50% \r\nhost: x");
        message.attributes.insert("e", " ends ");
        let context = Context::new(message, "projects/p/subscriptions/s");
        let request = request(&Uri::from_static("http://h/"), &context).unwrap();
        let mut headers: Vec<_> = (request.headers().iter())
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        headers.sort_unstable();
        assert_eq!(
            headers,
            [
                ("content-type", "application/json; charset=utf-8"),
                (
                    "x-pubsub-attribute-content_type",
                    "application/json; charset=utf-8"
                ),
                ("x-pubsub-attribute-e", "%20ends%20"),
                ("x-pubsub-attribute-event%3a%c3%a9", "50%25 %0D%0Ahost: x"),
                ("x-pubsub-message-id", "7"),
                ("x-pubsub-ordering-key", "k%0A"),
                ("x-pubsub-subscription", "projects/p/subscriptions/s"),
            ]
        );
    }

    #[test]
    fn a_pause_is_one_of_a_busy_server_and_bounded() {
        let asked = |status: u16, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            pause(StatusCode::from_u16(status).unwrap_or_default(), &headers)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(asked(429, "7"), seconds(7));
        assert_eq!(asked(503, "99999"), seconds(600));
        assert_eq!(asked(503, "Sun, 06 Nov 1994 08:49:37 GMT"), seconds(0));
        assert_eq!(asked(503, "soon"), None);
        assert_eq!(asked(500, "7"), None);
    }
}
