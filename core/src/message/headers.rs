//! Which of a hook's headers travel in its message.

use std::borrow::Cow;

use bytes::Bytes;

use crate::delivery::{DeliveryContext, ForwardHeaders};
use crate::json::{write_escaped, write_string};
use crate::reason::{InvalidMessage, Reason};
use crate::text::Text;

/// Headers that are never forwarded: credentials, what describes the connection rather than the
/// hook, and what the message says elsewhere.
pub const NEVER_FORWARDED: [&str; 14] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
];

/// Headers that start with this are never forwarded: a consumer may trust that no provider set
/// them.
pub const RESERVED_PREFIX: &str = "x-ankusa-";

/// Writes the forwarded headers as a JSON object, and returns the names of those left out because
/// of a bound, in the order they arrived.
pub(super) fn write_headers(
    out: &mut Vec<u8>,
    headers: &[(String, Bytes)],
    context: &DeliveryContext,
) -> Result<Vec<String>, Reason> {
    let sorted = sort(headers, &context.forward_headers);
    let mut kept: Vec<&[Header<'_>]> = sorted.chunk_by(|a, b| a.name == b.name).collect();
    let left_out = keep_within_bounds(&mut kept, context);
    out.push(b'{');
    for (index, group) in kept.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_group(out, group)?;
    }
    out.push(b'}');
    Ok(left_out)
}

/// What stands between the values of a repeated header.
const SEPARATOR: &str = ", ";

/// A header that may be forwarded.
struct Header<'a> {
    /// Lowercased.
    name: Cow<'a, str>,
    /// Its place among all.
    place: usize,
    value: &'a [u8],
}

/// The headers that may be forwarded, by name, those of one name in the order they arrived.
fn sort<'a>(headers: &'a [(String, Bytes)], forward: &ForwardHeaders) -> Vec<Header<'a>> {
    let mut sorted = Vec::with_capacity(headers.len());
    for (place, (name, value)) in headers.iter().enumerate() {
        let name = lowercase(name);
        if may_be_forwarded(&name, forward) {
            sorted.push(Header { name, place, value });
        }
    }
    sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name).then(a.place.cmp(&b.place)));
    sorted
}

