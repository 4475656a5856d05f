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
    /// [`ClaimsUrlError`] names the rule that is broken. What is refused may hold a secret, so it
    /// is not repeated.
    pub fn parse(text: &str) -> Result<Self, ClaimsUrlError> {
        if text.trim().is_empty() {
            return Err(ClaimsUrlError::Empty);
        }
        if text.starts_with(is_stray) || text.ends_with(is_stray) || text.contains(char::is_control)
        {
            return Err(ClaimsUrlError::Unclear {
                rule: "it has white space at an end, or a control character",
            });
        }
        let Some((scheme, rest)) = scheme_of(text) else {
            return path(text);
        };
        let scheme = scheme.to_ascii_lowercase();
        let provider = match scheme.as_str() {
            "file" => return directory(rest),
            "s3" | "s3a" => Provider::S3,
            "gs" => Provider::Gcs,
            "az" | "azure" | "abfs" | "abfss" => Provider::Azure,
            // What stands before the first `:` of no URL may be a user, or a key.
            _ if !is_word(&scheme) => {
                return Err(ClaimsUrlError::Unclear {
                    rule: "what stands before its first : is not file, s3, gs or az (a directory \
                           of such a name is written with ./ before it)",
                });
            }
            _ => {
                return Err(ClaimsUrlError::Scheme {
                    scheme: scheme.into(),
                });
            }
        };
        if rest.contains(['@', '?', '#']) {
            return Err(ClaimsUrlError::Secret {
                scheme: scheme.into(),
            });
        }
        match bucket(provider, rest) {
            Ok(bucket) => Ok(Self::Bucket(bucket)),
            Err(rule) => Err(ClaimsUrlError::Rule {
                scheme: scheme.into(),
                rule,
            }),
        }
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
    /// It is neither a path nor a URL. It may hold a secret, so nothing of it is repeated.
    #[error("what is given as the claim store is neither a directory nor a URL: {rule}")]
    Unclear {
        /// What is wrong with it.
        rule: &'static str,
    },
    /// It has what may be a secret.
    #[error(
        "the {scheme}: URL of the claim store has a user, a password, a query or a fragment; \
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
    /// It breaks a rule. It may hold a secret, so it is not repeated.
    #[error("the {scheme}: URL is none of a claim store: {rule}")]
    Rule {
        /// Its scheme.
        scheme: Text,
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

/// A scheme that can be shown: a word, and no longer than those there are.
fn is_word(scheme: &str) -> bool {
    scheme.len() <= SCHEME_MAX && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// What is seen at neither end of a text, and meant at none.
fn is_stray(char: char) -> bool {
    char.is_whitespace() || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// A path. What a shell or a file of settings has made of a URL must not become a directory.
fn path(text: &str) -> Result<ClaimsUrl, ClaimsUrlError> {
    let rule = if text.contains("://") {
        "before :// it has none of the schemes file, s3, gs and az"
    } else if text.starts_with('~') {
        "the shell did not expand ~"
    } else if text.starts_with('$') {
        "the shell did not expand its variable"
    } else if text.starts_with(['"', '\'']) {
        "it begins with a quote"
    } else {
        return Ok(ClaimsUrl::Directory(text.into()));
    };
    Err(ClaimsUrlError::Unclear { rule })
}

/// `///absolute/path`, percent-decoded.
fn directory(rest: &str) -> Result<ClaimsUrl, ClaimsUrlError> {
    let scheme = || Text::from("file");
    let refuse = |rule| ClaimsUrlError::Rule {
        scheme: scheme(),
        rule,
    };
    let (host, path) = match rest.strip_prefix("//") {
        None => ("", rest),
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
    };
    if host.contains('@') || rest.contains(['?', '#']) {
        return Err(ClaimsUrlError::Secret { scheme: scheme() });
    }
    if !matches!(host, "" | "localhost") || !path.starts_with('/') {
        return Err(refuse("a file: URL is file:///path, with an absolute path"));
    }
    let path = percent_decode_str(path).decode_utf8();
    let path = path.map_err(|_| refuse("its path has to be UTF-8"))?;
    if path.contains(char::is_control) {
        return Err(refuse("its path has a control character"));
    }
    Ok(ClaimsUrl::Directory(PathBuf::from(&*path)))
}

/// `//name/prefix`. Names are kept to what needs no encoding in any of the stores' APIs.
fn bucket(provider: Provider, rest: &str) -> Result<Bucket, &'static str> {
    let (name, prefix) = match rest.strip_prefix("//") {
        None => return Err("after the scheme comes ://"),
        Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
    };
    let named = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= NAME_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if !named {
        return Err("a bucket's name is letters, digits and - _ . only, without a port");
    }
    let prefix = prefix.trim_end_matches('/');
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'=' | b'+')
            })
    };
    if !prefix.is_empty() && (prefix.len() > PREFIX_MAX || !prefix.split('/').all(is_part)) {
        return Err(
            "a prefix has at most 512 characters, parts of letters, digits and - _ . = + with one \
             / between them, and no part . or ..",
        );
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

/// Far more than the longest scheme that anybody gives by mistake.
const SCHEME_MAX: usize = 16;

#[cfg(test)]
mod tests;
