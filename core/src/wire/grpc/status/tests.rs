use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect()
}

fn failed(pairs: &[(&'static str, &str)]) -> (u16, ErrorDocument) {
    match read_status(&HeaderMap::new(), &headers(pairs)) {
        Some(GrpcStatus::Failed { http, document }) => (http, document),
        other => panic!("{other:?}"),
    }
}

fn any(name: &str, message: &impl prost::Message) -> proto::Any {
    proto::Any {
        type_url: format!("type.googleapis.com/google.rpc.{name}").into(),
        value: message.encode_to_vec().into(),
    }
}

#[test]
fn trailers_go_before_headers_and_either_will_do() {
    let (ok, lost) = (
        headers(&[("grpc-status", "0")]),
        headers(&[("grpc-status", "5")]),
    );
    let none = HeaderMap::new();
    assert_eq!(read_status(&lost, &ok), Some(GrpcStatus::Ok));
    assert_eq!(read_status(&ok, &none), Some(GrpcStatus::Ok));
    assert!(matches!(
        read_status(&ok, &lost),
        Some(GrpcStatus::Failed { http: 404, .. })
    ));
    assert_eq!(read_status(&none, &none), None);
}

#[test]
fn only_zero_is_ok_and_what_no_code_is_is_unknown() {
    for number in [
        "+0",
        "-0",
        "",
        " ",
        "0x0",
        "17",
        "99999999999999999999",
        "ok",
        "0,0",
    ] {
        let (http, document) = failed(&[("grpc-status", number)]);
        assert_eq!(
            (http, document.status.as_str()),
            (500, "UNKNOWN"),
            "{number}"
        );
    }
}

#[test]
fn codes_stand_for_googles_http_statuses() {
    for (number, http, name) in [
        ("1", 499, "CANCELLED"),
        ("3", 400, "INVALID_ARGUMENT"),
        ("7", 403, "PERMISSION_DENIED"),
        ("8", 429, "RESOURCE_EXHAUSTED"),
        ("14", 503, "UNAVAILABLE"),
        ("16", 401, "UNAUTHENTICATED"),
    ] {
        assert_eq!(name_of(http), name);
        let (code, document) = failed(&[("grpc-status", number)]);
        assert_eq!((code, document.status.as_str()), (http, name));
    }
}

#[test]
fn the_message_is_percent_decoded_and_odd_escapes_stay() {
    for (sent, read) in [
        ("a%20b%C3%A9", "a bé"),
        ("100%", "100%"),
        ("%zz%4", "%zz%4"),
        ("%FF", "\u{FFFD}"),
    ] {
        let (_, document) = failed(&[("grpc-status", "3"), ("grpc-message", sent)]);
        assert_eq!(document.message, read, "{sent}");
    }
}

#[test]
fn details_padded_or_not_say_why_and_how_long() {
    let info = proto::ErrorInfo {
        reason: "R".to_owned(),
        metadata: [
            ("b".to_owned(), "2".to_owned()),
            ("a".to_owned(), "1".to_owned()),
        ]
        .into(),
    };
    let delay = |seconds, nanos| proto::RetryInfo {
        retry_delay: Some(proto::Duration { seconds, nanos }),
    };
    let status = proto::Status {
        code: 8,
        message: "in the details".into(),
        details: vec![
            any("Help", &info),
            any("ErrorInfo", &info),
            any("RetryInfo", &delay(-1, 0)),
            any("RetryInfo", &delay(1, 500_000_000)),
            any("RetryInfo", &delay(9, 0)),
        ],
    };
    let bytes = status.encode_to_vec();
    for text in [STANDARD.encode(&bytes), STANDARD_NO_PAD.encode(&bytes)] {
        let (_, document) = failed(&[("grpc-status", "8"), ("grpc-status-details-bin", &text)]);
        assert_eq!(document.message, "in the details");
        assert_eq!(document.retry_delay, Some(Duration::from_millis(1_500)));
        let metadata = [("a", "1"), ("b", "2")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        let info = ErrorInfo {
            reason: "R".to_owned(),
            metadata: metadata.to_vec(),
        };
        assert_eq!(document.infos, [info]);
    }
}

#[test]
fn a_pause_is_at_most_an_hour() {
    let pause = |seconds, nanos| pause(proto::Duration { seconds, nanos });
    assert_eq!(pause(i64::MAX, i32::MAX), Some(RETRY_AFTER_MAX));
    assert_eq!(pause(0, -1), None);
}

#[test]
fn details_that_cannot_be_read_change_nothing() {
    let plain = failed(&[("grpc-status", "3"), ("grpc-message", "no")]);
    for odd in ["", "!", "AAAA", "CAMatAE", "/////w", ","] {
        let odd = failed(&[
            ("grpc-status", "3"),
            ("grpc-message", "no"),
            ("grpc-status-details-bin", odd),
        ]);
        assert_eq!(odd, plain);
    }
}
