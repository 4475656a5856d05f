//! Where Pub/Sub answers.

use std::fmt;

use http::Uri;

use super::OptionError;

/// The service's own endpoint.
pub const DEFAULT_ENDPOINT: &str = "https://pubsub.googleapis.com";

/// The base URL that Pub/Sub's paths are appended to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(String);

impl Endpoint {
    /// Checks `url`: http or https, a host, no userinfo, query or fragment. A trailing `/` is
    /// trimmed, a path prefix kept.
    ///
    /// # Errors
    ///
    /// [`OptionError`] with the rule; a URL that carries userinfo is not repeated in it.
    pub fn new(url: &str) -> Result<Self, OptionError> {
        if url.split_once("://").is_some_and(|(_, rest)| {
            rest.split(['/', '?', '#'])
                .next()
                .is_some_and(|authority| authority.contains('@'))
        }) {
            let rule = "a URL without user or password; use a token provider";
            return Err(OptionError::new("endpoint", "(a URL with userinfo)", rule));
        }
        let rule = "an http or https URL with a host and without query or fragment";
        let refuse = || OptionError::new("endpoint", url, rule);
        let trimmed = url.trim_end_matches('/');
        let uri: Uri = trimmed.parse().map_err(|_| refuse())?;
        let scheme_ok = matches!(uri.scheme_str(), Some("http" | "https"));
        let host_ok = uri.host().is_some_and(|host| !host.is_empty());
        if !scheme_ok || !host_ok || uri.query().is_some() || url.contains('#') {
            return Err(refuse());
        }
        Ok(Self(trimmed.to_owned()))
    }

    /// The endpoint of an emulator, from what `PUBSUB_EMULATOR_HOST` holds: `host:port`, plain
    /// HTTP. A scheme, which some tools put there, is taken too.
    ///
    /// # Errors
    ///
    /// [`OptionError`] as [`new`](Self::new).
    pub fn emulator(host: &str) -> Result<Self, OptionError> {
        if host.contains("://") {
            return Self::new(host);
        }
        Self::new(&format!("http://{host}"))
    }

    /// The URL, without a trailing `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_slash_goes_and_a_prefix_stays() {
        let endpoint = Endpoint::new("https://proxy.example/pubsub/").unwrap();
        assert_eq!(endpoint.as_str(), "https://proxy.example/pubsub");
        let endpoint = Endpoint::new("http://[::1]:8085").unwrap();
        assert_eq!(endpoint.as_str(), "http://[::1]:8085");
    }

    #[test]
    fn an_emulators_host_needs_no_scheme() {
        for host in ["localhost:8085", "http://localhost:8085"] {
            let endpoint = Endpoint::emulator(host).unwrap();
            assert_eq!(endpoint.as_str(), "http://localhost:8085");
        }
    }

    #[test]
    fn refusals_name_the_rule_and_keep_secrets() {
        for bad in [
            "",
            "pubsub.googleapis.com",
            "ftp://x",
            "http://",
            "http://h?q",
            "http://h#f",
        ] {
            assert!(Endpoint::new(bad).is_err(), "{bad}");
        }
        let error = Endpoint::new("https://user:hunter2@example.com").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
