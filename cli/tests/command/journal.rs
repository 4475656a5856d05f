//! Publishing by way of a journal: what a run that ended too soon leaves, the next one goes on
//! with.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use serde_json::{Value, json};

use super::support::{
    Done, Run, Scratch, TOPIC, eventually, hooks, ids, publish, publish_to, pubsink, server,
    stored_bodies, stored_ids,
};

/// Publishes by the journal in `dir`.
pub(crate) fn journaled(server: &Server, dir: &str, input: impl Into<Vec<u8>>) -> Run {
    publish(server, input).arguments(&["--journal", dir])
}

/// Lines with their outcomes, in order.
fn by_line(done: &Done) -> Vec<(u64, Value)> {
    let outcomes = done.outcomes().into_iter();
    outcomes
        .map(|outcome| (outcome["line"].as_u64().unwrap(), outcome))
        .collect()
}

pub(crate) fn count(outcomes: &[Value], outcome: &str, earlier: bool) -> usize {
    let is = |one: &&Value| one["outcome"] == outcome && (one["earlier"] == true) == earlier;
    outcomes.iter().filter(is).count()
}

#[test]
fn every_line_is_delivered_and_has_the_outcome_of_the_contract() {
    let (server, scratch) = (server(), Scratch::new());
    let run = journaled(&server, &scratch.path("j"), hooks(1));
    let id = "{\"line\":1,\"id\":\"h0001\",\"outcome\":\"delivered\",\"message_id\":\"1\",\"attempts\":1}\n";
    assert_eq!(run.done().exits(0).stdout, id);
    let run = journaled(&server, &scratch.path("k"), hooks(3_000));
    let done = run.done().exits(0);
    let lines: Vec<_> = by_line(&done).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, (1..=3_000).collect::<Vec<_>>());
    assert_eq!(done.stderr, "pubsink: 3000 delivered, 0 failed\n");
    assert_eq!(server.stored(TOPIC).len(), 3_001);
}

#[test]
fn a_second_run_sends_nothing_again_and_says_what_it_skipped() {
    let (server, scratch) = (server(), Scratch::new());
    let (dir, dead) = (scratch.path("j"), scratch.path("dead.ndjson"));
    server
        .broker(|broker| broker.reject_data(TOPIC, "\"h0005\""))
        .unwrap();
    let input = hooks(9).replace("{\"id\":\"h0007\"", "{\"id\":h0007");
    let run = || journaled(&server, &dir, input.as_str()).arguments(&["--dead-letters", &dead]);
    let first = run().done().exits(1);
    assert_eq!(first.summary(), "pubsink: 7 delivered, 2 failed");
    assert_eq!(fs::read_to_string(&dead).unwrap().lines().count(), 2);
    let requests = server.log().publishes().len();
    let second = run().done().exits(1);
    assert_eq!(server.log().publishes().len(), requests, "nothing is sent");
    assert_eq!(
        second.stderr,
        format!(
            "pubsink: skipped what an earlier run had settled: 7 delivered, 1 dead letter\n\
             pubsink: 1 dead letter of earlier runs: see `pubsink dead-letters list --journal \
             {dir}`\n\
             pubsink: 0 delivered, 1 failed\n"
        )
    );
    let outcomes = second.outcomes();
    let id = &first.outcomes()[2]["message_id"];
    assert_eq!(
        outcomes[2],
        json!({"line": 3, "id": "h0003", "outcome": "delivered", "message_id": id, "earlier": true})
    );
    assert_eq!(
        outcomes[4],
        json!({"line": 5, "id": "h0005", "outcome": "failed", "earlier": true})
    );
    assert_eq!(outcomes[6]["reason"]["problem"], "unreadable_line");
    assert_eq!(fs::read_to_string(&dead).unwrap().lines().count(), 3);
}

#[test]
fn an_id_that_was_made_up_stays_over_runs() {
    let (server, scratch) = (server(), Scratch::new());
    let id = || {
        let run = journaled(&server, &scratch.path("j"), "{\"body\":\"x\"}\n");
        run.done().exits(0).outcomes()[0]["id"].clone()
    };
    assert_eq!(id(), id());
    assert_eq!(server.stored(TOPIC).len(), 1);
}

