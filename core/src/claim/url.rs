//! Where a claim store is, as an operator writes it.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::text::Text;

/// Where a claim store is: a directory, or a bucket of an object store.
///
/// | written | is |
/// |---|---|
/// | `claims`, `/var/lib/claims`, `file:///var/lib/claims` | a directory |
/// | `s3://bucket/prefix`, `s3a://…` | a bucket of S3, or of a server that speaks its API |
/// | `gs://bucket/prefix` | a bucket of Google Cloud Storage |
/// | `az://container/prefix`, `azure://…`, `abfs://…`, `abfss://…` | a container of Azure Blob Storage |
///
/// The prefix may be left out. Credentials, accounts and endpoints are no part of it: it may be
/// shown and logged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClaimsUrl {
    /// A directory of the local file system.
    Directory(PathBuf),
    /// A bucket, or a part of one.
    Bucket(Bucket),
}

impl ClaimsUrl {
    /// Reads a URL or a path.
    ///
    /// # Errors
    ///
    /// [`ClaimsUrlError`] names the rule that is broken; a URL that may hold a secret is not
    /// repeated.
    pub fn parse(text: &str) -> Result<Self, ClaimsUrlError> {
        if text.trim().is_empty() {
            return Err(ClaimsUrlError::Empty);
        }
        let Some((scheme, rest)) = scheme_of(text) else {
            return Ok(Self::Directory(text.into()));
        };
        let scheme = scheme.to_ascii_lowercase();
        let provider = match scheme.as_str() {
            "file" => return directory(text, rest),
            "s3" | "s3a" => Provider::S3,
            "gs" => Provider::Gcs,
            "az" | "azure" | "abfs" | "abfss" => Provider::Azure,
            _ => {
                return Err(ClaimsUrlError::Scheme {
                    scheme: scheme.into(),
                });
            }
        };
        // What a URL may hide a secret in. It is looked for before anything is repeated.
        if rest.contains(['@', '?', '#']) {
            return Err(ClaimsUrlError::Secret {
                scheme: scheme.into(),
            });
        }
        bucket(text, provider, rest).map(Self::Bucket)
    }
}

impl fmt::Display for ClaimsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Bucket(bucket) => bucket.fmt(f),
        }
    }
}

/// A bucket, or a container, and what the names of its claims start with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bucket {
    /// Whose it is.
    pub provider: Provider,
    /// Its name.
    pub name: String,
    /// The prefix, without a `/` at either end. Empty where there is none.
    pub prefix: String,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.provider.scheme(), self.name)?;
        match self.prefix.as_str() {
            "" => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

/// A kind of object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provider {
    /// Amazon S3, and servers that speak its API.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
}

impl Provider {
    /// The scheme of its URLs.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }
}

/// Why there is no claim store at a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimsUrlError {
    /// Nothing was there.
    #[error(
        "the URL of the claim store is empty; give a directory, or a bucket as s3://name/prefix"
    )]
    Empty,
    /// It may hold a secret, so it is not repeated.
    #[error(
        "the {scheme}:// URL of the claim store has a user, a password, a query or a fragment; \
         credentials, accounts and endpoints come from the environment"
    )]
    Secret {
        /// Its scheme.
        scheme: Text,
    },
    /// Its scheme is not one of a claim store.
    #[error(
        "a claim store is a directory or a URL that starts with file:, s3:, gs: or az:, not with \
         {scheme}: (a directory of such a name is written with ./ before it)"
    )]
    Scheme {
        /// The scheme, lowercased.
        scheme: Text,
    },
    /// It breaks a rule.
    #[error("{url:?} is no URL of a claim store: {rule}")]
    Rule {
        /// The URL.
        url: Text,
        /// What a URL has to be.
        rule: &'static str,
    },
    /// This program has no client for such a store.
    #[error("{runtime} has no client for {scheme}:// stores; {remedy}")]
    NoClient {
        /// The scheme of the store.
        scheme: &'static str,
        /// What has none.
        runtime: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The store's settings, which come from the environment, do not do.
    #[error("the settings of the {scheme}:// claim store do not do: {detail}")]
    Settings {
        /// The scheme of the store.
        scheme: &'static str,
        /// What is wrong. Never a credential.
        detail: Text,
    },
}

/// The scheme and what follows its `:`. One letter is a drive of Windows, and a `/` before the
/// `:` makes it part of a path.
fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, rest))
}

/// `///absolute/path`, percent-decoded.
fn directory(url: &str, rest: &str) -> Result<ClaimsUrl, ClaimsUrlError> {
    let refuse = |rule| ClaimsUrlError::Rule {
        url: url.into(),
        rule,
    };
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
    };
    if !path.starts_with('/') || path.contains(['?', '#']) {
        return Err(refuse("a file: URL is file:///path, with an absolute path"));
    }
    let path = percent_decode_str(path).decode_utf8();
    let path = path.map_err(|_| refuse("its path has to be UTF-8"))?;
    if path.contains('\0') {
        return Err(refuse("its path has a zero byte"));
    }
    Ok(ClaimsUrl::Directory(PathBuf::from(&*path)))
}

