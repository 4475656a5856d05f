//! What became of single ack ids.

use std::collections::BTreeMap;

use http::HeaderMap;
use pubsink_core::subscribe::{AckId, CallClass, CallFailure, IdFailure, StreamEnd};
use pubsink_core::wire::Reply;
use pubsink_core::wire::subscribe::{grpc, rest};
use serde_json::json;

use crate::help::{headers, ids, reply};
use crate::oracle;

const INVALID: &str = "PERMANENT_FAILURE_INVALID_ACK_ID";
const UNORDERED: &str = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";
const REASON: &str = "EXACTLY_ONCE_ACKID_FAILURE";

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, word)| ((*name).to_owned(), (*word).to_owned()))
        .collect()
}

/// The same failure on both wires.
fn answers(status: (u16, u16, &str), reason: &str, metadata: &[(&str, &str)]) -> [Reply; 2] {
    let (code, http, name) = status;
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "metadata": map(metadata),
    });
    let error = json!({ "code": http, "status": name, "message": "no", "details": [info] });
    let info = oracle::ErrorInfo {
        reason: reason.to_owned(),
        domain: "pubsub.googleapis.com".to_owned(),
        metadata: map(metadata),
    };
    let details = oracle::details(code, "ErrorInfo", &info);
    let headers = headers([
        ("grpc-status", &*code.to_string()),
        ("grpc-message", "no"),
        ("grpc-status-details-bin", &details),
    ]);
    let grpc = Reply {
        headers,
        ..reply(200, "")
    };
    [reply(http, json!({ "error": error }).to_string()), grpc]
}

/// What both wires make of it, which is the same.
fn read(answers: &[Reply; 2], ids: &[AckId]) -> CallFailure {
    let [over_rest, over_grpc] = answers;
    let rest = rest::read_answer(over_rest, ids, None).unwrap_err();
    let grpc = grpc::read_answer(over_grpc, &HeaderMap::new(), ids, None).unwrap_err();
    assert_eq!(rest, grpc);
    rest
}

const INVALID_ARGUMENT: (u16, u16, &str) = (3, 400, "INVALID_ARGUMENT");

#[test]
fn the_metadata_names_what_failed_and_the_rest_was_accepted() {
    let answers = answers(
        INVALID_ARGUMENT,
        REASON,
        &[("a", INVALID), ("b", UNORDERED)],
    );
    let failure = read(&answers, &ids(&["c", "b", "a"]));
    assert_eq!(failure.class, CallClass::PerId);
    let expected = [
        (AckId::from("a"), IdFailure::Permanent(INVALID.into())),
        (AckId::from("b"), IdFailure::Transient(UNORDERED.into())),
    ];
    assert_eq!(failure.ids, expected.into());
    assert_eq!(
        failure.reason.to_string(),
        "Pub/Sub answered 400 INVALID_ARGUMENT (EXACTLY_ONCE_ACKID_FAILURE): no"
    );
}

#[test]
fn it_goes_before_the_status() {
    for status in [
        (14, 503, "UNAVAILABLE"),
        (9, 400, "FAILED_PRECONDITION"),
        (16, 401, "UNAUTHENTICATED"),
        (8, 429, "RESOURCE_EXHAUSTED"),
    ] {
        let failure = read(&answers(status, REASON, &[("a", INVALID)]), &ids(&["a"]));
        assert_eq!(failure.class, CallClass::PerId);
        assert_eq!(failure.refused, None);
    }
}

#[test]
fn a_word_that_is_not_known_is_no_success() {
    let failure = read(
        &answers(INVALID_ARGUMENT, REASON, &[("a", "LATER")]),
        &ids(&["a", "b"]),
    );
    assert_eq!(failure.class, CallClass::PerId);
    let expected = [(AckId::from("a"), IdFailure::Transient("LATER".into()))];
    assert_eq!(failure.ids, expected.into());
}

/// Of an answer by id, those that it does not name count as accepted: so the names have to be
/// ours.
#[test]
fn an_answer_about_other_ids_is_none_about_ours() {
    for metadata in [
        &[("x", INVALID)][..],
        &[("a", INVALID), ("x", UNORDERED)],
        &[("service", "pubsub.googleapis.com")],
        &[],
    ] {
        let failure = read(
            &answers(INVALID_ARGUMENT, REASON, metadata),
            &ids(&["a", "b"]),
        );
        assert_eq!(failure.class, CallClass::Invalid, "{metadata:?}");
        assert!(failure.ids.is_empty());
    }
    // Something else about the failure does no harm.
    let metadata = [("a", INVALID), ("service", "pubsub.googleapis.com")];
    let failure = read(
        &answers(INVALID_ARGUMENT, REASON, &metadata),
        &ids(&["a", "b"]),
    );
    assert_eq!(failure.class, CallClass::PerId);
    assert_eq!(failure.ids.len(), 1);
}

#[test]
fn another_reason_says_nothing_of_ids() {
    let failure = read(
        &answers(INVALID_ARGUMENT, "OTHER", &[("a", INVALID)]),
        &ids(&["a"]),
    );
    assert_eq!(failure.class, CallClass::Invalid);
}

#[test]
fn a_call_for_messages_has_no_ids() {
    let [over_rest, over_grpc] = answers(INVALID_ARGUMENT, REASON, &[("a", INVALID)]);
    let failure = rest::read_pull(&over_rest, None).unwrap_err();
    assert_eq!(failure.class, CallClass::Config);
    let end = grpc::read_stream_end(&over_grpc, &HeaderMap::new(), None);
    assert_eq!(end, StreamEnd::Failed(failure));
}

#[test]
fn a_thousand_ids_may_fail_at_once() {
    let names: Vec<_> = (0..1_000).map(|number| format!("{number:a>500}")).collect();
    let metadata: Vec<_> = names.iter().map(|name| (&**name, UNORDERED)).collect();
    let ids: Vec<_> = names.iter().map(|name| AckId::from(&**name)).collect();
    let failure = read(&answers(INVALID_ARGUMENT, REASON, &metadata), &ids);
    assert_eq!(failure.ids.len(), 1_000);
}