#[test]
fn a_changed_line_is_another_hook_and_an_added_one_is_sent() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    journaled(&server, &dir, hooks(3)).done().exits(0);
    let changed = hooks(4).replace("body 2", "other");
    let outcomes = journaled(&server, &dir, changed).done().exits(0).outcomes();
    assert_eq!(count(&outcomes, "delivered", true), 2);
    let new = outcomes.iter().filter(|one| one.get("earlier").is_none());
    let new: Vec<_> = new.map(|one| one["line"].as_u64().unwrap()).collect();
    assert_eq!(new, [2, 4]);
    assert_eq!(server.stored(TOPIC).len(), 5);
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    let slow = Action::proceed().answer_delay(Duration::from_millis(50));
    server.script([Rule::on(Match::publish()).then(slow)]);
    let few = ["--batch-max-entries", "20", "--batch-max-inflight", "1"];
    let running = journaled(&server, &dir, hooks(2_000))
        .arguments(&few)
        .start();
    eventually("something is stored", || server.stored(TOPIC).len() > 100);
    drop(running);
    server.script([]);
    let stored = server.stored(TOPIC).len();
    assert!(stored < 2_000, "it was to be killed in the middle");
    let done = journaled(&server, &dir, hooks(2_000)).done().exits(0);
    let outcomes = done.outcomes();
    let lines: Vec<_> = by_line(&done).into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, (1..=2_000).collect::<Vec<_>>(), "each line once");
    assert!(count(&outcomes, "delivered", true) > 0);
    let mut stored = stored_ids(&server);
    let all = stored.len();
    stored.dedup();
    assert_eq!(stored, ids(2_000));
    assert!(
        all <= 2_000 + 60,
        "{all}: only what was under way is sent again"
    );
}

#[test]
fn a_journal_of_another_topic_is_refused_and_nothing_is_touched() {
    let (server, scratch) = (server(), Scratch::new());
    let (dir, outcomes) = (scratch.path("j"), scratch.file("out.ndjson", "earlier\n"));
    server.refuse_connections(true).unwrap();
    let limit = ["--shutdown-limit-ms", "100"];
    let mut running = journaled(&server, &dir, hooks(2)).arguments(&limit).start();
    running.close_input();
    std::thread::sleep(Duration::from_millis(500));
    running.signal(Signal::SIGTERM);
    running.wait().exits(3);
    server.refuse_connections(false).unwrap();
    let endpoint = server.endpoint();
    let other = [
        "publish",
        "--project",
        "p",
        "--topic",
        "other",
        "--endpoint",
        &endpoint,
    ];
    let run = pubsink(&other).arguments(&["--journal", &dir, "--outcomes", &outcomes]);
    let said = run.input(hooks(1)).done().exits(2).stderr;
    assert_eq!(
        said,
        format!(
            "pubsink: the journal in {dir} has hooks for {TOPIC}; deliver them first by a run for \
             that topic, or choose another journal for projects/p/topics/other\n"
        )
    );
    assert_eq!(fs::read_to_string(outcomes).unwrap(), "earlier\n");
    assert_eq!(server.stored(TOPIC).len(), 0);
}

#[test]
fn a_line_that_another_topic_has_is_sent_all_the_same() {
    let (server, scratch) = (server(), Scratch::new());
    let (dir, other) = (scratch.path("j"), "projects/p/topics/other");
    server.create_topic(other).unwrap();
    journaled(&server, &dir, hooks(3)).done().exits(0);
    let endpoint = server.endpoint();
    let run = || {
        let to = ["publish", "--project", "p", "--topic", "other"];
        let run = pubsink(&to).arguments(&["--endpoint", &endpoint, "--journal", &dir]);
        run.input(hooks(3)).done().exits(0)
    };
    assert_eq!(run().summary(), "pubsink: 3 delivered, 0 failed");
    assert_eq!(server.stored(other).len(), 3);
    assert_eq!(run().summary(), "pubsink: 0 delivered, 0 failed");
    assert_eq!(server.stored(other).len(), 3);
}

#[test]
fn a_journal_that_is_in_use_is_refused() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    let mut running = journaled(&server, &dir, hooks(1)).start();
    eventually("it runs", || server.stored(TOPIC).len() == 1);
    let said = journaled(&server, &dir, hooks(1)).done().exits(2).stderr;
    assert!(
        said.starts_with(&format!(
            "pubsink: the journal in {dir} is in use by another process"
        )),
        "{said}"
    );
    running.close_input();
    running.wait().exits(0);
}

#[test]
fn bodies_are_carried_byte_for_byte() {
    use base64::Engine as _;
    let bodies: Vec<Vec<u8>> = vec![
        br#"{"a":1.0,"b":1,"a":2}"#.to_vec(),
        br#"{"n":12345678901234567890123, "x":1e400}"#.to_vec(),
        b"\xEF\xBB\xBF{}".to_vec(),
        br#"{"s":"\u00e9\ud83d\ude00"}"#.to_vec(),
        b"\xFF\xFE\x00\x80".to_vec(),
        b"{ }\n".to_vec(),
        b"{ }\r\n".to_vec(),
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes(),
        Vec::new(),
        vec![0; 1_000_000],
        b"eyJhIjoxfQ==".to_vec(),
    ];
    let (server, scratch) = (server(), Scratch::new());
    let line = |body| {
        let text = base64::engine::general_purpose::STANDARD.encode(body);
        format!("{{\"body_base64\":\"{text}\"}}\n")
    };
    let input: String = bodies.iter().map(line).collect();
    let run = journaled(&server, &scratch.path("j"), input);
    run.arguments(&["--inline-max-bytes", "2000000"])
        .done()
        .exits(0);
    let mut stored = stored_bodies(&server);
    stored.sort_unstable();
    let mut sent = bodies;
    sent.sort_unstable();
    assert!(stored == sent, "a body was changed");
}

