//! Where a request goes.

use http::Uri;
use pubsink_core::reason::TransportKind;

use crate::seam::TransportError;

/// What connections are kept by: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    pub(super) tls: bool,
    /// Without the brackets of an IPv6 address.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Origin {
    pub(super) fn of(uri: &Uri) -> Result<Self, TransportError> {
        let refuse = |what: &str| {
            let detail = format!("{what}: an http or https URL with a host is needed");
            TransportError::new(TransportKind::Other, detail)
        };
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(refuse("no scheme")),
        };
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refuse("no host"))?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        let host = if is_bracketed {
            &host[1..host.len() - 1]
        } else {
            host
        };
        Ok(Self {
            tls,
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
        })
    }

    /// For errors.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &'static str) -> Result<(bool, String), String> {
        let origin = Origin::of(&Uri::from_static(uri)).map_err(|error| error.detail)?;
        Ok((origin.tls, origin.name()))
    }

    #[test]
    fn scheme_host_and_port_are_an_origin() {
        assert_eq!(of("http://h/a?b"), Ok((false, "h:80".to_owned())));
        assert_eq!(of("https://h"), Ok((true, "h:443".to_owned())));
        assert_eq!(of("http://[::1]:85/"), Ok((false, "::1:85".to_owned())));
    }

    #[test]
    fn what_is_not_absolute_is_refused() {
        for uri in ["/path", "h:80", "ftp://h/"] {
            assert!(of(uri).unwrap_err().contains("no scheme"), "{uri}");
        }
    }
}
