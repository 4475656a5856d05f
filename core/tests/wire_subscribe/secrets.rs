//! Our token is in no failure, whatever a server repeats.

use http::HeaderMap;
use pubsink_core::reason::TransportKind;
use pubsink_core::subscribe::{CallFailure, StreamEnd};
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;
use pubsink_core::wire::subscribe::{grpc, rest, transport_failure};
use serde_json::json;

use crate::help::{headers, ids, reply};

const TOKEN: &str = "ya29.a0/b+c=d~e";
/// What is left of it in any encoding.
const MARK: &str = "ya29";

fn assert_hidden(failure: &CallFailure) {
    let seen = format!("{failure:?} {} {:?}", failure.reason, failure.ids);
    assert!(!seen.contains(MARK), "{seen}");
    assert!(seen.contains("***"), "{seen}");
}

/// What all four make of an answer.
fn failures(answer: &Reply) -> Vec<CallFailure> {
    let token = Token::new(TOKEN).unwrap();
    let (ids, token, none) = (ids(&["one"]), Some(&token), HeaderMap::new());
    let end = match grpc::read_stream_end(answer, &none, token) {
        StreamEnd::Failed(failure) => Some(failure),
        _ => None,
    };
    let all = [
        rest::read_pull(answer, token).err(),
        rest::read_answer(answer, &ids, token).err(),
        grpc::read_answer(answer, &none, &ids, token).err(),
        end,
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn a_token_in_a_page_is_hidden() {
    for status in [401, 403, 429, 502] {
        let page = reply(
            status,
            format!("<pre>authorization: Bearer {TOKEN}\n{TOKEN}</pre>"),
        );
        let failures = failures(&page);
        assert_eq!(failures.len(), 4);
        failures.iter().for_each(assert_hidden);
    }
}

#[test]
fn a_token_in_a_page_that_says_200_is_hidden() {
    let page = reply(200, format!("<pre>authorization: Bearer {TOKEN}</pre>"));
    let token = Token::new(TOKEN).unwrap();
    assert_hidden(&rest::read_pull(&page, Some(&token)).unwrap_err());
    assert_hidden(&rest::read_answer(&page, &[], Some(&token)).unwrap_err());
}

#[test]
fn a_token_in_an_error_document_is_hidden() {
    let info = json!({ "@type": "x/google.rpc.ErrorInfo", "reason": TOKEN });
    for error in [
        json!({ "code": 403, "message": format!("bad token {TOKEN}") }),
        json!({ "code": 403, "status": TOKEN }),
        json!({ "code": 403, "details": [info] }),
    ] {
        let document = reply(403, json!({ "error": error }).to_string());
        let token = Token::new(TOKEN).unwrap();
        assert_hidden(&rest::read_pull(&document, Some(&token)).unwrap_err());
        assert_hidden(&rest::read_answer(&document, &[], Some(&token)).unwrap_err());
    }
}

#[test]
fn a_token_in_a_status_is_hidden_percent_encoded_too() {
    let escaped: String = TOKEN.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for text in [TOKEN, &escaped] {
        let answer = Reply {
            headers: headers([("grpc-status", "16"), ("grpc-message", text)]),
            ..reply(200, "")
        };
        let failures = failures(&answer);
        // Over REST nobody looks there.
        failures[2..].iter().for_each(assert_hidden);
    }
}

#[test]
fn a_token_in_the_word_on_an_ack_id_is_hidden() {
    let info = json!({
        "@type": "x/google.rpc.ErrorInfo",
        "reason": "EXACTLY_ONCE_ACKID_FAILURE",
        "metadata": { "one": format!("PERMANENT_FAILURE_{TOKEN}") },
    });
    let error = json!({ "error": { "code": 400, "details": [info] } });
    let token = Token::new(TOKEN).unwrap();
    let answer = reply(400, error.to_string());
    let failure = rest::read_answer(&answer, &ids(&["one"]), Some(&token)).unwrap_err();
    assert_eq!(failure.ids.len(), 1);
    assert_hidden(&failure);
}

#[test]
fn a_token_in_a_transports_error_is_hidden() {
    let token = Token::new(TOKEN).unwrap();
    let detail = format!("cannot send header Bearer {TOKEN}");
    assert_hidden(&transport_failure(
        TransportKind::Other,
        &detail,
        Some(&token),
    ));
}
