//! The ids of a publish reply, found without reading it as a document.

use crate::failure::MessageId;
use crate::json::plain_prefix;

/// The ids of a body of exactly the shape that Pub/Sub writes: an object of one member,
/// `messageIds`, with exactly `expected` strings of ASCII without escapes. None for
/// everything else, which is for a parser to read.
pub(super) fn scan(body: &[u8], expected: usize) -> Option<Vec<MessageId>> {
    let mut at = Cursor(body, 0);
    at.token(b"{")?;
    at.token(br#""messageIds""#)?;
    at.token(b":")?;
    at.token(b"[")?;
    // A reply that lies about itself is not worth more than its bytes: an id takes three.
    let mut ids = Vec::with_capacity(expected.min(body.len() / 3));
    loop {
        at.token(b"\"")?;
        ids.push(at.id()?);
        at.byte(b'"')?;
        at.spaces();
        if at.byte(b',').is_none() {
            break;
        }
    }
    at.token(b"]")?;
    at.token(b"}")?;
    at.spaces();
    (at.1 == body.len() && ids.len() == expected).then_some(ids)
}

/// A place in a text.
struct Cursor<'a>(&'a [u8], usize);

impl Cursor<'_> {
    /// Passes `token` and the white space before it.
    fn token(&mut self, token: &[u8]) -> Option<()> {
        self.spaces();
        self.0[self.1..]
            .starts_with(token)
            .then(|| self.1 += token.len())
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        (self.0.get(self.1) == Some(&byte)).then(|| self.1 += 1)
    }

    fn spaces(&mut self) {
        let rest = self.0[self.1..].iter();
        let spaces = rest.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.1 += spaces.count();
    }

    fn id(&mut self) -> Option<MessageId> {
        match MessageId::at_head(&self.0[self.1..]) {
            Some((id, length)) => {
                self.1 += length;
                Some(id)
            }
            None => {
                let plain = self.plain();
                plain.is_ascii().then(|| MessageId::from_utf8(plain))?
            }
        }
    }

    /// Passes what stands for itself in a string.
    fn plain(&mut self) -> &[u8] {
        let rest = &self.0[self.1..];
        let (plain, _) = rest.split_at(plain_prefix(rest));
        self.1 += plain.len();
        plain
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::subsequence;
    use serde_json::Value;

    use super::*;

    fn scanned(body: &str, expected: usize) -> Option<Vec<String>> {
        let ids = scan(body.as_bytes(), expected)?;
        Some(ids.iter().map(|id| id.as_str().to_owned()).collect())
    }

    /// What a parser of all JSON finds.
    fn parsed(body: &str) -> Option<Vec<String>> {
        let Value::Object(mut members) = serde_json::from_str(body).ok()? else {
            return None;
        };
        serde_json::from_value(members.remove("messageIds")?).ok()
    }

    #[test]
    fn the_replies_that_pubsub_writes() {
        for body in [
            r#"{"messageIds":["1","2"]}"#,
            "{\n  \"messageIds\": [\n    \"1\",\n    \"2\"\n  ]\n}\n",
        ] {
            assert_eq!(scanned(body, 2).unwrap(), ["1", "2"]);
        }
    }

    #[test]
    fn every_other_shape_is_left_to_the_parser() {
        for body in [
            "",
            "{",
            "{}",
            r#"{"messageIds":[]}"#,
            r#"{"messageIds":["1","2""#,
            r#"{"messageIds":["1","2"]} x"#,
            r#"{"messageIds":["1","2"],"more":1}"#,
            r#"{"more":1,"messageIds":["1","2"]}"#,
            r#"{"messageIds":["1",2]}"#,
            r#"{"messageIds":["1",]}"#,
            r#"{"messageIds":["1","\u0032"]}"#,
            r#"{"messageIds":["1","é"]}"#,
            "{\"messageIds\":[\"1\",\"\n\"]}",
            r#"["1","2"]"#,
        ] {
            assert_eq!(scanned(body, 2), None, "{body}");
        }
        assert_eq!(scanned(r#"{"messageIds":["1","2"]}"#, 1), None);
        assert_eq!(scanned(r#"{"messageIds":["1","2"]}"#, 3), None);
    }

    const PIECES: [&str; 14] = [
        "{",
        "\"messageIds\"",
        ":",
        "[",
        "\"17\"",
        ",",
        "\"a b\"",
        "]",
        "}",
        " ",
        "\n",
        "\"\"",
        "\\",
        "1",
    ];

    proptest! {
        #[test]
        fn what_it_finds_a_parser_finds(
            ids in prop::collection::vec("[ -~é]{0,5}|[0-9]{15,26}|[ -~é]{20,26}", 1..6),
            pretty in any::<bool>(),
        ) {
            let value = serde_json::json!({ "messageIds": ids });
            let body = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let body = body.unwrap();
            if let Some(found) = scanned(&body, ids.len()) {
                prop_assert_eq!(found, ids);
            } else {
                prop_assert!(ids.iter().any(|id| !id.is_ascii() || id.contains(['"', '\\'])));
            }
        }

        #[test]
        fn what_it_takes_is_json(picks in prop::collection::vec(0..PIECES.len(), 0..12), cut in subsequence((0..9).collect::<Vec<_>>(), 8..=9)) {
            let wild: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
            let nearly: String = cut.into_iter().map(|pick| PIECES[pick]).collect();
            for body in [wild, nearly] {
                for expected in 0..4 {
                    if let Some(found) = scanned(&body, expected) {
                        prop_assert_eq!(Some(found), parsed(&body));
                    }
                }
            }
        }
    }
}
