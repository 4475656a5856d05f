//! Flags: each reaches the publisher, and each that is wrong is named.

use pubsink_fixtures::broker::PubsubMessage;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::support::{
    Scratch, TOPIC, hooks, ids, publish, publish_to, pubsink, server, stored_ids,
};

/// What is said of these arguments, with exit code 2.
fn refused(arguments: &[&str]) -> String {
    let run = publish_to("http://127.0.0.1:1", hooks(1)).arguments(arguments);
    run.done().exits(2).stderr
}

#[test]
fn an_option_out_of_range_is_named_with_value_and_range() {
    for (flag, value, range) in [
        ("--inline-max-bytes", "0", "at least 1"),
        ("--max-message-bytes", "0", "1 to 10000000"),
        ("--max-message-bytes", "10000001", "1 to 10000000"),
        ("--timeout-ms", "0", "at least 1 ms"),
        ("--batch-linger-ms", "0", "1 to 60000 ms"),
        ("--batch-linger-ms", "60001", "1 to 60000 ms"),
        ("--batch-max-entries", "0", "1 to 1000"),
        ("--batch-max-entries", "1001", "1 to 1000"),
        ("--batch-max-bytes", "0", "1 to 7500000"),
        ("--batch-max-bytes", "7500001", "1 to 7500000"),
        ("--batch-queue-max", "0", "at least 1"),
        ("--batch-queue-bytes", "0", "at least 1"),
        ("--batch-queue-tenant", "0", "at least 1"),
        ("--batch-max-inflight", "0", "at least 1"),
        ("--sink-concurrency", "0", "at least 1"),
        ("--max-stopped-keys", "0", "at least 1"),
        ("--gzip-above", "10485761", "0 to 10485760"),
    ] {
        let unit = if flag.ends_with("-ms") { " ms" } else { "" };
        let words = format!("pubsink: {flag} is \"{value}{unit}\"; it must be {range}\n");
        assert_eq!(refused(&[flag, value]), words);
    }
    let said = refused(&["--ordering-key", &"é".repeat(513)]);
    assert!(said.contains("--ordering-key is "), "{said}");
    assert!(said.contains("must be at most 1024 bytes"), "{said}");
    for level in ["0", "10"] {
        let said = refused(&["--gzip-above", "0", "--gzip-level", level]);
        let words = format!("pubsink: --gzip-level is \"{level}\"; it must be 1 to 9\n");
        assert_eq!(said, words);
    }
    let said = refused(&["--gzip-level", "5"]);
    assert!(said.contains("--gzip-above <BYTES>"), "{said}");
    let said = refused(&["--max-attempts", "0"]);
    assert!(
        said.contains("'0' for '--max-attempts <N>': 0 is not in 1.."),
        "{said}"
    );
    let said = refused(&["--ordering-on-failure", "stop"]);
    assert!(
        said.contains("'stop' for '--ordering-on-failure <WHAT>'")
            && said.contains("[possible values: continue, hold]"),
        "{said}"
    );
    let said = refused(&["--batch-max-entries", "many"]);
    assert!(
        said.contains("'many' for '--batch-max-entries <N>'"),
        "{said}"
    );
}

#[test]
fn project_topic_and_endpoint_are_checked_before_anything_is_read() {
    let said = |project: &str, topic: &str, endpoint: &str| {
        let all = [
            "publish",
            "--project",
            project,
            "--topic",
            topic,
            "--endpoint",
            endpoint,
        ];
        pubsink(&all).input(hooks(1)).done().exits(2).stderr
    };
    let url = "http://127.0.0.1:1";
    assert!(said("a b", "hooks", url).starts_with("pubsink: --project is \"a b\"; it must be "));
    assert!(said("p", "projects/p/topics/hooks", url).starts_with("pubsink: --topic is "));
    assert!(
        said("p", "hooks", "ftp://x")
            .starts_with("pubsink: --endpoint is \"ftp://x\"; it must be ")
    );
    let secret = said("p", "hooks", "http://user:hunter2@x");
    assert!(
        secret.contains("token provider") && !secret.contains("hunter2"),
        "{secret}"
    );
}

#[test]
fn bad_usage_is_exit_code_2() {
    assert!(
        refused(&["--batch-lingr-ms", "5"]).contains("'--batch-linger-ms'"),
        "a near miss is named"
    );
    assert!(
        refused(&["--ordering-key", "k", "--ordering-key-header", "h"])
            .contains("cannot be used with")
    );
    assert!(refused(&["--token-env", "A", "--token-command", "b"]).contains("cannot be used with"));
    let said = pubsink(&["publish", "--topic", "hooks"])
        .done()
        .exits(2)
        .stderr;
    assert!(said.contains("--project <P>"), "{said}");
}

