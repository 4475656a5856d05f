//! Our token is in no outcome, whatever a server repeats.

use pubsink_core::reason::TransportKind;
use pubsink_core::wire::Reply;

use crate::sim::answers::{Answer, TokenAnswer, reply};
use crate::sim::look::Authorized as _;
use crate::sim::messages::{authorized_request, message};
use crate::sim::{Sim, defaults};

/// A token with every character that some encoding writes another way.
const TOKEN: &str = r#"ya29.a0/b+c=d~e"f\g<h>i&j'k"#;
/// What is left of it in any encoding.
const MARK: &str = "ya29";

/// Everything that can be seen of the outcome of a message whose request was answered so.
fn seen(answer: &Answer) -> String {
    let answer = answer.clone();
    let tokens = |_: Option<&_>| TokenAnswer::give(TOKEN);
    let mut sim = Sim::authorized(&defaults(), tokens, move |_| answer.clone());
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(
        sim.requests()[0].authorization(),
        Some(&*format!("Bearer {TOKEN}"))
    );
    let failure = sim.failure(1);
    let json = serde_json::to_string(failure).unwrap();
    format!("{failure} {failure:?} {json} {}", sim.shown())
}

fn assert_hidden(answer: &Answer) {
    let seen = seen(answer);
    assert!(!seen.contains(MARK), "{seen}");
    assert!(seen.contains("***"), "{seen}");
}

/// `TOKEN` as JSON text, each character written by `write`.
fn written(write: impl Fn(char) -> String) -> String {
    TOKEN.chars().map(write).collect()
}

/// The ways JSON writes the token.
fn json_forms() -> [String; 5] {
    let plain = |c: char| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        other => other.to_string(),
    };
    let slashes = |c: char| if c == '/' { "\\/".to_owned() } else { plain(c) };
    let unicode = |c: char| format!("\\u{:04x}", u32::from(c));
    let upper = |c: char| format!("\\u{:04X}", u32::from(c));
    let html = |c: char| {
        if "<>&'=+".contains(c) {
            unicode(c)
        } else {
            plain(c)
        }
    };
    [
        written(plain),
        written(slashes),
        written(unicode),
        written(upper),
        written(html),
    ]
}

#[test]
fn a_token_in_an_error_page_is_hidden() {
    for status in [200, 401, 403, 429, 502] {
        let body = format!("<pre>authorization: Bearer {TOKEN}\r\nagain {TOKEN}</pre>");
        assert_hidden(&Answer::reply(reply(status, body)));
    }
}

#[test]
fn a_token_in_json_is_hidden_in_every_way_json_writes_it() {
    for form in json_forms() {
        let whole = format!(r#"{{"headers":{{"authorization":"Bearer {form}"}}}}"#);
        for status in [200, 400, 503] {
            let seen = seen(&Answer::reply(reply(status, whole.clone())));
            assert!(
                !seen.contains(MARK) && !seen.contains("u0079\\\\u0061"),
                "{form}: {seen}"
            );
            assert!(seen.contains("***"), "{form}: {seen}");
        }
    }
}

#[test]
fn a_token_in_an_error_document_is_hidden() {
    for form in json_forms() {
        for field in ["status", "message"] {
            let body = format!(r#"{{"error":{{"code":403,"{field}":"bad token {form}"}}}}"#);
            assert_hidden(&Answer::reply(reply(403, body)));
        }
        let info = format!(r#"{{"@type":"x/google.rpc.ErrorInfo","reason":"{form}"}}"#);
        let body = format!(r#"{{"error":{{"code":403,"details":[{info}]}}}}"#);
        assert_hidden(&Answer::reply(reply(403, body)));
    }
}

#[test]
fn a_token_across_the_cut_is_not_half_shown() {
    for before in 8_192 - TOKEN.len()..=8_192 {
        let body = format!("{}{TOKEN}{}", "x".repeat(before), "y".repeat(100));
        let seen = seen(&Answer::reply(reply(502, body)));
        assert!(!seen.contains("xya"), "{before}");
    }
}

#[test]
fn a_token_in_a_transports_error_is_hidden() {
    let (_, sent) = authorized_request(TOKEN).encode();
    let response = sent.failed(
        TransportKind::Other,
        &format!("cannot send header Bearer {TOKEN}"),
    );
    let seen = format!("{response:?}");
    assert!(
        seen.contains("Bearer ***") && !seen.contains(MARK),
        "{seen}"
    );
}

#[test]
fn headers_of_a_reply_are_in_no_outcome() {
    let mut answer: Reply = reply(401, "no");
    answer.headers.insert(
        "www-authenticate",
        format!("Bearer error=\"{MARK}\"").parse().unwrap(),
    );
    let seen = seen(&Answer::reply(answer));
    assert!(!seen.contains(MARK), "{seen}");
}
