//! The emulator: a Pub/Sub to try things on.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::support::{end_of, hooks, pubsink};

struct Emulator {
    child: Child,
    host: String,
}

impl Emulator {
    fn start(arguments: &[&str]) -> Self {
        let mut command = pubsink(&["emulator"]).arguments(arguments).into_command();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut host = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut host)
            .unwrap();
        Self {
            child,
            host: host.trim_end().to_owned(),
        }
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        kill(
            Pid::from_raw(i32::try_from(self.child.id()).unwrap()),
            signal,
        )
        .unwrap();
        end_of(&mut self.child).code()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_prints_its_address_and_is_published_to() {
    let emulator = Emulator::start(&[
        "--topic",
        "hooks:all",
        "--topic",
        "projects/example.com:q/topics/other:sub",
        "--topic",
        "hooks:more",
        "--topic",
        "hooks",
    ]);
    let (host, port) = emulator.host.rsplit_once(':').unwrap();
    assert_eq!(host, "127.0.0.1");
    assert_ne!(port.parse::<u16>().unwrap(), 0);
    for (project, topic) in [("local", "hooks"), ("example.com:q", "other")] {
        let run = pubsink(&["publish", "--project", project, "--topic", topic]);
        let done = run
            .env("PUBSUB_EMULATOR_HOST", &emulator.host)
            .input(hooks(3))
            .done()
            .exits(0);
        assert_eq!(done.summary(), "pubsink: 3 delivered, 0 failed");
    }
    let run = pubsink(&["publish", "--project", "local", "--topic", "unknown"]);
    run.env("PUBSUB_EMULATOR_HOST", &emulator.host)
        .input(hooks(1))
        .done()
        .exits(1);
    assert_eq!(emulator.end(Signal::SIGTERM), Some(0));
}

#[test]
fn an_interrupt_ends_it_too() {
    assert_eq!(Emulator::start(&[]).end(Signal::SIGINT), Some(0));
}

#[test]
fn it_listens_where_it_was_told_to() {
    let free = || {
        TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port()
    };
    // A port that was free may be taken meanwhile, though hardly five times.
    let hosts = (0..5).map(|_| {
        let port = free();
        (
            Emulator::start(&["--port", &port.to_string()]).host.clone(),
            format!("127.0.0.1:{port}"),
        )
    });
    assert!(hosts.into_iter().any(|(host, wanted)| host == wanted));
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let done = pubsink(&["emulator", "--port", &port]).done().exits(2);
    assert_eq!(done.stdout, "");
    assert!(
        done.stderr
            .starts_with(&format!("pubsink: cannot listen on port {port}: ")),
        "{}",
        done.stderr
    );
}

#[test]
fn a_topic_that_cannot_be_is_named() {
    let twice = ["emulator", "--topic", "one:sub", "--topic", "two:sub"];
    let said = pubsink(&twice).done().exits(2).stderr;
    assert!(said.contains("--topic two:sub: ALREADY_EXISTS"), "{said}");
    for topic in ["a", "projects/p", "hooks:-", "goog-x"] {
        let done = pubsink(&["emulator", "--topic", topic]).done().exits(2);
        assert!(
            done.stderr
                .starts_with(&format!("pubsink: --topic {topic}: ")),
            "{}",
            done.stderr
        );
    }
}