#[test]
fn files_that_cannot_be_opened_are_exit_code_2() {
    let scratch = Scratch::new();
    let (missing, directory) = (scratch.path("none/file"), scratch.path(""));
    for flag in ["--input", "--outcomes", "--dead-letters"] {
        for path in [&missing, &directory] {
            let said = refused(&[flag, path]);
            assert!(said.contains(&format!("{flag} {path}: ")), "{said}");
        }
    }
}

#[test]
fn a_missing_input_leaves_earlier_outcomes_alone() {
    let scratch = Scratch::new();
    let outcomes = scratch.file("outcomes.ndjson", "earlier\n");
    refused(&["--input", &scratch.path("none"), "--outcomes", &outcomes]);
    assert_eq!(std::fs::read_to_string(outcomes).unwrap(), "earlier\n");
}

#[test]
fn the_largest_values_are_no_overflow() {
    let server = server();
    let (size, ms) = (usize::MAX.to_string(), u64::MAX.to_string());
    let mut arguments = vec![
        "--timeout-ms",
        &ms,
        "--shutdown-limit-ms",
        &ms,
        "--batch-linger-ms",
        "60000",
    ];
    for flag in [
        "--inline-max-bytes",
        "--batch-queue-max",
        "--batch-queue-bytes",
        "--batch-queue-tenant",
        "--batch-max-inflight",
        "--sink-concurrency",
        "--max-stopped-keys",
    ] {
        arguments.extend([flag, &size]);
    }
    publish(&server, hooks(3))
        .arguments(&arguments)
        .done()
        .exits(0);
    assert_eq!(stored_ids(&server), ids(3));
}

#[test]
fn batches_are_as_large_as_they_may_be() {
    for (arguments, requests) in [
        (&["--batch-max-entries", "4"][..], 3),
        (&["--no-batch"], 12),
        (&["--batch-linger-ms", "5000"], 1),
    ] {
        let server = server();
        publish(&server, hooks(12))
            .arguments(arguments)
            .done()
            .exits(0);
        assert_eq!(server.log().publishes().len(), requests, "{arguments:?}");
        assert_eq!(stored_ids(&server), ids(12));
    }
}

#[test]
fn more_hooks_than_the_queue_holds_wait_for_room() {
    for arguments in [
        ["--batch-queue-max", "2"],
        ["--batch-queue-tenant", "2"],
        ["--batch-queue-bytes", "1200"],
    ] {
        let server = server();
        let run = publish(&server, hooks(20)).arguments(&arguments);
        run.arguments(&["--batch-linger-ms", "1"]).done().exits(0);
        assert_eq!(stored_ids(&server), ids(20), "{arguments:?}");
    }
}

#[test]
fn one_ordering_key_keeps_the_order_of_the_input() {
    let server = server();
    let run =
        publish(&server, hooks(50)).arguments(&["--ordering-key", "k", "--batch-max-entries", "7"]);
    run.done().exits(0);
    let stored = server.stored(TOPIC);
    let order: Vec<_> = stored
        .iter()
        .map(|one| one.message.attributes["ankusa_id"].clone())
        .collect();
    assert_eq!(order, ids(50));
    assert!(stored.iter().all(|one| one.message.ordering_key == "k"));
}

#[test]
fn an_ordering_key_is_taken_from_a_header_of_any_case_where_there_is_one() {
    let server = server();
    let input = concat!(
        r#"{"id":"a","headers":{"X-Repo":"one"}}"#,
        "\n",
        r#"{"id":"b","headers":{"x-repo":"two"}}"#,
        "\n",
        r#"{"id":"c"}"#,
        "\n",
    );
    publish(&server, input)
        .arguments(&["--ordering-key-header", "X-REPO"])
        .done()
        .exits(0);
    let mut keys: Vec<_> = server
        .stored(TOPIC)
        .iter()
        .map(|one| one.message.ordering_key.clone())
        .collect();
    keys.sort_unstable();
    assert_eq!(keys, ["", "one", "two"]);
    assert!(
        server
            .log()
            .publishes()
            .iter()
            .all(|request| request.ordering_keys.len() <= 1)
    );
}

/// Hooks of two keys, `a` and `b` in turns, and their ids by key.
fn two_keys(count: usize) -> String {
    (1..=count)
        .map(|n| {
            let key = ["b", "a"][n % 2];
            format!("{{\"id\":\"{key}{n}\",\"headers\":{{\"key\":\"{key}\"}}}}\n")
        })
        .collect()
}

/// The second request of key `a` fails, once.
fn failing_once() -> Server {
    let server = server();
    let of_a = |messages: &[PubsubMessage]| messages[0].ordering_key == "a";
    let rule = Rule::on(Match::publish().messages(of_a)).nth(2);
    server.script([rule.then(Action::status(503, "busy"))]);
    server
}

/// The ids of what was stored of a key, in order.
fn stored_of(server: &Server, key: &str) -> Vec<String> {
    let stored = server.stored(TOPIC);
    let of_key = stored.iter().filter(|one| one.message.ordering_key == key);
    of_key
        .map(|one| one.message.attributes["ankusa_id"].clone())
        .collect()
}

