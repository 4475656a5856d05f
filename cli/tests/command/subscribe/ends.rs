//! How it ends: by signals, and where there is nothing to receive.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::super::support::{Running, Scratch, eventually, pubsink};
use super::{WIRES, acked, lines, numbered, send, subscribe, subscribe_at, subscribed};

/// Two of ten messages with commands that wait for a file to be there.
fn two_of_ten(server: &Server, scratch: &Scratch, wire: &str, limit_ms: &str) -> Running {
    send(server, numbered(10));
    let (started, go) = (scratch.path("started"), scratch.path("go"));
    let command = format!("echo $$ >> {started}; until [ -e {go} ]; do sleep 0.02; done");
    let run = subscribe(server, wire).arguments(&["--workers", "2", "--exec", &command]);
    let running = run.arguments(&["--shutdown-limit-ms", limit_ms]).start();
    eventually("two run", || lines(&started).len() == 2);
    running
}

/// The groups of the commands that were started are gone.
fn all_are_gone(scratch: &Scratch) {
    for id in lines(&scratch.path("started")) {
        let group = Pid::from_raw(-id.parse::<i32>().unwrap());
        eventually("it is ended", || kill(group, None) == Err(Errno::ESRCH));
    }
}

/// Each of so many was given back, and none is left to its lease. A pull that was under way may have
/// brought one once more.
fn all_given_back(server: &Server, count: usize) {
    assert!(server.log().nacked().len() >= count);
    let gauges = server.gauges();
    assert_eq!((gauges.leases, gauges.expired_leases), (0, 0));
}

#[test]
fn a_signal_lets_commands_end_and_gives_the_rest_back_at_once() {
    for (wire, signal) in WIRES.into_iter().zip([Signal::SIGTERM, Signal::SIGINT]) {
        let (server, scratch) = (subscribed(), Scratch::new());
        let running = two_of_ten(&server, &scratch, wire, "60000");
        running.signal(signal);
        running.said("pubsink: ending once what is in hand is settled");
        // While the two go on.
        eventually("eight are given back", || server.log().nacked().len() >= 8);
        assert_eq!(acked(&server), 0, "{wire}");
        fs::write(scratch.path("go"), "").unwrap();
        let done = running.wait().exits(0);
        assert_eq!(
            done.summary(),
            "pubsink: 2 received, 2 acked, 0 retried, 0 failed"
        );
        assert_eq!(acked(&server), 2, "{wire}");
        assert_eq!(server.gauges().expired_leases, 0, "{wire}");
    }
}

