//! object_store's requests through this crate's HTTP client.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use http_body_util::BodyExt as _;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::client::legacy::{Client, Error as ClientError};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::TransportError;

/// The time until there is a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Makes clients on hyper and rustls, with the same roots and pool as the publisher's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient, Error> {
        let is_set = |key| {
            options
                .get_config_value(&key)
                .is_some_and(|value| is_true(&value))
        };
        // What would change whom the credentials are sent to is not passed over in silence.
        let refused = [
            (
                options
                    .get_config_value(&ClientConfigKey::ProxyUrl)
                    .is_some(),
                "PROXY_URL",
            ),
            (
                is_set(ClientConfigKey::AllowInvalidCertificates),
                "ALLOW_INVALID_CERTIFICATES",
            ),
        ];
        if let Some((_, setting)) = refused.iter().find(|(is_set, _)| *is_set) {
            return Err(Error::NotSupported {
                source: format!("this HTTP client does not do {setting}").into(),
            });
        }
        let mut tcp = Tcp::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_MAX));
        Ok(HttpClient::new(Service {
            client: crate::client::HttpClient::builder().build_over(tcp),
            allow_http: is_set(ClientConfigKey::AllowHttp),
        }))
    }
}

/// object_store's own reading of a flag.
fn is_true(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    matches!(value.as_str(), "1" | "true" | "on" | "yes" | "y")
}

#[derive(Debug)]
struct Service {
    client: Client<HttpsConnector<Tcp>, HttpRequestBody>,
    allow_http: bool,
}

impl Service {
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if !self.allow_http && request.uri().scheme_str() != Some("https") {
            let detail = "its endpoint is http:, which has to be allowed (ALLOW_HTTP=true)";
            let error = TransportError::new(TransportKind::Other, detail);
            return Err(HttpError::new(HttpErrorKind::Unknown, error));
        }
        let agent = HeaderValue::from_static(concat!("pubsink/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().entry(USER_AGENT).or_insert(agent);
        let response = self.client.request(request).await;
        let response = response.map_err(|error| client_error(&error))?;
        Ok(response.map(|body| {
            HttpResponseBody::new(body.map_err(|error| broken(HttpErrorKind::Interrupted, &error)))
        }))
    }
}

impl HttpService for Service {
    // As `async_trait` writes it.
    fn call<'life0, 'async_trait>(
        &'life0 self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.send(request))
    }
}

/// Why there was no response. Both kinds are tried again: a second send does no harm, since what
/// is written is only written where nothing is.
fn client_error(error: &ClientError) -> HttpError {
    let kind = match error.is_connect() {
        true => HttpErrorKind::Connect,
        false => HttpErrorKind::Request,
    };
    broken(kind, error)
}

fn broken(kind: HttpErrorKind, error: &(dyn StdError + 'static)) -> HttpError {
    let transport = match kind {
        HttpErrorKind::Connect => TransportKind::Connect,
        _ => TransportKind::Connection,
    };
    HttpError::new(kind, TransportError::of(transport, error))
}
