//! How a run by way of a journal ends: at its own end, by a signal, or with nobody to read.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::journal::{count, journaled};
use super::support::{Scratch, TOPIC, end_of, eventually, hooks, ids, server, stored_ids};

#[test]
fn a_topic_that_is_away_is_waited_for() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    server.refuse_connections(true).unwrap();
    let limit = ["--shutdown-limit-ms", "500"];
    let mut running = journaled(&server, &dir, hooks(50))
        .arguments(&limit)
        .start();
    running.close_input();
    std::thread::sleep(Duration::from_millis(1_500));
    running.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    let done = running.wait().exits(3);
    assert!(signalled.elapsed() < Duration::from_secs(5));
    assert_eq!(done.stdout, "", "no line is given up");
    assert!(
        done.stderr.contains(&format!(
            "pubsink: {TOPIC} keeps failing; it is left alone for 30 s: "
        )),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.ends_with(
            "pubsink: 50 hooks stay in the journal; a run with it goes on with them\n\
             pubsink: 0 delivered, 0 failed\n"
        ),
        "{}",
        done.stderr
    );
    server.refuse_connections(false).unwrap();
    let done = journaled(&server, &dir, hooks(50)).done().exits(0);
    assert_eq!(done.outcomes().len(), 50);
    assert_eq!(stored_ids(&server), ids(50));
    // Without the input, too.
    journaled(&server, &dir, "").done().exits(0);
}

#[test]
fn what_is_left_is_delivered_without_its_input() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let limit = ["--shutdown-limit-ms", "100"];
    let running = journaled(&server, &dir, hooks(5)).arguments(&limit).start();
    eventually("all are on their way", || sent(&server) == 5);
    running.signal(Signal::SIGTERM);
    running.wait().exits(3);
    server.script([]);
    let outcomes = journaled(&server, &dir, "").done().exits(0).outcomes();
    assert_eq!(count(&outcomes, "delivered", false), 5);
    // An attempt of it was given up, which may have arrived.
    assert!(outcomes.iter().all(|one| one["may_be_twice"] == true));
    assert_eq!(stored_ids(&server), ids(5));
}

#[test]
fn a_second_signal_ends_at_once() {
    let (server, scratch) = (server(), Scratch::new());
    server.script([Rule::on(Match::publish()).then(Action::never_answer())]);
    let slow = ["--timeout-ms", "60000", "--shutdown-limit-ms", "60000"];
    let run = journaled(&server, &scratch.path("j"), hooks(10)).arguments(&slow);
    let running = run.start();
    eventually("a request is there", || {
        !server.log().publishes().is_empty()
    });
    running.signal(Signal::SIGTERM);
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    running.wait().exits(3);
    assert!(signalled.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_is_pending_at_a_signal_is_still_stored() {
    let (server, scratch) = (server(), Scratch::new());
    let slow = Action::proceed().delay(Duration::from_millis(500));
    server.script([Rule::on(Match::publish()).then(slow)]);
    let running = journaled(&server, &scratch.path("j"), hooks(100)).start();
    eventually("all are on their way", || sent(&server) == 100);
    running.signal(Signal::SIGTERM);
    let done = running.wait().exits(3);
    assert!(
        done.stderr
            .contains("interrupted; line 101 and all after it were not sent")
    );
    assert_eq!(
        (done.outcomes().len(), stored_ids(&server)),
        (100, ids(100))
    );
}

#[test]
fn the_run_ends_when_the_last_answer_is_there() {
    let (server, scratch) = (server(), Scratch::new());
    let started = Instant::now();
    let run = journaled(&server, &scratch.path("a"), hooks(16).trim_end());
    let run = run.arguments(&["--batch-linger-ms", "60000"]);
    assert_eq!(run.done().exits(0).outcomes().len(), 16);
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "it waited for the linger"
    );
    let none = journaled(&server, &scratch.path("b"), "").done().exits(0);
    assert_eq!((none.stdout.as_str(), server.stored(TOPIC).len()), ("", 16));
}

#[test]
fn outcomes_nobody_reads_on_stop_no_hook() {
    let (server, scratch) = (server(), Scratch::new());
    let input = scratch.file("hooks.ndjson", hooks(5_000));
    let run = journaled(&server, &scratch.path("j"), "").arguments(&["--input", &input]);
    let mut command = run.into_command();
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(64, child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(1), "{stderr}");
    assert!(
        stderr.ends_with("pubsink: 5000 delivered, 0 failed\n"),
        "{stderr}"
    );
    assert_eq!(stored_ids(&server), ids(5_000));
}

#[test]
fn an_interrupt_gives_up_outcomes_that_nobody_reads() {
    let (server, scratch) = (server(), Scratch::new());
    let input = scratch.file("hooks.ndjson", hooks(40_000));
    let (reader, writer) = std::io::pipe().unwrap();
    let run = journaled(&server, &scratch.path("j"), "").arguments(&["--input", &input]);
    let mut command = run
        .arguments(&["--shutdown-limit-ms", "500"])
        .into_command();
    let mut child = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stored = 0;
    eventually("no more is stored", || {
        let before = std::mem::replace(&mut stored, server.stored(TOPIC).len());
        std::thread::sleep(Duration::from_millis(700));
        stored >= 3_000 && stored == before
    });
    assert!(
        stored < 40_000,
        "rows are claimed no faster than outcomes are read"
    );
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(id, Signal::SIGTERM).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(3));
    drop(reader);
}

/// How many messages there are in all requests.
fn sent(server: &Server) -> usize {
    let log = server.log();
    let publishes = log.publishes();
    publishes.iter().map(|one| one.messages.len()).sum()
}
