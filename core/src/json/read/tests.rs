//! The reader, held against serde_json.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<(), JsonError> {
    let mut reader = Reader::new(text);
    reader.skip(None)?;
    reader.end()
}

fn agrees(text: &str) {
    let oracle = serde_json::from_str::<serde_json::Value>(text);
    assert_eq!(read(text).is_ok(), oracle.is_ok(), "{text:?}: {oracle:?}");
}

#[test]
fn accepts_what_serde_json_accepts() {
    let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
    for text in [
        "",
        " ",
        "0",
        "-0",
        "00",
        "01",
        "-",
        "-a",
        "1.",
        ".5",
        "1.5e",
        "1e+",
        "1E-3",
        "1e400",
        "-1e400",
        "1e-400",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "tru",
        "true",
        "truex",
        "nul",
        "null",
        "[",
        "[]",
        "[,]",
        "[1,]",
        "[1 2]",
        "[1]]",
        "{",
        "{}",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "{a:1}",
        "\"",
        "\"\\",
        "\"\\\"",
        "\"\\q\"",
        "\"\\ud800\"",
        "\"\\ud83d\\ude00\"",
        "\"\\u12\"",
        "\"\u{1}\"",
        "\"\\n\"",
        "\u{FEFF}{}",
        "\"\\é\"",
        "\u{A0}1",
        "1\r\n",
        "1\u{B}",
    ] {
        agrees(text);
    }
    agrees(&"9".repeat(400));
    agrees(&format!("1.{}", "9".repeat(400)));
    for depth in 120..135 {
        agrees(&deep(depth));
        agrees(&("{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)));
    }
    agrees(&deep(100_000));
}

#[test]
fn a_fault_is_placed_at_the_byte_that_does_not_fit() {
    for (text, at) in [
        ("{\"a\":1 \"b\"}", 7),
        ("[1,\"\\ud800\"]", 10),
        ("[1,\"a\u{1}\"]", 5),
        ("[1e400]", 1),
        ("\"abc", 4),
        ("[1] x", 4),
    ] {
        assert_eq!(read(text).unwrap_err().at, at, "{text}");
    }
}

#[test]
fn numbers_keep_their_kind() {
    for (text, value) in [
        ("0", Value::Unsigned(0)),
        ("-0", Value::Float),
        ("1.0", Value::Float),
        ("-7", Value::Negative(-7)),
        ("18446744073709551615", Value::Unsigned(u64::MAX)),
        ("18446744073709551616", Value::Float),
        ("-9223372036854775808", Value::Negative(i64::MIN)),
        ("-9223372036854775809", Value::Float),
    ] {
        assert_eq!(Reader::new(text).value().unwrap(), value, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn agrees_with_serde_json_on_json_like_text(
        text in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u00e9\"", "\"\\ud83d\"", "\"", "\\",
            "1", "-", "0", ".", "5", "e", "E+", "308", "true", "null", " ", "\n", "é", "\u{0}",
        ]), 0..12)
    ) {
        agrees(&text.concat());
    }
}
