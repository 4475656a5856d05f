//! The times and sizes of a reply.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod support;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_smol::core::reason::{Reason, TransportKind};
use pubsink_smol::seam::{SendLimits, Transport as _, TransportError};
use pubsink_smol::{HttpClient, publisher};
use support::{
    TOPIC, options, options_within, publish, publishers, run, server, transport, wait_until,
};

const SHORT: Duration = Duration::from_millis(300);

#[test]
fn nobody_listens() {
    let server = server();
    server.refuse_connections(true).unwrap();
    for publisher in publishers(&server) {
        let failure = run(publish(&publisher, "x")).unwrap_err();
        assert_eq!(transport(&failure).0, TransportKind::Connect);
        assert!(!failure.may_have_been_stored);
    }
}

#[test]
fn a_name_that_does_not_exist() {
    let options = options_within("http://nowhere.invalid", Duration::from_secs(20));
    let failure = run(publish(&publisher(options).spawn().unwrap(), "x")).unwrap_err();
    assert_eq!(transport(&failure).0, TransportKind::Connect);
}

/// A TLS server that never says a word: there is a socket, but no connection to send on.
#[test]
fn a_connection_that_does_not_come_about_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", listener.local_addr().unwrap());
    let publisher = publisher(options_within(&endpoint, SHORT)).spawn().unwrap();
    let failure = run(publish(&publisher, "x")).unwrap_err();
    assert_eq!(transport(&failure).0, TransportKind::Connect);
    assert!(!failure.may_have_been_stored);
}

#[test]
fn a_server_that_speaks_no_tls() {
    let server = server();
    let endpoint = server.endpoint().replace("http:", "https:");
    let publisher = publisher(options_within(&endpoint, Duration::from_secs(5)))
        .spawn()
        .unwrap();
    let failure = run(publish(&publisher, "x")).unwrap_err();
    assert_eq!(transport(&failure).0, TransportKind::Connect);
}

#[test]
fn a_reply_that_does_not_come_and_the_next_one_that_does() {
    for http2 in [false, true] {
        let server = server();
        server.script([Rule::on(Match::publish())
            .nth(2)
            .then(Action::never_answer())]);
        let publisher = publisher(options_within(&server.endpoint(), SHORT))
            .transport(HttpClient::builder().http2(http2).build())
            .spawn()
            .unwrap();
        run(publish(&publisher, "one")).unwrap();
        let failure = run(publish(&publisher, "two")).unwrap_err();
        let (kind, detail) = transport(&failure);
        assert_eq!(kind, TransportKind::Timeout);
        assert_eq!(detail, "no reply within 300 ms");
        assert!(failure.may_have_been_stored);
        run(publish(&publisher, "three")).unwrap();
        assert_eq!(server.gauges().connections, 2);
        // What was given up is not held for ever.
        run(wait_until("hung up", || server.gauges().in_flight == 0));
    }
}

#[test]
fn an_answer_that_is_late_is_not_taken_for_another() {
    let server = server();
    server.script([Rule::on(Match::publish())
        .times(1)
        .then(Action::proceed().answer_delay(SHORT + SHORT / 2))]);
    let publisher = publisher(options_within(&server.endpoint(), SHORT))
        .spawn()
        .unwrap();
    run(publish(&publisher, "one")).unwrap_err();
    let ids = run(async {
        let second = publish(&publisher, "two").await.unwrap();
        smol::Timer::after(SHORT).await;
        (second, publish(&publisher, "three").await.unwrap())
    });
    assert_ne!(ids.0, ids.1);
    assert_eq!(server.stored(TOPIC).len(), 3);
    assert_eq!(server.gauges().connections, 2);
}

#[test]
fn a_body_is_read_as_far_as_the_limit() {
    let server = server();
    for status in [200, 503] {
        server.script([Rule::on(Match::any()).then(Action::endless_body(status))]);
        for publisher in publishers(&server) {
            let failure = run(publish(&publisher, "x")).unwrap_err();
            let kind = failure.reason.kind();
            assert_eq!(
                kind,
                if status == 200 {
                    "unexpected_reply"
                } else {
                    "status"
                }
            );
        }
        let client = HttpClient::new();
        let mut limits = SendLimits::new(Duration::from_secs(5));
        limits.body_max = 100_000;
        let response = run(client.send(request(&server.endpoint()), limits)).unwrap();
        assert_eq!(
            (response.status().as_u16(), response.body().len()),
            (status, 100_000)
        );
    }
    run(wait_until("hung up", || server.gauges().in_flight == 0));
}

#[test]
fn a_body_that_breaks_off() {
    let server = server();
    let cut = |status| Action::cut_short(status, &[], "half of it", 1_000);
    server.script([
        Rule::on(Match::publish()).times(1).then(cut(503)),
        Rule::on(Match::publish()).times(1).then(cut(200)),
    ]);
    let publisher = publisher(options(&server)).spawn().unwrap();
    let failure = run(publish(&publisher, "x")).unwrap_err();
    let Reason::Status { http: 503, body } = &*failure.reason else {
        panic!("{failure:?}")
    };
    assert_eq!(body.as_str(), "half of it");
    let failure = run(publish(&publisher, "x")).unwrap_err();
    assert_eq!(transport(&failure).0, TransportKind::Connection);
}

#[test]
fn the_limits_add_up() {
    let server = server();
    server.script([Rule::on(Match::any()).then(Action::never_answer())]);
    let client = HttpClient::new();
    let started = Instant::now();
    let sent = client.send(request(&server.endpoint()), SendLimits::new(SHORT));
    let error: TransportError = run(sent).unwrap_err();
    assert_eq!(error.kind, TransportKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(3));
}

fn request(endpoint: &str) -> Request<Bytes> {
    Request::post(format!("{endpoint}/v1/{TOPIC}:publish"))
        .body("{}".into())
        .unwrap()
}
