//! What of a destination may be shown: never what could be a credential.
//!
//! A sink may hand in a whole URL by mistake. What is surely not the host or the address is cut
//! off; where that is not sure, nothing is kept.

/// What stands for a host that is not shown. No such host can exist (RFC 2606).
pub const UNKNOWN_HOST: &str = "unknown.invalid";

/// The host of `text` and its port: without scheme, userinfo, path, query and fragment.
pub(crate) fn host(text: &str) -> String {
    let (authority, rest) = split(without_scheme(text.trim()), &['/', '\\', '?', '#']);
    let host = after_userinfo(authority);
    // With an `@` behind it, what looks like the host may be the head of a password.
    if rest.contains('@') || !is_host(host) {
        return UNKNOWN_HOST.to_owned();
    }
    host.to_owned()
}

/// The address in `text`, without what stands before an `@`, query and fragment; empty if nothing
/// is sure to be the address.
pub(crate) fn address(text: &str) -> String {
    let (address, rest) = split(text, &['?', '#']);
    if rest.contains('@') {
        return String::new();
    }
    after_userinfo(address).to_owned()
}

/// The protocol's name, up to the first character that is in no such name.
pub(crate) fn protocol(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-._".contains(c));
    match &text[..end.unwrap_or(text.len())] {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

fn split<'a>(text: &'a str, delimiters: &[char]) -> (&'a str, &'a str) {
    text.split_at(text.find(delimiters).unwrap_or(text.len()))
}

fn after_userinfo(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, host)| host)
}

fn without_scheme(text: &str) -> &str {
    let is_scheme = |head: &str| {
        head.starts_with(|c: char| c.is_ascii_alphabetic())
            && head
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    };
    match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => text,
    }
}

/// A name or an address, with a port or without.
fn is_host(text: &str) -> bool {
    let (named, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, port)) => {
            let charset = |b: u8| b.is_ascii_hexdigit() || b":.".contains(&b);
            (!v6.is_empty() && v6.bytes().all(charset), port)
        }
        None => {
            let (name, port) = split(text, &[':']);
            let charset = |c: char| c.is_alphanumeric() || "-._".contains(c);
            (!name.is_empty() && name.chars().all(charset), port)
        }
    };
    let is_port = |port: &str| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    named && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_host_stays_as_it_is() {
        for good in [
            "pubsub.googleapis.com",
            "localhost:8085",
            "[::1]:8085",
            "[2001:db8::1]",
            "127.0.0.1:1",
            "bücher.example",
            "kafka_1:9092",
        ] {
            assert_eq!(host(good), good);
        }
    }

    #[test]
    fn of_a_url_the_host_is_kept() {
        for (url, expected) in [
            (
                "https://pubsub.googleapis.com/v1?x=1#y",
                "pubsub.googleapis.com",
            ),
            (
                "https://user:hunter2@example.com:8443/p",
                "example.com:8443",
            ),
            ("user:hunter2@example.com", "example.com"),
            ("https://us@er:hunter2@example.com", "example.com"),
            ("example.com?token=hunter2", "example.com"),
            ("example.com/hunter2", "example.com"),
            ("example.com?next=https://hunter2", "example.com"),
            ("https://hunter2@[::1]:80/", "[::1]:80"),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_not_surely_a_host_is_not_kept() {
        for bad in [
            "",
            "hunter2:",
            "user:hunter2",
            "user:hunter2:80",
            "https:/user:hunter2@example.com",
            "https//user:hunter2@example.com",
            "https://user:hunter2/3@example.com",
            "https://user?hunter2@example.com",
            "example.com/?mail=a@hunter2",
            "example.com;token=hunter2",
            "user%3Ahunter2%40example.com",
            "{hunter2}",
            "a b",
            "h:0",
            "h:65536",
            "h:+1",
            "[hunter2]",
            "[]",
            "[::1]hunter2",
        ] {
            assert_eq!(host(bad), UNKNOWN_HOST, "{bad}");
        }
    }

    #[test]
    fn an_address_loses_userinfo_and_query() {
        for (text, expected) in [
            ("projects/p/topics/t", "projects/p/topics/t"),
            (
                "projects/example.com:p/topics/A-._~%2B%25",
                "projects/example.com:p/topics/A-._~%2B%25",
            ),
            ("https://user:hunter2@host/hooks", "host/hooks"),
            ("https://user:hunter/2@host/hooks", "host/hooks"),
            ("projects/user:hunter2@p/topics/t", "p/topics/t"),
            ("projects/p/topics/t?token=hunter2", "projects/p/topics/t"),
            ("projects/p/topics/t#hunter2", "projects/p/topics/t"),
            ("https://user:hunter?2@host/hooks", ""),
            ("?hunter2", ""),
            ("", ""),
        ] {
            assert_eq!(address(text), expected, "{text}");
        }
    }

    #[test]
    fn a_protocol_is_a_name() {
        assert_eq!(protocol("googlepubsub"), "googlepubsub");
        assert_eq!(protocol("kafka-secure"), "kafka-secure");
        assert_eq!(protocol("amqp://user:hunter2@host"), "amqp");
        assert_eq!(protocol("://"), "unknown");
    }

    proptest! {
        #[test]
        fn nothing_before_an_at_and_no_query_is_kept(
            head in "[a-z:/?#@ .]{0,12}",
            tail in "[a-z:/?#@ .]{0,12}",
            delimiter in "[@?]",
        ) {
            let text = match delimiter.as_str() {
                "@" => format!("{head}SECRET@{tail}"),
                _ => format!("{head}?{tail}SECRET"),
            };
            prop_assert!(!host(&text).contains("SECRET"), "{}", text);
            prop_assert!(!address(&text).contains("SECRET"), "{}", text);
        }

        #[test]
        fn done_twice_is_done_once(text in "[a-z0-9:/?#@. \\[\\]]{0,24}") {
            prop_assert_eq!(host(&host(&text)), host(&text));
            prop_assert_eq!(address(&address(&text)), address(&text));
            prop_assert_eq!(protocol(&protocol(&text)), protocol(&text));
        }
    }
}
