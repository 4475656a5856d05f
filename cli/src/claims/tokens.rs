//! The file of who may have which claims.

use std::fmt::Display;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use pubsink_core::claim::endpoint::{Endpoint, Grant};

use crate::exit::CommandError;

/// What a file of tokens has at most: every request is compared with all of them.
const FILE_MAX: u64 = 1024 * 1024;

/// How short a token may be: whatever is shorter can be guessed, or is something else.
const TOKEN_MIN: usize = 16;

/// Reads who is served: a line has a token, then `*` or tenants with commas between them. A line
/// that starts with `#` is a comment.
pub(super) fn read(path: &Path) -> Result<Endpoint, CommandError> {
    let failed = |why: &dyn Display| {
        let what = format!("cannot read --token-file {}", path.display());
        CommandError::new(what, why)
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    let read = file.take(FILE_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(&error))?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(failed(&"it is larger than 1 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(&"it is not UTF-8"))?;
    let grants = grants(&text).map_err(|(line, why)| {
        let place = format!("--token-file {}, line {line}", path.display());
        CommandError::new(place, why)
    })?;
    // Nobody could be served.
    Endpoint::new(grants).map_err(|_| {
        let place = format!("--token-file {}", path.display());
        CommandError::new(place, "it has no token; --open-to-all serves whoever asks")
    })
}

/// The lines' grants, or what is wrong with which line. Never a part of a token.
fn grants(text: &str) -> Result<Vec<Grant>, (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate();
    let lines = lines.map(|(place, line)| (place + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| grant(line).map_err(|why| (number, why)))
        .collect()
}

fn grant(line: &str) -> Result<Grant, String> {
    let mut words = line.split_whitespace();
    let (Some(token), Some(tenants), None) = (words.next(), words.next(), words.next()) else {
        return Err("a line is TOKEN *, or TOKEN tenant1,tenant2".to_owned());
    };
    if token == "*" || token.contains(',') {
        return Err("the token comes first, and then its tenants".to_owned());
    }
    if token.len() < TOKEN_MIN {
        return Err(format!("a token has at least {TOKEN_MIN} characters"));
    }
    let grant = match tenants {
        "*" => Grant::all_tenants(token),
        tenants => {
            // What is wrong with a tenant is not shown: the two may have changed places.
            if !is_tenants(tenants) {
                let rule = "a tenant is 1 to 64 of A-Z a-z 0-9 _ -, and there is only a comma \
                            between two";
                return Err(rule.to_owned());
            }
            Grant::tenants(token, tenants.split(','))
        }
    };
    grant.map_err(|error| error.to_string())
}

fn is_tenants(text: &str) -> bool {
    text.split(',').all(is_tenant)
}

fn is_tenant(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_passed_over() {
        let text = "\u{feff}# consumers\r\n\r\n0123456789abcdef acme,globex\r\n  # more\n \
                    fedcba9876543210\t*\n";
        assert_eq!(grants(text).unwrap().len(), 2);
        assert_eq!(grants("").unwrap().len(), 0);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line_and_never_shown() {
        for line in [
            "hunter2-0123456789",
            "hunter2-0123456789 acme globex",
            "hunter2-0123456789 acme,",
            "hunter2-0123456789 acme,*",
            "hunter2-0123456789\u{e9} acme",
        ] {
            let text = format!("# first\n0123456789abcdef *\n{line}\n");
            let (number, why) = grants(&text).unwrap_err();
            assert_eq!(number, 3, "{line}");
            assert!(!why.contains("hunter2"), "{why}");
        }
    }

    #[test]
    fn a_token_that_is_short_or_has_changed_places_is_refused() {
        let secret = "hunter2-0123456789";
        let refused = |line: &str| {
            let why = grants(line).unwrap_err().1;
            assert!(!why.contains("hunter2"), "{why}");
            why
        };
        for tenants in ["*", "acme,globex", "acme-production,globex"] {
            let why = refused(&format!("{tenants} {secret}"));
            assert_eq!(why, "the token comes first, and then its tenants");
        }
        let short = "a token has at least 16 characters";
        assert_eq!(refused(&format!("acme {secret}")), short);
        assert_eq!(refused("hunter2-1234567 *"), short);
        assert_eq!(grants("hunter2-12345678 *").unwrap().len(), 1);
    }
}
