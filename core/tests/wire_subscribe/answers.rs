//! What is a success of a call, and what only looks like one.

use http::HeaderMap;
use pubsink_core::subscribe::{CallClass, CallFailure, StreamEnd};
use pubsink_core::wire::Reply;
use pubsink_core::wire::grpc::FrameError;
use pubsink_core::wire::subscribe::{grpc, rest};

use crate::help::{headers, ids, reply, trailers_only};

/// An empty message in its frame.
const EMPTY: &[u8] = &[0; 5];

fn ok() -> HeaderMap {
    headers([("grpc-status", "0")])
}

fn unary(reply: &Reply, trailers: &HeaderMap) -> Result<(), CallFailure> {
    grpc::read_answer(reply, trailers, &ids(&["one"]), None)
}

fn assert_unreadable(failure: &CallFailure) {
    assert_eq!(failure.class, CallClass::Transient);
    assert_eq!(
        failure.reason.kind(),
        "unreadable_reply",
        "{}",
        failure.reason
    );
}

#[test]
fn over_rest_a_success_is_an_object() {
    for body in ["{}", "{\n}\n", " {\"x\":[1]} "] {
        assert_eq!(rest::read_answer(&reply(200, body), &[], None), Ok(()));
    }
    for body in ["", "<html>", "[]", "null", "{", "{} x", "\"\""] {
        let failure = rest::read_answer(&reply(200, body), &[], None).unwrap_err();
        assert_unreadable(&failure);
        let failure = rest::read_pull(&reply(200, body), None).unwrap_err();
        assert_unreadable(&failure);
    }
    for status in [201, 202, 204, 206] {
        let failure = rest::read_answer(&reply(status, "{}"), &[], None).unwrap_err();
        assert_eq!(failure.class, CallClass::Transient);
    }
}

#[test]
fn over_grpc_a_success_is_one_message_and_a_status_of_zero() {
    assert_eq!(unary(&reply(200, EMPTY), &ok()), Ok(()));
    // What is in the message is for later versions of the protocol.
    assert_eq!(
        unary(&reply(200, &b"\0\0\0\0\x02\x08\x01"[..]), &ok()),
        Ok(())
    );
    for body in [
        &b""[..],
        &[0; 10],
        &EMPTY[..4],
        b"\x01\0\0\0\0",
        b"<html>",
        b"\0\0\0\0\x01",
    ] {
        assert_unreadable(&unary(&reply(200, body), &ok()).unwrap_err());
    }
}

#[test]
fn without_a_status_nothing_is_a_success() {
    let none = HeaderMap::new();
    assert_unreadable(&unary(&reply(200, EMPTY), &none).unwrap_err());
    let StreamEnd::Failed(failure) = grpc::read_stream_end(&reply(200, ""), &none, None) else {
        panic!("done");
    };
    assert_unreadable(&failure);
    assert_eq!(
        failure.reason.to_string(),
        "the answer cannot be read: the answer ended without a grpc-status"
    );
}

#[test]
fn a_status_of_zero_under_another_http_status_is_no_success() {
    for http in [204, 404, 502] {
        let failure = unary(&reply(http, EMPTY), &ok()).unwrap_err();
        assert_eq!(failure.reason.kind(), "status");
        assert_ne!(
            grpc::read_stream_end(&reply(http, ""), &ok(), None),
            StreamEnd::Done
        );
    }
}

#[test]
fn a_stream_that_we_ended_is_done() {
    assert_eq!(
        grpc::read_stream_end(&reply(200, ""), &ok(), None),
        StreamEnd::Done
    );
    let none = HeaderMap::new();
    assert_eq!(
        grpc::read_stream_end(&trailers_only(0), &none, None),
        StreamEnd::Done
    );
}

#[test]
fn a_grpc_status_counts_under_any_http_status() {
    let mut answer = trailers_only(13);
    answer.status = 415;
    let failure = unary(&answer, &HeaderMap::new()).unwrap_err();
    assert_eq!(
        failure.reason.to_string(),
        "Pub/Sub answered 500 INTERNAL: no"
    );
}

#[test]
fn bytes_that_are_no_frame_are_a_failure_of_the_stream() {
    let error = FrameError::TooLarge { size: 10, max: 9 };
    let failure = CallFailure::from(error);
    assert_unreadable(&failure);
    assert!(failure.reason.to_string().ends_with(&error.to_string()));
}
