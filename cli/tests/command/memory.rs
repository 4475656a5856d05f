//! Memory in an outage: what is read is bounded, so the producer waits.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::support::{Scratch, TOPIC, end_of, publish_to, server};

/// A figure of a process in MiB.
fn mib(process: u32, figure: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kb| kb / 1024)
}

/// Pushes lines as fast as they are taken while connections are refused, and watches how many bytes
/// are; returns them, and the peak of memory in MiB.
fn outage(line: Vec<u8>, arguments: &[&str], watch: fn(&AtomicU64) -> u64) -> Option<(u64, u64)> {
    mib(std::process::id(), "VmHWM")?;
    let server = server();
    server.refuse_connections(true).unwrap();
    let run = publish_to(&server.endpoint(), "").arguments(arguments);
    let run = run.arguments(&["--max-attempts", "1000", "--shutdown-limit-ms", "500"]);
    let mut command = run.into_command();
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let producer = thread::spawn(move || {
        while stdin.write_all(&line).is_ok() {
            count.fetch_add(line.len() as u64, Ordering::Relaxed);
        }
    });
    let taken = watch(&taken);
    let peak = mib(child.id(), "VmHWM").unwrap();
    kill(
        Pid::from_raw(i32::try_from(child.id()).unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(end_of(&mut child).code(), Some(3));
    producer.join().unwrap();
    Some((taken, peak))
}

/// For two seconds.
fn for_a_while(taken: &AtomicU64) -> u64 {
    thread::sleep(Duration::from_secs(2));
    taken.load(Ordering::Relaxed)
}

/// For two seconds, and on until hardly any more is taken within one.
fn until_held_up(taken: &AtomicU64) -> u64 {
    let mut before = for_a_while(taken);
    for _ in 0..20 {
        thread::sleep(Duration::from_secs(1));
        let now = taken.load(Ordering::Relaxed);
        if now - before <= 2_000_000 {
            return now;
        }
        before = now;
    }
    panic!("the producer was let go on: {before} bytes");
}

#[test]
fn what_is_held_and_not_sent_counts_too() {
    let mark = |key: &str| {
        let long = "x".repeat(1_000_000);
        format!("{{\"{key}\":\"{long}\",\"body\":\"b\"}}\n").into_bytes()
    };
    for key in ["path", "method"] {
        let bounded = ["--batch-queue-bytes", "10000000"];
        let Some((_, peak)) = outage(mark(key), &bounded, until_held_up) else {
            return eprintln!("NOT RUN: there is no /proc");
        };
        assert!(peak <= 80, "{key}: {peak} MiB");
    }
}

fn hook(body: usize) -> Vec<u8> {
    format!("{{\"body\":\"{}\"}}\n", "x".repeat(body)).into_bytes()
}

#[test]
fn memory_is_flat_while_connections_are_refused() {
    for (body, arguments, most) in [
        (1_000, &["--batch-queue-bytes", "10000000"][..], 40),
        (1, &[][..], 40),
        (
            1_000_000,
            &[
                "--batch-queue-bytes",
                "10000000",
                "--inline-max-bytes",
                "2000000",
            ][..],
            80,
        ),
    ] {
        let Some((_, peak)) = outage(hook(body), arguments, until_held_up) else {
            return eprintln!("NOT RUN: there is no /proc");
        };
        assert!(peak <= most, "bodies of {body}: {peak} MiB, over {most}");
    }
}

#[test]
fn hooks_that_are_refused_at_once_do_not_pile_up() {
    // Each needs a claim that nobody gave; only their outcomes are left.
    let bounded = ["--batch-queue-bytes", "10000000"];
    let Some((_, peak)) = outage(hook(1_000_000), &bounded, for_a_while) else {
        return eprintln!("NOT RUN: there is no /proc");
    };
    assert!(peak <= 80, "{peak} MiB");
}

/// The peak of memory in MiB over so many hooks by way of a journal.
fn journaled(hooks: usize) -> Option<u64> {
    mib(std::process::id(), "VmHWM")?;
    let (server, scratch) = (server(), Scratch::new());
    server.broker(|broker| broker.keep_published(false));
    let line = |n: usize| format!("{{\"id\":\"h{n}\",\"body\":\"{}\"}}\n", "x".repeat(100));
    let input = scratch.file("hooks.ndjson", (0..hooks).map(line).collect::<String>());
    let run = publish_to(&server.endpoint(), "");
    let run = run.arguments(&["--input", &input, "--journal", &scratch.path("j")]);
    let mut command = run.into_command();
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let code = loop {
        peak = mib(child.id(), "VmHWM").unwrap_or(peak).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!((code, server.stored(TOPIC).len()), (Some(0), 0));
    Some(peak)
}

#[test]
fn what_a_journal_holds_is_on_the_disk() {
    let (Some(few), Some(many)) = (journaled(20_000), journaled(80_000)) else {
        return eprintln!("NOT RUN: there is no /proc");
    };
    // The cache of pages is 32 MiB.
    assert!(many <= few + 40 && many <= 120, "{few} and {many} MiB");
}

#[test]
fn an_outage_fills_a_journal_and_not_the_memory() {
    let scratch = Scratch::new();
    let journal = ["--journal", &scratch.path("j")];
    let Some((taken, peak)) = outage(hook(1_000), &journal, for_a_while) else {
        return;
    };
    assert!(peak <= 120, "{peak} MiB for {taken} bytes");
}