#[test]
fn attempts_end_at_the_number_asked_for_and_a_failure_says_what_it_is() {
    let (server, scratch) = (server(), Scratch::new());
    let failed = |dir: &str, action: Action| {
        server.script([Rule::on(Match::publish()).then(action)]);
        let run = journaled(&server, &scratch.path(dir), hooks(1));
        run.arguments(&["--max-attempts", "2"])
            .done()
            .exits(1)
            .outcomes()
            .remove(0)
    };
    let outcome = failed("a", Action::status(500, "broken"));
    assert_eq!(
        (
            &outcome["class"],
            &outcome["attempts"],
            &outcome["may_have_been_stored"]
        ),
        (&json!("transient"), &json!(2), &json!(true))
    );
    let outcome = failed("b", Action::refuse(&Status::not_found("none")));
    assert_eq!(
        (&outcome["config"], &outcome["attempts"]),
        (&json!(true), &json!(1))
    );
    let outcome = failed("c", Action::status(503, "busy"));
    assert_eq!(
        (&outcome["class"], &outcome["attempts"]),
        (&json!("throttled"), &json!(2))
    );
}

#[test]
fn a_disk_that_is_full_loses_no_line_silently_and_reports_no_success() {
    let (server, scratch) = (server(), Scratch::new());
    let (dir, dead) = (scratch.path("j"), scratch.path("dead.ndjson"));
    // The journal is there; then it may not grow.
    journaled(&server, &dir, hooks(1)).done().exits(0);
    let size = fs::metadata(format!("{dir}/journal.redb")).unwrap().len();
    let large = |n| format!("{{\"id\":\"l{n}\",\"body\":\"{}\"}}\n", "x".repeat(60_000));
    let input: String = [hooks(1)].into_iter().chain((2..=40).map(large)).collect();
    let full = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", size / 512 + 1);
    let run = journaled(&server, &dir, input.as_str()).by_shell(&full);
    let mut running = run
        .arguments(&["--dead-letters", &dead, "--shutdown-limit-ms", "500"])
        .start();
    running.close_input();
    std::thread::sleep(Duration::from_secs(3));
    running.signal(Signal::SIGTERM);
    let done = running.wait();
    assert_ne!(done.code, 0, "{}", done.stderr);
    let outcomes = done.outcomes();
    let refused = outcomes
        .iter()
        .filter(|one| one["reason"]["kind"] == "journal")
        .count();
    assert!(refused > 0, "{}", done.stderr);
    let kept = fs::read_to_string(&dead).unwrap();
    // The file may not grow over that either; then both are told.
    let words = "could not be kept as a dead letter: ";
    let told = done.stderr.matches(words).count();
    assert!(told > 0, "{}", done.stderr);
    let whole = kept.lines().filter(|line| line.ends_with("}}")).count();
    assert_eq!(whole + told, refused, "{}", done.stderr);
    let stored = stored_ids(&server);
    for outcome in &outcomes {
        let id = outcome["id"].as_str().unwrap().to_owned();
        assert!(
            outcome["outcome"] == "failed" || stored.contains(&id),
            "{outcome}"
        );
    }
    // There is room again.
    let again = journaled(&server, &dir, input).done().exits(0);
    assert_eq!(again.outcomes().len(), 40);
    let mut stored = stored_ids(&server);
    stored.dedup();
    assert_eq!(stored.len(), 40);
}

#[test]
fn on_dead_is_for_a_journal_that_keeps_order() {
    let said = publish_to("http://127.0.0.1:1", "").arguments(&["--on-dead", "stop"]);
    let said = said.done().exits(2).stderr;
    assert!(said.contains("--journal <DIR>"), "{said}");
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    for more in [&[][..], &["--ordering-on-failure", "continue"]] {
        let run = journaled(&server, &dir, hooks(1)).arguments(&["--on-dead", "stop"]);
        assert_eq!(
            run.arguments(more).done().exits(2).stderr,
            "pubsink: --on-dead has no effect without --ordering-on-failure hold\n"
        );
    }
    assert!(!fs::exists(&dir).unwrap());
}
