//! A request is sent once, whatever becomes of its connection.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_smol::core::failure::Class;
use pubsink_smol::core::reason::TransportKind;
use pubsink_smol::{HttpClient, Publisher, publisher};
use support::{TOPIC, options, publish, publishers, run, server, transport};

#[test]
fn a_connection_is_used_again() {
    let server = server();
    for publisher in publishers(&server) {
        let before = server.gauges().connections;
        for n in 0..20 {
            run(publish(&publisher, &n.to_string())).unwrap();
        }
        assert_eq!(server.gauges().connections - before, 1);
    }
}

#[test]
fn a_pooled_connection_that_dies_under_the_request_fails_it() {
    let server = server();
    for publisher in publishers(&server) {
        let stored = server.stored(TOPIC).len();
        run(publish(&publisher, "warms up")).unwrap();
        server.script([Rule::on(Match::first_byte_kept_alive())
            .times(1)
            .then(Action::reset())]);
        let failure = run(publish(&publisher, "cut")).unwrap_err();
        assert_eq!(failure.class, Class::Transient);
        assert_eq!(transport(&failure).0, TransportKind::Connection);
        assert_eq!(server.stored(TOPIC).len(), stored + 1);
        run(publish(&publisher, "again")).unwrap();
        assert_eq!(server.stored(TOPIC).len(), stored + 2);
    }
}

#[test]
fn a_request_that_was_stored_before_its_pooled_connection_died_is_not_stored_again() {
    let server = server();
    for publisher in publishers(&server) {
        run(publish(&publisher, "warms up")).unwrap();
        server.clear_log();
        server.script([Rule::on(Match::publish()).then(Action::reset().store())]);
        for n in 0..20 {
            let text = format!("stored {n}");
            let failure = run(publish(&publisher, &text)).unwrap_err();
            assert_eq!(transport(&failure).0, TransportKind::Connection);
            assert!(failure.may_have_been_stored);
            // A connection to be pooled for the next.
            server.script([]);
            run(publish(&publisher, "in between")).unwrap();
            server.script([Rule::on(Match::publish()).then(Action::reset().store())]);
        }
        assert_eq!(server.log().total(), 40);
        server.script([]);
    }
    let twice = |text: &str| copies(&server).get(text).copied();
    for n in 0..20 {
        assert_eq!(twice(&format!("stored {n}")), Some(2), "one of each client");
    }
}

fn copies(server: &Server) -> BTreeMap<String, usize> {
    let mut copies = BTreeMap::new();
    for stored in server.stored(TOPIC) {
        let text = String::from_utf8_lossy(&stored.message.data).into_owned();
        *copies.entry(text).or_default() += 1;
    }
    copies
}

#[test]
fn a_hundred_resets_before_reading_are_a_hundred_failures() {
    let server = server();
    for publisher in publishers(&server) {
        run(publish(&publisher, "warms up")).unwrap();
        let (stored, connections) = (server.stored(TOPIC).len(), server.gauges().connections);
        server.script([Rule::on(Match::first_byte())
            .times(100)
            .then(Action::reset())]);
        for n in 0..100 {
            let failure = run(publish(&publisher, &n.to_string())).unwrap_err();
            assert_eq!(transport(&failure).0, TransportKind::Connection);
        }
        assert_eq!(server.stored(TOPIC).len(), stored);
        run(publish(&publisher, "the end")).unwrap();
        assert_eq!(server.stored(TOPIC).len(), stored + 1);
        // The first reset was on the pooled one; none was for a second send of curl's own.
        assert_eq!(server.gauges().connections - connections, 100);
    }
}

/// curl looks whether a pooled connection is alive, but not twice within a second.
#[test]
fn a_connection_closed_while_idle_is_found_out() {
    let server = server();
    let publisher = publisher(options(&server)).spawn().unwrap();
    run(async {
        for text in ["one", "two", "three"] {
            publish(&publisher, text).await.unwrap();
            server.drop_connections();
            smol::Timer::after(Duration::from_millis(1_200)).await;
        }
    });
    assert_eq!(server.gauges().connections, 3);
}

#[test]
fn an_answer_that_closes_its_connection_costs_nothing() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::proceed().close_after_answer())]);
    let publisher = publisher(options(&server)).spawn().unwrap();
    for n in 0..5 {
        run(publish(&publisher, &n.to_string())).unwrap();
    }
    assert_eq!(server.gauges().connections, 5);
}

#[test]
fn a_connection_too_old_is_not_used_again() {
    let server = server();
    let connections = |idle: Duration, pause: Duration| {
        let before = server.gauges().connections;
        let client = HttpClient::builder().idle_timeout(idle).build();
        let publisher = publisher(options(&server))
            .transport(client)
            .spawn()
            .unwrap();
        run(async {
            publish(&publisher, "one").await.unwrap();
            smol::Timer::after(pause).await;
            publish(&publisher, "two").await.unwrap();
        });
        server.gauges().connections - before
    };
    assert_eq!(
        connections(Duration::from_secs(1), Duration::from_millis(2_100)),
        2
    );
    assert_eq!(connections(Duration::from_millis(900), Duration::ZERO), 2);
    assert_eq!(
        connections(Duration::from_secs(30), Duration::from_millis(100)),
        1
    );
}

#[test]
fn a_redirect_is_not_followed_and_nothing_asked_for_by_surprise() {
    let server = server();
    server.script([Rule::on(Match::publish()).times(1).then(Action::answer(
        307,
        &[("location", "/v1/projects/p/topics/other:publish")],
        "",
    ))]);
    let publisher: Publisher = publisher(options(&server)).spawn().unwrap();
    let failure = run(publish(&publisher, "x")).unwrap_err();
    assert_eq!(failure.reason.kind(), "status");
    let log = server.log();
    assert_eq!(log.total(), 1);
    let request = &log.requests()[0];
    for unwanted in ["expect", "accept-encoding", "cookie", "transfer-encoding"] {
        assert_eq!(request.header(unwanted), None);
    }
}

#[test]
fn the_environments_proxy_is_not_used() {
    let proxied = ["http_proxy", "all_proxy", "ALL_PROXY"].map(|name| (name, "127.0.0.1:1"));
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_connection_is_used_again"])
        .envs(proxied)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
}
