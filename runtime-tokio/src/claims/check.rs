//! What a bucket's settings have to be.
//!
//! The provider's client puts most of them into URLs and headers without a look, and panics when
//! they do not fit. So they are looked at first. What is wrong is told by the setting's name,
//! never by its value.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::{HeaderValue, Uri};
use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use pubsink_runtime::core::serde_json::{self, Value};

/// What a setting is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The URL of a server.
    Url,
    /// The path on a server.
    Path,
    /// A part of a host's name: a region, an account.
    Name,
    /// A credential, or anything else without a space.
    Word,
    /// The text of a header.
    Header,
    /// A Google service account, as JSON.
    Account,
    /// The name of a file, or what is looked at elsewhere.
    Free,
}

impl Kind {
    pub(super) fn of_s3(key: AmazonS3ConfigKey) -> Self {
        match key {
            AmazonS3ConfigKey::Endpoint
            | AmazonS3ConfigKey::S3Endpoint
            | AmazonS3ConfigKey::StsEndpoint
            | AmazonS3ConfigKey::MetadataEndpoint
            | AmazonS3ConfigKey::ContainerCredentialsFullUri => Self::Url,
            AmazonS3ConfigKey::ContainerCredentialsRelativeUri => Self::Path,
            AmazonS3ConfigKey::Region | AmazonS3ConfigKey::DefaultRegion => Self::Name,
            AmazonS3ConfigKey::ContainerAuthorizationTokenFile
            | AmazonS3ConfigKey::WebIdentityTokenFile
            | AmazonS3ConfigKey::Bucket => Self::Free,
            AmazonS3ConfigKey::Client(key) => Self::of_client(key),
            _ => Self::Word,
        }
    }

    pub(super) fn of_gcs(key: GoogleConfigKey) -> Self {
        match key {
            GoogleConfigKey::BaseUrl => Self::Url,
            GoogleConfigKey::ServiceAccountKey => Self::Account,
            GoogleConfigKey::ServiceAccount
            | GoogleConfigKey::ApplicationCredentials
            | GoogleConfigKey::Bucket => Self::Free,
            GoogleConfigKey::Client(key) => Self::of_client(key),
            _ => Self::Word,
        }
    }

    pub(super) fn of_azure(key: AzureConfigKey) -> Self {
        match key {
            AzureConfigKey::Endpoint
            | AzureConfigKey::AuthorityHost
            | AzureConfigKey::MsiEndpoint
            | AzureConfigKey::FabricTokenServiceUrl => Self::Url,
            AzureConfigKey::AccountName | AzureConfigKey::AuthorityId => Self::Name,
            AzureConfigKey::FederatedTokenFile | AzureConfigKey::ContainerName => Self::Free,
            AzureConfigKey::Client(key) => Self::of_client(key),
            _ => Self::Word,
        }
    }

    fn of_client(key: ClientConfigKey) -> Self {
        match key {
            ClientConfigKey::UserAgent | ClientConfigKey::DefaultContentType => Self::Header,
            _ => Self::Free,
        }
    }
}

/// Whether a setting is of its kind. What is said of one that is not names it.
pub(super) fn check(name: &str, kind: Kind, value: &str) -> Result<(), String> {
    let (holds, rule) = match kind {
        Kind::Url => (
            is_url(value),
            "an http:// or https:// URL with a host, and without user, query, fragment and white \
             space",
        ),
        Kind::Path => (
            value.starts_with('/') && is_url(&format!("http://host{value}")),
            "a path that begins with /",
        ),
        Kind::Name => (is_name(value), "letters, digits and - _ . only"),
        Kind::Word => (
            value.bytes().all(|byte| byte.is_ascii_graphic()),
            "visible ASCII characters without white space",
        ),
        Kind::Header => (
            HeaderValue::from_str(value).is_ok() && value.is_ascii(),
            "ASCII characters on one line",
        ),
        Kind::Account => return check_account(name, value),
        Kind::Free => return Ok(()),
    };
    match holds {
        true => Ok(()),
        false => Err(format!("{name} has to be {rule}")),
    }
}

/// A service account says itself where its store is.
fn check_account(name: &str, value: &str) -> Result<(), String> {
    let Ok(account) = serde_json::from_str::<Value>(value) else {
        return Err(format!("{name} has to be a service account's JSON"));
    };
    match account.get("gcs_base_url").and_then(Value::as_str) {
        Some(url) => check(&format!("gcs_base_url of {name}"), Kind::Url, url),
        None => Ok(()),
    }
}