#[test]
fn with_hold_nothing_of_a_key_is_stored_behind_a_failure_and_dead_letters_go_on_with_it() {
    let (server, scratch) = (failing_once(), Scratch::new());
    let dead = scratch.path("dead.ndjson");
    let ordered = [
        "--ordering-key-header",
        "key",
        "--batch-max-entries",
        "2",
        "--batch-linger-ms",
        "5000",
        "--ordering-on-failure",
        "hold",
    ];
    let run = publish(&server, two_keys(12)).arguments(&ordered);
    let run = run.arguments(&["--dead-letters", &dead]);
    let outcomes = run.done().exits(1).outcomes();
    assert_eq!(stored_of(&server, "a"), ["a1", "a3"]);
    assert_eq!(stored_of(&server, "b").len(), 6);
    let mut failed: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome["outcome"] == "failed")
        .map(|outcome| (outcome["id"].as_str().unwrap(), outcome))
        .collect();
    failed.sort_by_key(|(_, outcome)| outcome["line"].as_u64());
    for (id, outcome) in &failed {
        assert_eq!(outcome["attempts"], 1, "{outcome}");
        let reason = &outcome["reason"];
        let kind = if matches!(*id, "a5" | "a7") {
            "status"
        } else {
            assert_eq!(outcome["class"], "transient");
            assert_eq!(reason["key"], "a");
            assert_eq!(reason["cause"]["body"], "busy");
            assert_eq!(reason["class"], "throttled");
            "key_stopped"
        };
        assert_eq!(reason["kind"], kind, "{outcome}");
    }
    let ids: Vec<_> = failed.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["a5", "a7", "a9", "a11"]);

    let text = std::fs::read_to_string(&dead).unwrap();
    let mut lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.sort_by_key(|line| line["dead_letter"]["line"].as_u64());
    let again: String = lines.iter().map(|line| format!("{line}\n")).collect();
    publish(&server, again).arguments(&ordered).done().exits(0);
    assert_eq!(
        stored_of(&server, "a"),
        ["a1", "a3", "a5", "a7", "a9", "a11"]
    );
}

#[test]
fn by_default_a_key_goes_on_and_what_failed_is_tried_again_behind_it() {
    for arguments in [&[][..], &["--ordering-on-failure", "continue"]] {
        let server = failing_once();
        let ordered = ["--ordering-key-header", "key", "--batch-max-entries", "2"];
        let ordered = [&ordered[..], &["--batch-linger-ms", "5000"]].concat();
        let run = publish(&server, two_keys(12)).arguments(&ordered);
        run.arguments(arguments).done().exits(0);
        let stored = stored_of(&server, "a");
        assert_eq!(stored.len(), 6);
        let place = |id: &str| stored.iter().position(|other| other == id).unwrap();
        assert!(place("a9") < place("a5"), "{stored:?}");
    }
}

#[test]
fn with_hold_a_hook_without_a_key_is_tried_again() {
    let server = server();
    let busy = Action::status(503, "busy");
    server.script([Rule::on(Match::publish()).nth(1).then(busy)]);
    publish(&server, hooks(3))
        .arguments(&["--ordering-on-failure", "hold"])
        .done()
        .exits(0);
    assert_eq!(stored_ids(&server).len(), 3);
}

#[test]
fn the_emulators_variable_is_honoured_and_the_endpoint_wins() {
    let (named, given) = (server(), server());
    let host = named.addr().to_string();
    let arguments = ["publish", "--project", "p", "--topic", "hooks"];
    let run = || {
        pubsink(&arguments)
            .env("PUBSUB_EMULATOR_HOST", &host)
            .input(hooks(2))
    };
    run().done().exits(0);
    assert_eq!(
        (named.stored(TOPIC).len(), given.stored(TOPIC).len()),
        (2, 0)
    );
    run()
        .arguments(&["--endpoint", &given.endpoint()])
        .done()
        .exits(0);
    assert_eq!(
        (named.stored(TOPIC).len(), given.stored(TOPIC).len()),
        (2, 2)
    );
    let done = pubsink(&arguments)
        .env("PUBSUB_EMULATOR_HOST", "no host")
        .done()
        .exits(2);
    assert!(
        done.stderr
            .contains("PUBSUB_EMULATOR_HOST must be host:port"),
        "{}",
        done.stderr
    );
}

#[test]
fn an_emulator_host_that_is_no_text_never_leads_to_the_real_service() {
    use std::os::unix::ffi::OsStrExt as _;
    let host = std::ffi::OsStr::from_bytes(b"127.0.0.1:80\xFF");
    for command in ["publish", "bench"] {
        let run = pubsink(&[command, "--project", "p", "--topic", "hooks"]);
        let said = run.env("PUBSUB_EMULATOR_HOST", host).done().exits(2).stderr;
        assert_eq!(
            said,
            "pubsink: PUBSUB_EMULATOR_HOST must be host:port, or at least text\n"
        );
    }
}
