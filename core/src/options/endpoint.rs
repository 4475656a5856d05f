//! Where Pub/Sub answers.

use std::fmt;

use http::Uri;

use super::OptionError;

/// The service's own endpoint.
pub const DEFAULT_ENDPOINT: &str = "https://pubsub.googleapis.com";

/// The longest URL that there can be: [`Uri`] takes no longer one.
pub(crate) const URL_MAX_BYTES: usize = 65_534;

/// The base URL that Pub/Sub's paths are appended to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(String);

impl Endpoint {
    /// Checks `url`: http or https, a host, a port of 1 to 65535 if any, no userinfo, query,
    /// fragment or dot segments, at most 65,534 bytes. A trailing `/` is trimmed, a path prefix kept.
    ///
    /// # Errors
    ///
    /// [`OptionError`] with the rule; a URL that may carry userinfo is not repeated in it.
    pub fn new(url: &str) -> Result<Self, OptionError> {
        // Wherever it stands: a URL mistyped by a character still has its password in it.
        if url.contains('@') {
            let rule = "a URL without user or password; use a token provider";
            return Err(OptionError::new("endpoint", "(a URL with an @)", rule));
        }
        let refuse = |rule| OptionError::new("endpoint", url, rule);
        let no_url = || refuse("an http or https URL with a host and without query or fragment");
        let trimmed = url.trim_end_matches('/');
        if trimmed.len() > URL_MAX_BYTES {
            let value = format!("{} bytes long", trimmed.len());
            let range = format!("at most {URL_MAX_BYTES} bytes long");
            return Err(OptionError::new("endpoint", &value, &range));
        }
        let uri: Uri = trimmed.parse().map_err(|_| no_url())?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let scheme_ok = matches!(uri.scheme_str(), Some("http" | "https"));
        let host_ok = uri.host().is_some_and(|host| !host.is_empty());
        if !scheme_ok || !host_ok || uri.query().is_some() || url.contains('#') {
            return Err(no_url());
        }
        // A port that is none would be left out, and another server asked.
        let host = uri.host().unwrap_or_default();
        let port = authority.strip_prefix(host).unwrap_or_default();
        if !port.is_empty() && uri.port_u16().is_none_or(|port| port == 0) {
            return Err(refuse("a URL with a port of 1 to 65535, or without one"));
        }
        if uri
            .path()
            .split('/')
            .any(|segment| matches!(segment, "." | ".."))
        {
            return Err(refuse("a URL without '.' or '..' in its path"));
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
        for secret in [
            "https://user:hunter2@example.com",
            "user:hunter2@example.com",
            "https:/user:hunter2@example.com",
            "https//user:hunter2@example.com",
        ] {
            let error = Endpoint::new(secret).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"));
            let error = Endpoint::emulator(secret).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn a_port_that_is_none_is_refused_not_left_out() {
        for bad in [
            "http://127.0.0.1:99999",
            "http://127.0.0.1:80850",
            "http://127.0.0.1:0",
            "http://127.0.0.1:",
            "http://[::1]:65536",
        ] {
            let error = Endpoint::new(bad).unwrap_err().to_string();
            assert!(error.contains("port of 1 to 65535"), "{error}");
        }
        for good in [
            "http://127.0.0.1:65535",
            "http://[::1]:1",
            "http://h:8085/x",
        ] {
            assert!(Endpoint::new(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn one_that_is_too_long_is_told_of_by_its_length() {
        let long = |length: usize| format!("http://h/{}", "x".repeat(length - "http://h/".len()));
        assert!(Endpoint::new(&long(URL_MAX_BYTES)).is_ok());
        let error = Endpoint::new(&long(URL_MAX_BYTES + 1)).unwrap_err();
        assert_eq!(error.value, "65535 bytes long");
        assert_eq!(error.expected, "at most 65534 bytes long");
    }

    #[test]
    fn a_path_that_clients_would_read_differently_is_refused() {
        for bad in ["http://h/x/..", "http://h/./x"] {
            assert!(Endpoint::new(bad).is_err(), "{bad}");
        }
    }
}