#[test]
fn what_does_not_end_in_time_is_killed_and_given_back() {
    for wire in WIRES {
        let (server, scratch) = (subscribed(), Scratch::new());
        let running = two_of_ten(&server, &scratch, wire, "200");
        running.signal(Signal::SIGTERM);
        let done = running.wait().exits(3);
        assert_eq!(
            done.summary(),
            "pubsink: 2 received, 0 acked, 0 retried, 2 failed"
        );
        all_are_gone(&scratch);
        all_given_back(&server, 10);
        assert_eq!(acked(&server), 0, "{wire}");
    }
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_no_command_behind() {
    let (server, scratch) = (subscribed(), Scratch::new());
    let running = two_of_ten(&server, &scratch, "grpc", "600000");
    running.signal(Signal::SIGTERM);
    running.said("pubsink: ending once what is in hand is settled");
    running.signal(Signal::SIGTERM);
    running.wait().exits(3);
    all_are_gone(&scratch);
    assert_eq!(acked(&server), 0);
}

#[test]
fn what_pubsub_has_not_confirmed_is_not_told_as_acked() {
    let server = subscribed();
    let away = Action::refuse(&Status::unavailable("Try again."));
    server.script([Rule::on(Match::verb("acknowledge")).always().then(away)]);
    send(&server, numbered(200));
    let run = subscribe(&server, "grpc").arguments(&["--shutdown-limit-ms", "500"]);
    let running = run.start();
    running.wrote_lines(200);
    running.logged("a call about leases failed");
    running.signal(Signal::SIGTERM);
    let done = running.wait().exits(3);
    assert_eq!(
        done.summary(),
        "pubsink: 200 received, 0 acked, 0 retried, 200 failed"
    );
}

#[test]
fn a_server_that_is_never_reached_is_told_without_being_asked_for() {
    let endpoint = {
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", nobody.local_addr().unwrap())
    };
    for wire in WIRES {
        let running = subscribe_at(&endpoint, wire).start();
        running.logged("no messages come; asking again");
        running.signal(Signal::SIGTERM);
        running.wait().exits(0);
    }
}

#[test]
fn what_is_held_for_a_retry_does_not_hold_up_the_end() {
    for wire in WIRES {
        let server = subscribed();
        send(&server, numbered(1));
        let run = subscribe(&server, wire).arguments(&["--exec", "exit 1"]);
        let running = run.arguments(&["--retry-base-ms", "600000"]).start();
        running.said("pubsink: message 1, attempt 1: ");
        running.signal(Signal::SIGTERM);
        let done = running.wait().exits(0);
        assert_eq!(
            done.summary(),
            "pubsink: 1 received, 0 acked, 1 retried, 0 failed"
        );
        all_given_back(&server, 1);
    }
}

#[test]
fn a_subscription_that_is_not_there_is_named() {
    for wire in WIRES {
        let server = super::server();
        let run = subscribe(&server, wire).arguments(&["--config-patience-ms", "100"]);
        let said = run.done().exits(2).stderr;
        let last = said.lines().last().unwrap();
        assert!(
            last.starts_with("pubsink: projects/p/subscriptions/all: "),
            "{said}"
        );
        assert!(last.contains("NOT_FOUND"), "{said}");
    }
}

#[test]
fn a_token_is_sent_and_one_that_is_refused_is_bad_configuration() {
    for wire in WIRES {
        let server = subscribed();
        server.require_token(Some("T1"));
        send(&server, numbered(1));
        let run = |token: &str| {
            let run = subscribe(&server, wire).env("PUBSINK_TEST_TOKEN", token);
            let run = run.arguments(&["--config-patience-ms", "100", "--count", "1"]);
            run.arguments(&["--token-env", "PUBSINK_TEST_TOKEN"]).done()
        };
        let refused = run("T-wrong").exits(2);
        assert!(!refused.stderr.contains("T-wrong"), "{}", refused.stderr);
        assert!(run("T1").exits(0).stdout.contains("\"m1\""), "{wire}");
    }
}

#[test]
fn the_emulator_of_the_variable_is_used_and_gets_no_token() {
    let server = subscribed();
    send(&server, numbered(1));
    let arguments = ["subscribe", "--project", "p", "--subscription", "all"];
    let run = pubsink(&arguments).arguments(&["--count", "1", "--token-env", "PUBSINK_TEST_TOKEN"]);
    let run = run
        .env("PUBSINK_TEST_TOKEN", "T1")
        .env("PUBSUB_EMULATOR_HOST", server.addr().to_string());
    let done = run.done().exits(0);
    assert!(
        done.stderr.contains("no token is sent to the emulator"),
        "{}",
        done.stderr
    );
    for request in server.log().requests() {
        assert_eq!(request.header("authorization"), None);
    }
}

#[test]
fn what_cannot_be_is_said_of_its_flag() {
    for (arguments, expected) in [
        (
            ["--subscription", "-"],
            "--subscription is \"-\"; it must be ",
        ),
        (["--project", ""], "--project is \"\"; it must be "),
        (
            ["--endpoint", "ftp://h"],
            "--endpoint is \"ftp://h\"; it must be ",
        ),
    ] {
        let given = [
            "--project",
            "p",
            "--subscription",
            "all",
            "--endpoint",
            "http://h",
        ];
        let given = given.chunks(2).filter(|pair| pair[0] != arguments[0]);
        let run = pubsink(&["subscribe"]).arguments(&given.flatten().copied().collect::<Vec<_>>());
        let said = run.arguments(&arguments).done().exits(2).stderr;
        assert!(said.starts_with(&format!("pubsink: {expected}")), "{said}");
    }
    for arguments in [
        ["--count", "0"],
        ["--workers", "0"],
        ["--workers", "1025"],
        ["--max-outstanding", "0"],
        ["--max-delivery-attempts", "4"],
        ["--max-delivery-attempts", "101"],
        // Of replies, which there are none.
        ["--trace-context", "--print"],
    ] {
        let run = subscribe_at("http://h", "grpc").arguments(&arguments);
        run.done().exits(2);
    }
}
