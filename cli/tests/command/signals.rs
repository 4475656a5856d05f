//! SIGINT and SIGTERM: what was taken on gets its outcome, the rest is named.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::support::{Done, TOPIC, eventually, hooks, ids, publish, server, stored_ids};

/// The first line that was said not to be sent, and how many had an outcome.
fn account(done: &Done) -> (usize, usize) {
    let (_, rest) = done.stderr.split_once("interrupted; line ").unwrap();
    let (line, rest) = rest.split_once(' ').unwrap();
    assert!(
        rest.starts_with("and all after it were not sent"),
        "{}",
        done.stderr
    );
    (line.parse().unwrap(), done.outcomes().len())
}

fn delivered(done: &Done) -> usize {
    done.outcomes()
        .iter()
        .filter(|outcome| outcome["outcome"] == "delivered")
        .count()
}

#[test]
fn what_is_pending_at_a_signal_is_still_stored() {
    for (signal, open) in [
        (Signal::SIGTERM, true),
        (Signal::SIGTERM, false),
        (Signal::SIGINT, true),
    ] {
        let server = server();
        let slow = Action::proceed().delay(Duration::from_millis(500));
        server.script([Rule::on(Match::publish()).then(slow)]);
        let mut running = publish(&server, hooks(100)).start();
        if !open {
            running.close_input();
        }
        // On a slow machine it may be more than one request.
        eventually("all of it is there", || {
            let log = server.log();
            let sent = log.publishes().into_iter().map(|one| one.messages.len());
            sent.sum::<usize>() == 100
        });
        assert_eq!(server.stored(TOPIC).len(), 0);
        running.signal(signal);
        let signalled = Instant::now();
        let done = running.wait().exits(3);
        assert!(
            signalled.elapsed() < Duration::from_secs(6),
            "{:?}",
            signalled.elapsed()
        );
        assert_eq!((stored_ids(&server), delivered(&done)), (ids(100), 100));
        let words = if open {
            "line 101 and all after it were not sent"
        } else {
            "all lines were read"
        };
        assert!(
            done.stderr.contains(&format!("interrupted; {words}")),
            "{}",
            done.stderr
        );
    }
}

#[test]
fn a_signal_while_the_server_is_down_ends_within_the_limit_and_names_what_was_not_sent() {
    let server = server();
    server.refuse_connections(true).unwrap();
    let run = publish(&server, hooks(5_000));
    let running = run
        .arguments(&["--shutdown-limit-ms", "1000", "--max-attempts", "1000"])
        .start();
    std::thread::sleep(Duration::from_millis(700));
    running.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    let done = running.wait().exits(3);
    assert!(
        signalled.elapsed() < Duration::from_secs(5),
        "{:?}",
        signalled.elapsed()
    );
    let (first_unsent, with_outcome) = account(&done);
    assert_eq!((first_unsent, delivered(&done)), (with_outcome + 1, 0));
    // A tenant's share of the queue.
    assert_eq!(with_outcome, 1_024);
    assert_eq!(done.summary(), "pubsink: 0 delivered, 1024 failed");
}

#[test]
fn a_signal_while_the_server_never_answers_ends_within_the_limit_even_with_a_full_queue() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let run = publish(&server, hooks(20)).arguments(&[
        "--batch-queue-max",
        "10",
        "--timeout-ms",
        "60000",
    ]);
    let running = run.arguments(&["--shutdown-limit-ms", "300"]).start();
    eventually("a request is there", || {
        !server.log().publishes().is_empty()
    });
    running.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    let done = running.wait().exits(3);
    assert!(
        signalled.elapsed() < Duration::from_secs(10),
        "{:?}",
        signalled.elapsed()
    );
    assert_eq!(account(&done), (11, 10));
    let outcomes = done.outcomes();
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome["may_have_been_stored"] == true),
        "they were sent"
    );
}

#[test]
fn nothing_that_was_accepted_is_lost_whenever_the_signal_comes() {
    for pause in [0, 40, 150] {
        let server = server();
        let slow = Action::proceed().answer_delay(Duration::from_millis(30));
        server.script([Rule::on(Match::publish()).then(slow)]);
        let run = publish(&server, hooks(9_000)).arguments(&["--batch-max-entries", "50"]);
        let running = run.start();
        eventually("something is stored", || !server.stored(TOPIC).is_empty());
        std::thread::sleep(Duration::from_millis(pause));
        running.signal(Signal::SIGTERM);
        let done = running.wait().exits(3);
        let (first_unsent, with_outcome) = account(&done);
        assert_eq!(with_outcome, first_unsent - 1);
        assert_eq!(stored_ids(&server), ids(delivered(&done)));
        let lines: Vec<_> = done
            .outcomes()
            .iter()
            .map(|one| one["line"].as_u64().unwrap())
            .collect();
        assert_eq!(lines, (1..first_unsent as u64).collect::<Vec<_>>());
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let run = publish(&server, hooks(10)).arguments(&["--timeout-ms", "60000"]);
    let running = run.arguments(&["--shutdown-limit-ms", "60000"]).start();
    eventually("the request is there", || {
        server.log().publishes().len() == 1
    });
    running.signal(Signal::SIGTERM);
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    let done = running.wait().exits(3);
    assert!(
        signalled.elapsed() < Duration::from_secs(5),
        "{:?}",
        signalled.elapsed()
    );
    assert!(
        done.stderr
            .contains("interrupted; line 11 and all after it"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_signal_ends_a_wait_for_input() {
    let server = server();
    let running = publish(&server, hooks(3)).start();
    eventually("all is stored", || server.stored(TOPIC).len() == 3);
    running.signal(Signal::SIGTERM);
    let done = running.wait().exits(3);
    assert_eq!((account(&done), delivered(&done)), ((4, 3), 3));
}

#[test]
fn a_signal_ends_the_pause_before_another_attempt() {
    let server = server();
    let later = Action::answer(503, &[("retry-after", "3600")], "busy");
    server.script([Rule::on(Match::publish()).then(later)]);
    let mut running = publish(&server, hooks(2)).start();
    running.close_input();
    eventually("it was answered", || {
        server
            .log()
            .publishes()
            .iter()
            .any(|request| request.status.is_some())
    });
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGTERM);
    let outcomes = running.wait().exits(3).outcomes();
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome["attempts"] == 1 && outcome["class"] == "throttled")
    );
    assert_eq!(outcomes.len(), 2);
}
