//! Readers that stop to read: hooks go on, and an interrupt's limit is kept.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::support::{
    Scratch, TOPIC, end_of, eventually, hooks, ids, publish, publish_to, server, stored_ids,
};

const LIMIT: [&str; 2] = ["--shutdown-limit-ms", "500"];

fn interrupt(child: &Child) -> Instant {
    let id = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(id, Signal::SIGTERM).unwrap();
    Instant::now()
}

/// Waits until no more is stored, and says how much is.
fn stalled(server: &Server) -> usize {
    let mut stored = 0;
    eventually("no more is stored", || {
        let before = std::mem::replace(&mut stored, server.stored(TOPIC).len());
        std::thread::sleep(Duration::from_millis(700));
        stored >= 3_000 && stored == before
    });
    stored
}

/// Publishes `count` hooks into a pipe that nobody reads; the child and the end to read.
fn unread(
    server: &Server,
    scratch: &Scratch,
    count: usize,
    arguments: &[&str],
) -> (Child, PipeReader) {
    let input = scratch.file("hooks.ndjson", hooks(count));
    let (reader, writer) = std::io::pipe().unwrap();
    let run = publish(server, "").arguments(&["--input", &input]);
    let mut command = run.arguments(&LIMIT).arguments(arguments).into_command();
    let child = command
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    (child, reader)
}

#[test]
fn an_interrupt_gives_up_outcomes_that_nobody_reads() {
    // All settled before; and more than outcomes have room for.
    for (count, words) in [
        (3_000, "interrupted; all hooks are settled"),
        (40_000, "interrupted; line "),
    ] {
        let (server, scratch) = (server(), Scratch::new());
        let (mut child, reader) = unread(&server, &scratch, count, &[]);
        let stored = stalled(&server);
        assert_eq!(stored == count, count == 3_000, "outcomes are bounded");
        let signalled = interrupt(&child);
        assert_eq!(end_of(&mut child).code(), Some(3));
        assert!(
            signalled.elapsed() < Duration::from_secs(5),
            "{:?}",
            signalled.elapsed()
        );
        let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert!(stderr.contains(words), "{stderr}");
        assert!(
            stderr.contains("the last outcomes are given up: nobody reads them"),
            "{stderr}"
        );
        assert!(
            stderr.ends_with(&format!("pubsink: {stored} delivered, 0 failed\n")),
            "{stderr}"
        );
        drop(reader);
    }
}

#[test]
fn without_an_interrupt_the_reader_may_take_as_long_as_it_does() {
    let (server, scratch) = (server(), Scratch::new());
    let (mut child, mut reader) = unread(&server, &scratch, 3_000, &[]);
    eventually("all is stored", || stored_ids(&server) == ids(3_000));
    std::thread::sleep(Duration::from_secs(4));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(0));
    assert_eq!(super::support::outcomes(&text).len(), 3_000);
}

#[test]
fn hooks_are_tried_again_while_nobody_reads() {
    let (server, scratch) = (server(), Scratch::new());
    let first = |server: &Server| {
        let is = |id: &String| id == "h0001";
        stored_ids(server).iter().any(is)
    };
    let busy = Match::publish().messages(|messages| {
        messages
            .iter()
            .any(|message| message.attributes["ankusa_id"] == "h0001")
    });
    server.script([Rule::on(busy).then(Action::status(503, "busy"))]);
    let arguments = ["--max-attempts", "1000", "--batch-max-entries", "50"];
    let (mut child, reader) = unread(&server, &scratch, 40_000, &arguments);
    assert!(stalled(&server) < 40_000 && !first(&server));
    server.script([]);
    eventually("the hook that failed is stored", || first(&server));
    assert!(server.stored(TOPIC).len() < 40_000);
    drop(reader);
    assert_eq!(end_of(&mut child).code(), Some(1));
    assert_eq!(server.stored(TOPIC).len(), 40_000);
}

/// A pipe that takes nothing more.
fn full() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // What a pipe holds on Linux.
    writer.write_all(&[b'x'; 65_536]).unwrap();
    (reader, writer)
}

#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_ends_a_run_whose_standard_error_nobody_reads() {
    let server = server();
    let (reader, writer) = full();
    let run = publish_to(&server.endpoint(), "").arguments(&LIMIT);
    let mut command = run.into_command();
    let command = command.stdin(Stdio::piped()).stderr(writer);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"no hook\n").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let signalled = interrupt(&child);
    assert_eq!(end_of(&mut child).code(), Some(3));
    assert!(
        signalled.elapsed() < Duration::from_secs(15),
        "{:?}",
        signalled.elapsed()
    );
    drop(reader);
}