fn is_name(value: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !value.is_empty() && value.bytes().all(of_name)
}

/// A URL that every reader takes for the same one.
fn is_url(value: &str) -> bool {
    let Some((scheme, rest)) = value.split_once("://") else {
        return false;
    };
    let is_http = ["http", "https"]
        .iter()
        .any(|http| scheme.eq_ignore_ascii_case(http));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let of_path = |byte: u8| byte.is_ascii_graphic() && !NOT_OF_PATH.contains(&byte);
    is_http && is_authority(authority) && path.bytes().all(of_path) && value.parse::<Uri>().is_ok()
}

fn is_authority(authority: &str) -> bool {
    let end = match authority.starts_with('[') {
        true => authority.find(']').map_or(0, |end| end + 1),
        false => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    is_host(host) && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').unwrap_or_default();
        return address.parse::<Ipv6Addr>().is_ok();
    }
    // What ends in a number is an address, and may be none.
    let last = host.trim_end_matches('.').rsplit('.').next();
    match last.is_some_and(|last| last.starts_with(|first: char| first.is_ascii_digit())) {
        true => is_name(host) && (host.parse::<Ipv4Addr>().is_ok() || !is_number(last)),
        false => is_name(host) && last.is_some_and(|last| !last.is_empty()),
    }
}

/// What a path has only percent-encoded, or is no part of it.
const NOT_OF_PATH: &[u8] = b"?#\"<>\\^`{|}";

/// As URLs have numbers: of digits, or `0x` and hexadecimal ones.
fn is_number(label: Option<&str>) -> bool {
    let label = label.unwrap_or_default().to_ascii_lowercase();
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_of_a_host() {
        for url in [
            "http://localhost:9000",
            "https://s3.eu-west-1.amazonaws.com",
            "HTTPS://minio_1.internal/base/",
            "http://127.0.0.1:10000/devstoreaccount1",
            "http://[::1]:9000",
            "https://3scale",
            "https://a.b.",
            "https://h/a%20b",
        ] {
            assert_eq!(check("NAME", Kind::Url, url), Ok(()), "{url}");
        }
        for url in [
            "",
            "localhost:9000",
            "minio",
            "http://",
            "https://",
            "http:///x",
            "http://[::1",
            "http://[]",
            "http://[::g]",
            "http://[::1]x",
            "http:// host",
            "http://ho st",
            " http://host",
            "http://host ",
            "http://host\n",
            "http://host/a b",
            "/path",
            "ftp://x",
            "http:/host",
            "http:host",
            "//host",
            "http://.",
            "http://user@host",
            "http://user:pw@host",
            "http://host?q",
            "http://host/p?q",
            "http://host#f",
            "http://host:",
            "http://host:0",
            "http://host:+1",
            "http://host:65536",
            "http://host:a",
            "http://:9000",
            "http://1.2.3",
            "http://1.2.3.256",
            "http://1.2.3.4.5",
            "http://a.0x1",
            "http://h%20st",
            "http://hôst",
            "http://host/é",
            "http://host\\x",
        ] {
            let said = check("NAME", Kind::Url, url).unwrap_err();
            assert!(said.starts_with("NAME has to be an http://"), "{said}");
        }
    }

    #[test]
    fn the_other_kinds_are_what_fits_their_place() {
        for (kind, value, holds) in [
            (Kind::Name, "eu-west-1", true),
            (Kind::Name, "", false),
            (Kind::Name, "eu west", false),
            (Kind::Name, "eu/west", false),
            (Kind::Name, "x@evil", false),
            (Kind::Word, "a+b/c==", true),
            (Kind::Word, "", true),
            (Kind::Word, "a b", false),
            (Kind::Word, "a\n", false),
            (Kind::Word, "a\u{7f}", false),
            (Kind::Word, "é", false),
            (Kind::Header, "pubsink for acme/1", true),
            (Kind::Header, "a\nb", false),
            (Kind::Header, "é", false),
            (Kind::Path, "/v2/credentials/x", true),
            (Kind::Path, "", false),
            (Kind::Path, ".evil/x", false),
            (Kind::Path, "/a b", false),
            (Kind::Account, "{}", true),
            (Kind::Account, r#"{"gcs_base_url":"http://h"}"#, true),
            (Kind::Account, r#"{"gcs_base_url":"h:1"}"#, false),
            (Kind::Account, "/a/file", false),
            (Kind::Free, "a file\n", true),
        ] {
            assert_eq!(
                check("NAME", kind, value).is_ok(),
                holds,
                "{kind:?} {value:?}"
            );
        }
    }
}
