//! Tokens: from a command or a variable, fetched seldom, shown nowhere.

use std::fs;
use std::time::{Duration, Instant};

use pubsink_fixtures::faults::{Action, Match, Rule};
use serde_json::{Value, json};

use super::support::{Done, Scratch, TOPIC, end_of, eventually, hooks, publish, pubsink, server};

/// A shell command that prints the words of a file one call after another, and counts its calls.
fn tokens(scratch: &Scratch, tokens: &str) -> String {
    let (calls, all) = (scratch.path("calls"), scratch.file("tokens", tokens));
    format!("echo >> {calls}; sed -n \"$(wc -l < {calls})p\" {all}")
}

fn calls(scratch: &Scratch) -> usize {
    fs::read_to_string(scratch.path("calls")).map_or(0, |calls| calls.lines().count())
}

fn only(done: &Done) -> Value {
    let mut outcomes = done.outcomes();
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

#[test]
fn a_token_command_is_run_once_for_many_requests() {
    let (server, scratch) = (server(), Scratch::new());
    server.require_token(Some("T1"));
    let command = tokens(&scratch, "T1\nT2\n");
    let run = publish(&server, hooks(40)).arguments(&["--token-command", &command, "--no-batch"]);
    run.done().exits(0);
    assert_eq!((server.log().publishes().len(), calls(&scratch)), (40, 1));
}

#[test]
fn a_refused_token_is_fetched_anew_and_costs_no_attempt() {
    let (server, scratch) = (server(), Scratch::new());
    server.require_token(Some("T2"));
    // The first token is older than a moment when it is refused: a fetch a second is the most.
    let refuse = Rule::on(Match::publish()).times(1);
    let unauthenticated = pubsink_fixtures::broker::Status::unauthenticated("expired");
    server
        .script([refuse.then(Action::refuse(&unauthenticated).delay(Duration::from_millis(1100)))]);
    let command = tokens(&scratch, "T1\nT2\nT3\n");
    let done = publish(&server, hooks(1))
        .arguments(&["--token-command", &command])
        .done()
        .exits(0);
    assert_eq!(only(&done)["attempts"], 1);
    assert_eq!((server.log().publishes().len(), calls(&scratch)), (2, 2));
    assert_eq!(server.stored(TOPIC).len(), 1);
}

#[test]
fn a_token_that_is_refused_for_good_is_the_operators_to_mend() {
    let (server, scratch) = (server(), Scratch::new());
    server.require_token(Some("another"));
    let command = tokens(&scratch, "T1\nT1\nT1\n");
    let done = publish(&server, hooks(1))
        .arguments(&["--token-command", &command])
        .done()
        .exits(1);
    let outcome = only(&done);
    assert_eq!(
        (&outcome["class"], &outcome["config"], &outcome["attempts"]),
        (&json!("permanent"), &json!(true), &json!(1))
    );
    assert_eq!(outcome["reason"]["status"], "UNAUTHENTICATED");
    assert!(calls(&scratch) <= 2 && server.log().publishes().len() <= 2);
}

#[test]
fn a_command_that_fails_or_prints_no_token_is_no_credentials_and_no_request() {
    let server = server();
    for (command, words) in [
        (
            "echo nobody is logged in >&2; exit 3",
            "the token command failed: exit status: 3",
        ),
        (
            "true",
            "the token command printed no token: the token is empty",
        ),
        (
            "echo two words",
            "the token command printed no token: the token has characters other than visible ASCII",
        ),
        ("printf '\\377'", "the token command printed no text"),
    ] {
        let run = publish(&server, hooks(1)).arguments(&["--token-command", command]);
        let outcome = only(&run.arguments(&["--max-attempts", "2"]).done().exits(1));
        assert_eq!(
            (&outcome["class"], &outcome["attempts"]),
            (&json!("transient"), &json!(2))
        );
        assert_eq!(
            outcome["reason"],
            json!({"kind": "no_credentials", "detail": words})
        );
    }
    assert_eq!(server.log().total(), 0);
}

#[test]
fn a_command_that_leaves_something_running_is_not_waited_for() {
    let server = server();
    server.require_token(Some("T1"));
    let started = Instant::now();
    let command = "echo T1; sleep 20 &";
    let run = publish(&server, hooks(1)).arguments(&["--token-command", command]);
    let mut child = run.into_command();
    let mut child = child.stdin(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    assert_eq!(end_of(&mut child).code(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// A command that writes the ids of its processes, and never ends.
fn endless(scratch: &Scratch) -> String {
    let ids = scratch.path("ids");
    format!("sleep 600 & echo $! > {ids}; echo $$ >> {ids}; wait")
}

/// Whether both processes of the endless command are there.
fn run_still(scratch: &Scratch) -> bool {
    let ids = fs::read_to_string(scratch.path("ids")).unwrap_or_default();
    let is_there = |id: &str| {
        let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Ended, and not waited for by whoever is to do that.
        !status.is_empty() && !status.contains(") Z")
    };
    ids.lines().filter(|id| is_there(id)).count() > 0 && ids.lines().count() == 2
}

#[test]
fn a_command_survives_ctrl_c_in_the_terminal_and_ends_with_the_run() {
    if fs::metadata("/proc/self/stat").is_err() {
        return eprintln!("NOT RUN: there is no /proc");
    }
    let (server, scratch) = (server(), Scratch::new());
    let run = publish(&server, hooks(1)).arguments(&["--token-command", &endless(&scratch)]);
    let running = run.arguments(&["--shutdown-limit-ms", "1500"]).start();
    eventually("it runs", || run_still(&scratch));
    let ids = fs::read_to_string(scratch.path("ids")).unwrap();
    let group = |id: &str| {
        let id = nix::unistd::Pid::from_raw(id.trim().parse().unwrap());
        nix::unistd::getpgid(Some(id)).unwrap()
    };
    let own = group(&running.id().to_string());
    assert!(ids.lines().all(|id| group(id) != own), "Ctrl-C reaches it");
    running.signal(nix::sys::signal::Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(run_still(&scratch), "it may still be needed");
    running.wait().exits(3);
    eventually("all of it is ended", || !run_still(&scratch));
}

#[test]
fn a_command_that_does_not_end_is_ended_with_all_that_it_started() {
    if fs::metadata("/proc/self/stat").is_err() {
        return eprintln!("NOT RUN: there is no /proc");
    }
    let (server, scratch) = (server(), Scratch::new());
    let run = publish(&server, hooks(1)).arguments(&["--token-command", &endless(&scratch)]);
    let running = run.arguments(&["--max-attempts", "1"]).start();
    eventually("it runs", || run_still(&scratch));
    eventually("all of it is ended", || !run_still(&scratch));
    let mut running = running;
    running.close_input();
    let outcome = only(&running.wait().exits(1));
    assert_eq!(
        outcome["reason"]["detail"],
        "the token command did not end within 25 s"
    );
}

#[test]
fn a_command_that_recovers_delivers() {
    let (server, scratch) = (server(), Scratch::new());
    server.require_token(Some("T2"));
    let command = tokens(&scratch, "\nT2\n");
    let run = publish(&server, hooks(1)).arguments(&["--token-command", &command]);
    let outcome = only(&run.arguments(&["--max-attempts", "10"]).done().exits(0));
    assert!(outcome["attempts"].as_u64().unwrap() > 1);
    assert_eq!(calls(&scratch), 2);
}

#[test]
fn a_token_comes_from_a_variable() {
    let server = server();
    server.require_token(Some("T1"));
    let run = || publish(&server, hooks(1)).arguments(&["--token-env", "PUBSINK_TEST_TOKEN"]);
    run().env("PUBSINK_TEST_TOKEN", "T1").done().exits(0);
    let said = run().done().exits(2).stderr;
    assert_eq!(
        said,
        "pubsink: --token-env PUBSINK_TEST_TOKEN: it is not set\n"
    );
    let said = run().env("PUBSINK_TEST_TOKEN", "").done().exits(2).stderr;
    assert_eq!(
        said,
        "pubsink: --token-env PUBSINK_TEST_TOKEN: the token is empty\n"
    );
}

#[test]
fn a_token_is_shown_nowhere_even_if_the_server_repeats_it() {
    let server = server();
    let token = "ya29.very-secret/token";
    for action in [
        Action::status(500, format!("you sent Bearer {token}")),
        Action::answer(
            401,
            &[],
            format!(
                "{{\"error\":{{\"code\":401,\"status\":\"UNAUTHENTICATED\",\"message\":\"bad {token}\"}}}}"
            ),
        ),
        Action::answer(
            200,
            &[],
            format!("{{\"messageIds\":[],\"token\":\"{token}\"}}"),
        ),
        Action::reset(),
    ] {
        server.script([Rule::on(Match::publish()).then(action)]);
        let run = publish(&server, hooks(1)).arguments(&["--max-attempts", "1"]);
        let run = run.arguments(&["--token-env", "PUBSINK_TEST_TOKEN"]);
        let run = run
            .env("PUBSINK_TEST_TOKEN", token)
            .env("PUBSINK_LOG", "trace");
        let done = run.done().exits(1);
        assert!(!done.stdout.contains("very-secret"), "{}", done.stdout);
        assert!(!done.stderr.contains("very-secret"), "{}", done.stderr);
    }
    assert_eq!(
        server.log().publishes()[0].header("authorization"),
        Some("Bearer ***")
    );
}

#[test]
fn the_emulator_of_the_variable_gets_no_token() {
    let server = server();
    let run = pubsink(&[
        "publish",
        "--project",
        "p",
        "--topic",
        "hooks",
        "--token-env",
        "PUBSINK_TEST_TOKEN",
    ]);
    let run = run
        .env("PUBSINK_TEST_TOKEN", "T1")
        .env("PUBSUB_EMULATOR_HOST", server.addr().to_string());
    let done = run.input(hooks(1)).done().exits(0);
    assert!(
        done.stderr.contains("no token is sent to the emulator"),
        "{}",
        done.stderr
    );
    assert_eq!(server.log().publishes()[0].header("authorization"), None);
}