fn lowercase(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn may_be_forwarded(name: &str, forward: &ForwardHeaders) -> bool {
    let listed = match forward {
        ForwardHeaders::Default => true,
        ForwardHeaders::Only(list) => list.iter().any(|listed| listed.eq_ignore_ascii_case(name)),
    };
    listed && !name.starts_with(RESERVED_PREFIX) && NEVER_FORWARDED.binary_search(&name).is_err()
}

/// Takes the groups that are over a bound out of `groups`, and returns their names. A group is
/// the headers of one name, never empty.
fn keep_within_bounds(groups: &mut Vec<&[Header<'_>]>, context: &DeliveryContext) -> Vec<String> {
    if context.max_headers.is_none() && context.forward_headers_max_bytes.is_none() {
        return Vec::new();
    }
    let mut headers_left = context.max_headers.unwrap_or(usize::MAX);
    let mut bytes_left = context.forward_headers_max_bytes.unwrap_or(usize::MAX);
    groups.sort_unstable_by_key(|group| group[0].place);
    let mut left_out = Vec::new();
    groups.retain(|group| {
        let len = group_len(group);
        let fits = headers_left > 0 && len <= bytes_left;
        if fits {
            headers_left -= 1;
            bytes_left -= len;
        } else {
            left_out.push(group[0].name.to_string());
        }
        fits
    });
    groups.sort_unstable_by(|a, b| a[0].name.cmp(&b[0].name));
    left_out
}

/// The bytes of the name and the joined values.
fn group_len(group: &[Header<'_>]) -> usize {
    let values: usize = group.iter().map(|header| header.value.len()).sum();
    group[0].name.len() + SEPARATOR.len() * (group.len() - 1) + values
}

fn write_group(out: &mut Vec<u8>, group: &[Header<'_>]) -> Result<(), Reason> {
    let name = &group[0].name;
    write_string(out, name);
    out.extend_from_slice(b":\"");
    for (index, header) in group.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(SEPARATOR.as_bytes());
        }
        let text = std::str::from_utf8(header.value).map_err(|_| {
            Reason::InvalidMessage(InvalidMessage::HeaderNotUtf8 {
                name: Text::capped(name.as_bytes()),
            })
        })?;
        write_escaped(out, text);
    }
    out.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(
        headers: &[(&str, &[u8])],
        context: &DeliveryContext,
    ) -> Result<(String, Vec<String>), Reason> {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Bytes::copy_from_slice(value)))
            .collect();
        let mut out = Vec::new();
        let left_out = write_headers(&mut out, &headers, context)?;
        Ok((String::from_utf8(out).unwrap(), left_out))
    }

    fn only(names: &[&str]) -> DeliveryContext {
        DeliveryContext {
            forward_headers: ForwardHeaders::Only(names.iter().map(|&n| n.to_owned()).collect()),
            ..DeliveryContext::default()
        }
    }

    #[test]
    fn the_never_forwarded_are_sorted_for_the_search() {
        assert!(NEVER_FORWARDED.is_sorted());
    }

    #[test]
    fn lowercased_joined_in_order_of_arrival_and_sorted() {
        let headers: &[(&str, &[u8])] =
            &[("X-B", b"1"), ("x-a", b"2"), ("x-b", b""), ("X-b", b"3")];
        let (text, left_out) = forwarded(headers, &DeliveryContext::default()).unwrap();
        assert_eq!(text, r#"{"x-a":"2","x-b":"1, , 3"}"#);
        assert!(left_out.is_empty());
    }

    #[test]
    fn the_never_forwarded_stay_even_when_listed_and_even_with_odd_bytes() {
        let mut names: Vec<&str> = NEVER_FORWARDED.to_vec();
        names.extend(["X-Ankusa-Id", "Cookie", "X-Kept"]);
        let headers: Vec<(&str, &[u8])> = names
            .iter()
            .map(|&name| (name, if name == "X-Kept" { &b"1"[..] } else { b"\xE9" }))
            .collect();
        for context in [DeliveryContext::default(), only(&names)] {
            let (text, _) = forwarded(&headers, &context).unwrap();
            assert_eq!(text, r#"{"x-kept":"1"}"#);
        }
    }

    #[test]
    fn a_list_is_compared_in_any_case_and_an_empty_one_forwards_nothing() {
        let headers: &[(&str, &[u8])] = &[("X-One", b"1"), ("x-two", b"2")];
        assert_eq!(
            forwarded(headers, &only(&["x-ONE"])).unwrap().0,
            r#"{"x-one":"1"}"#
        );
        assert_eq!(forwarded(headers, &only(&[])).unwrap().0, "{}");
    }

    #[test]
    fn a_value_that_is_not_utf8_is_named_and_only_matters_when_forwarded() {
        let headers: &[(&str, &[u8])] = &[("X-Name", b"ok"), ("X-NAME", b"caf\xE9"), ("y", b"1")];
        let refused = forwarded(headers, &DeliveryContext::default()).unwrap_err();
        assert_eq!(
            refused,
            Reason::InvalidMessage(InvalidMessage::HeaderNotUtf8 {
                name: "x-name".into()
            })
        );
        assert_eq!(forwarded(headers, &only(&["y"])).unwrap().0, r#"{"y":"1"}"#);
        let bounded = DeliveryContext {
            max_headers: Some(0),
            ..DeliveryContext::default()
        };
        assert_eq!(forwarded(headers, &bounded).unwrap().0, "{}");
    }

    #[test]
    fn bounds_admit_names_as_they_arrived_and_name_the_rest() {
        let headers: &[(&str, &[u8])] = &[
            ("d", b"1"),
            ("c", b"12345"),
            ("b", b"1"),
            ("a", b"1"),
            ("D", b"2"),
        ];
        let bounded = |max_headers, forward_headers_max_bytes| DeliveryContext {
            max_headers,
            forward_headers_max_bytes,
            ..DeliveryContext::default()
        };
        let left = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            forwarded(headers, &bounded(Some(2), None)).unwrap(),
            (r#"{"c":"12345","d":"1, 2"}"#.to_owned(), left(&["b", "a"]))
        );
        // "d" and "1, 2" are 5 bytes, "c" does not fit, "b" and "1" do.
        assert_eq!(
            forwarded(headers, &bounded(None, Some(7))).unwrap(),
            (r#"{"b":"1","d":"1, 2"}"#.to_owned(), left(&["c", "a"]))
        );
        assert_eq!(
            forwarded(headers, &bounded(Some(9), Some(15))).unwrap().1,
            left(&[])
        );
    }

    #[test]
    fn letters_beyond_ascii_stay_as_they_are() {
        let headers: &[(&str, &[u8])] = &[("X-É", b"1")];
        assert_eq!(
            forwarded(headers, &DeliveryContext::default()).unwrap().0,
            r#"{"x-É":"1"}"#
        );
    }
}
