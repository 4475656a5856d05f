//! Readers that go away or do not read.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use pubsink_fixtures::hooks::sample_ndjson;

use super::support::{
    Scratch, end_of, hooks, ids, publish, publish_to, pubsink, server, stored_ids,
};

#[test]
fn outcomes_nobody_reads_on_stop_no_hook_and_are_told() {
    let (server, scratch) = (server(), Scratch::new());
    let input = scratch.file("hooks.ndjson", hooks(5_000));
    let run = publish(&server, "").arguments(&["--input", &input]);
    let mut child = run
        .into_command()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    // As `| head -1` does.
    BufReader::with_capacity(64, child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(1), "{stderr}");
    assert!(first.contains("\"outcome\":\"delivered\""), "{first}");
    assert!(
        stderr.contains("outcomes can no longer be written: "),
        "{stderr}"
    );
    assert!(
        stderr.ends_with("pubsink: 5000 delivered, 0 failed\n"),
        "{stderr}"
    );
    assert_eq!(stored_ids(&server), ids(5_000));
}

#[test]
fn every_command_goes_on_where_nobody_listens() {
    let server = server();
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let scratch = Scratch::new();
    let input = scratch.file("hooks.ndjson", format!("no hook\n{}", sample_ndjson()));
    let run = publish_to(&server.endpoint(), "").arguments(&["--input", &input]);
    let mut publishing = run.into_command().stderr(closed()).spawn().unwrap();
    assert_eq!(
        end_of(&mut publishing).code(),
        Some(1),
        "for the line that is no hook"
    );
    assert_eq!(stored_ids(&server).len(), sample_ndjson().lines().count());
    let mut demo = pubsink(&["demo"])
        .into_command()
        .stdout(closed())
        .stderr(closed())
        .spawn()
        .unwrap();
    assert_eq!(end_of(&mut demo).code(), Some(0));
    let mut help = pubsink(&["--help"])
        .into_command()
        .stdout(closed())
        .spawn()
        .unwrap();
    assert_eq!(end_of(&mut help).code(), Some(0));
}

#[test]
fn a_reader_that_pauses_makes_no_request_time_out() {
    let (server, scratch) = (server(), Scratch::new());
    let input = scratch.file("hooks.ndjson", hooks(5_000));
    let slow = pubsink_fixtures::faults::Action::proceed().answer_delay(Duration::from_millis(50));
    let every = pubsink_fixtures::faults::Match::publish();
    server.script([pubsink_fixtures::faults::Rule::on(every).then(slow)]);
    let run = publish(&server, "").arguments(&[
        "--input",
        &input,
        "--timeout-ms",
        "2000",
        "--batch-max-entries",
        "100",
    ]);
    let mut child = run
        .into_command()
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(5));
    let lines = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(0));
    assert_eq!(lines.lines().count(), 5_000);
    assert!(!lines.contains("may_be_twice"), "a request timed out");
    assert_eq!(stored_ids(&server), ids(5_000));
}

#[test]
fn standard_output_that_is_closed_is_told_before_anything_is_sent() {
    let server = server();
    let run = publish(&server, hooks(1)).by_shell("exec \"$@\" >&-");
    let said = run.done().exits(2).stderr;
    assert!(
        said.contains("cannot write --outcomes -: standard output is closed"),
        "{said}"
    );
    assert_eq!(server.log().total(), 0);
    let run = publish(&server, hooks(1)).by_shell("exec \"$@\" > /dev/null");
    run.done().exits(0);
}

#[test]
fn a_demo_that_cannot_be_shown_is_a_failure() {
    if File::options().write(true).open("/dev/full").is_err() {
        return eprintln!("NOT RUN: there is no /dev/full");
    }
    let run = pubsink(&["demo"]).by_shell("exec \"$@\" > /dev/full");
    let said = run.done().exits(1).stderr;
    assert!(said.contains("pubsink: cannot show what "), "{said}");
}

#[test]
fn a_full_disk_is_told_and_stops_no_hook() {
    if File::options().write(true).open("/dev/full").is_err() {
        return eprintln!("NOT RUN: there is no /dev/full");
    }
    let server = server();
    let run = publish_to(&server.endpoint(), format!("{}no hook\n", hooks(3)));
    let run = run.arguments(&["--outcomes", "/dev/full", "--dead-letters", "/dev/full"]);
    let done = run.done().exits(1);
    assert!(
        done.stderr.contains("outcomes can no longer be written"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains("line 4 could not be kept as a dead letter"),
        "{}",
        done.stderr
    );
    assert_eq!(stored_ids(&server), ids(3));
}