/// `//name/prefix`. Names are kept to what needs no encoding in any of the stores' APIs.
fn bucket(url: &str, provider: Provider, rest: &str) -> Result<Bucket, ClaimsUrlError> {
    let refuse = |rule| ClaimsUrlError::Rule {
        url: url.into(),
        rule,
    };
    let (name, prefix) = match rest.strip_prefix("//") {
        None => return Err(refuse("after the scheme comes ://")),
        Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
    };
    let named = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= NAME_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if !named {
        return Err(refuse(
            "a bucket's name is letters, digits and - _ . only, without a port",
        ));
    }
    let prefix = prefix.trim_end_matches('/');
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'=' | b'+')
            })
    };
    if !prefix.is_empty() && (prefix.len() > PREFIX_MAX || !prefix.split('/').all(is_part)) {
        return Err(refuse(
            "a prefix has at most 512 characters, parts of letters, digits and - _ . = + with one \
             / between them, and no part . or ..",
        ));
    }
    Ok(Bucket {
        provider,
        name: name.to_owned(),
        prefix: prefix.to_owned(),
    })
}

/// Google's limit for a bucket with dots in its name, the highest of the three.
const NAME_MAX: usize = 222;

/// The names of objects have at most 1,024 bytes everywhere; tenant and claim id take 92.
const PREFIX_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn directory_of(text: &str) -> PathBuf {
        match ClaimsUrl::parse(text) {
            Ok(ClaimsUrl::Directory(path)) => path,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_path_is_a_directory() {
        for path in [
            "claims",
            "./a:b",
            "/var/lib/claims",
            "..",
            r"C:\claims",
            "a/b:c",
        ] {
            assert_eq!(directory_of(path), PathBuf::from(path));
        }
        for url in [
            "file:///var/my%20claims",
            "FILE:///var/my%20claims",
            "file://localhost/var/my claims",
            "file:/var/my claims",
        ] {
            assert_eq!(directory_of(url), PathBuf::from("/var/my claims"), "{url}");
        }
    }

    #[test]
    fn a_bucket_has_a_name_and_perhaps_a_prefix() {
        for (url, provider, name, prefix, shown) in [
            ("s3://b", Provider::S3, "b", "", "s3://b"),
            ("s3a://b/", Provider::S3, "b", "", "s3://b"),
            (
                "S3://My.bucket_1/",
                Provider::S3,
                "My.bucket_1",
                "",
                "s3://My.bucket_1",
            ),
            ("gs://b/p/q/", Provider::Gcs, "b", "p/q", "gs://b/p/q"),
            (
                "az://c/day=1",
                Provider::Azure,
                "c",
                "day=1",
                "az://c/day=1",
            ),
            ("abfss://c/p", Provider::Azure, "c", "p", "az://c/p"),
        ] {
            let parsed = ClaimsUrl::parse(url).unwrap();
            let bucket = Bucket {
                provider,
                name: name.to_owned(),
                prefix: prefix.to_owned(),
            };
            assert_eq!(parsed, ClaimsUrl::Bucket(bucket), "{url}");
            assert_eq!(parsed.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_store_is_refused_by_its_rule() {
        for empty in ["", " "] {
            assert_eq!(ClaimsUrl::parse(empty), Err(ClaimsUrlError::Empty));
        }
        for scheme in [
            "https://b.s3.amazonaws.com/p",
            "http:x",
            "memory:",
            "s4://b",
            "foo:bar",
        ] {
            let refused = ClaimsUrl::parse(scheme).unwrap_err();
            assert!(
                matches!(refused, ClaimsUrlError::Scheme { .. }),
                "{refused}"
            );
        }
        for url in [
            "s3:b",
            "s3:/b",
            "s3://",
            "s3:///p",
            "s3://b:9000/p",
            "s3://-b",
            "s3://b%20",
            "gs://b//p",
            "gs://b/p/../q",
            "gs://b/.",
            "gs://b/a b",
            "gs://b/%2e%2e",
            "gs://b/é",
            "file:claims",
            "file://host/claims",
            "file://",
            "file:///a?b",
            "file:///%ff",
            "file:///a%00",
        ] {
            let refused = ClaimsUrl::parse(url).unwrap_err();
            assert!(
                matches!(refused, ClaimsUrlError::Rule { .. }),
                "{url}: {refused}"
            );
            assert!(refused.to_string().contains(url), "{refused}");
        }
        assert!(ClaimsUrl::parse(&format!("s3://{}", "b".repeat(223))).is_err());
        assert!(ClaimsUrl::parse(&format!("s3://b/{}", "p".repeat(513))).is_err());
    }

    #[test]
    fn a_secret_is_refused_and_not_repeated() {
        for url in [
            "s3://AKIA:hunter2@bucket/p",
            "s3:hunter2@bucket",
            "abfss://hunter2@account.dfs.core.windows.net/p",
            "az://c/p?sv=1&sig=hunter2",
            "gs://b/p#hunter2",
            "https://u:hunter2@h/p",
        ] {
            let refused = ClaimsUrl::parse(url).unwrap_err();
            assert!(
                !format!("{refused} {refused:?}").contains("hunter2"),
                "{refused}"
            );
        }
    }
}
