//! What an operator sees of a journal, and does to it.

use std::fs;

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use serde_json::{Value, json};

use super::support::{Scratch, TOPIC, hooks, ids, publish, pubsink, server, stored_ids};

/// A journal with a dead letter of each of three sorts.
fn journal(server: &Server, dir: &str) {
    let input = [
        "{\"id\":\"one\",\"source_id\":\"a\",\"tenant_id\":\"acme\",\"received_at\":1,\"headers\":{\"X-A\":\"1\"},\"body\":\"first\"}",
        "{\"id\":\"two\",\"source_id\":\"b\",\"received_at\":1,\"body_base64\":\"/wA=\"}",
        "{\"id\":\"three\",\"source_id\":\"b\",\"received_at\":1,\"body\":\"far too large\"}",
    ];
    let refuse = |id: &'static str, action: Action| {
        let of =
            Match::publish().messages(move |messages| messages[0].attributes["ankusa_id"] == id);
        Rule::on(of).then(action)
    };
    server.script([
        refuse("one", Action::refuse(&Status::not_found("no topic"))),
        refuse("two", Action::status(500, "broken")),
    ]);
    let run = publish(server, input.join("\n")).arguments(&["--journal", dir, "--no-batch"]);
    run.arguments(&["--max-attempts", "1", "--inline-max-bytes", "10"])
        .done()
        .exits(1);
}

fn listed(dir: &str, arguments: &[&str]) -> Vec<Value> {
    let all = ["dead-letters", "list", "--journal", dir];
    let text = pubsink(&all).arguments(arguments).done().exits(0).stdout;
    let mut letters: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    letters.sort_by_key(|letter| letter["hook_id"].as_str().unwrap().to_owned());
    letters
}

#[test]
fn dead_letters_are_listed_and_filtered() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    journal(&server, &dir);
    let all = listed(&dir, &[]);
    let names: Vec<_> = all
        .iter()
        .map(|one| one["hook_id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one", "three", "two"]);
    let mut one = all[0].clone();
    let died = one["failed_at"].take();
    assert!(died.as_i64().unwrap() > 1_700_000_000_000);
    let id = one["id"].take();
    assert_eq!(
        one,
        json!({
            "id": null, "hook_id": "one", "source_id": "a", "tenant_id": "acme", "sink": TOPIC,
            "class": "permanent", "config": true, "kind": "pubsub", "message": one["message"],
            "may_have_been_stored": false, "attempts": 1, "failed_at": null, "size": 5,
        })
    );
    assert!(one["message"].as_str().unwrap().contains("no topic"));
    for (filter, names) in [
        (&["--source", "b"][..], &["three", "two"][..]),
        (&["--tenant", "acme"], &["one"]),
        (&["--tenant", ""], &["three", "two"]),
        (&["--class", "transient"], &["two"]),
        // No topic, and no store for a large body: both are the operator's to mend.
        (&["--config", "true"], &["one", "three"]),
        (&["--config", "false"], &["two"]),
        (&["--kind", "claim_check"], &["three"]),
        (&["--hook-id", "two"], &["two"]),
        (
            &["--sink", TOPIC, "--since", "1h"],
            &["one", "three", "two"],
        ),
        (&["--sink", "projects/p/topics/other"], &[]),
        (&["--until", "1h"], &[]),
        (&["--since", "2999-01-01T00:00:00+01:00"], &[]),
    ] {
        let found = listed(&dir, filter);
        let found: Vec<_> = found
            .iter()
            .map(|one| one["hook_id"].as_str().unwrap())
            .collect();
        assert_eq!(found, names, "{filter:?}");
    }
    assert_eq!(listed(&dir, &["--limit", "2"]).len(), 2);
    let show = ["dead-letters", "show", "--journal", &dir, &id.to_string()];
    let shown: Value = serde_json::from_str(&pubsink(&show).done().exits(0).stdout).unwrap();
    assert_eq!(
        (
            &shown["hook"]["body"],
            &shown["hook"]["headers"],
            &shown["line"]
        ),
        (&json!("first"), &json!([["X-A", "1"]]), &json!(1))
    );
    let none = ["dead-letters", "show", "--journal", &dir, "99"];
    assert_eq!(
        pubsink(&none).done().exits(2).stderr,
        "pubsink: there is no dead letter 99\n"
    );
}

#[test]
fn exported_dead_letters_can_be_published_and_discarded() {
    let (server, scratch) = (server(), Scratch::new());
    let (dir, file) = (scratch.path("j"), scratch.path("dead.ndjson"));
    journal(&server, &dir);
    server.script([]);
    let export = [
        "dead-letters",
        "export",
        "--journal",
        &dir,
        "--output",
        &file,
    ];
    pubsink(&export).done().exits(0);
    let said = pubsink(&export).done().exits(2).stderr;
    assert!(
        said.contains(&format!("cannot write --output {file}: ")),
        "it is there already: {said}"
    );
    let text = fs::read_to_string(&file).unwrap();
    let two: Value = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line["id"] == "two")
        .unwrap();
    assert_eq!(
        (
            &two["dead_letter"]["class"],
            &two["dead_letter"]["line"],
            &two["dead_letter"]["reason"]["kind"]
        ),
        (&json!("transient"), &json!(2), &json!("status"))
    );
    publish(&server, text).done().exits(0);
    assert_eq!(stored_ids(&server), ["one", "three", "two"]);
    let stdout = pubsink(&export[..4])
        .arguments(&["--source", "a"])
        .done()
        .exits(0)
        .stdout;
    assert_eq!(stdout.lines().count(), 1);

    let discard = [
        "dead-letters",
        "discard",
        "--journal",
        &dir,
        "--source",
        "b",
    ];
    let said = pubsink(&discard).done().exits(2).stderr;
    assert_eq!(
        said,
        "pubsink: 2 dead letters would be removed for good; --yes does it\n"
    );
    assert_eq!(listed(&dir, &[]).len(), 3);
    let said = pubsink(&discard)
        .arguments(&["--yes"])
        .done()
        .exits(0)
        .stderr;
    assert_eq!(said, "pubsink: 2 dead letters discarded\n");
    assert_eq!(listed(&dir, &[]).len(), 1);
    let said = pubsink(&["dead-letters", "discard", "--journal", &dir]).done();
    assert_eq!(
        said.exits(2).stderr,
        "pubsink: 1 dead letter would be removed for good; --yes does it\n"
    );
}

#[test]
fn a_journal_shows_what_it_holds() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    journal(&server, &dir);
    let text = pubsink(&["journal", "--journal", &dir])
        .done()
        .exits(0)
        .stdout;
    let totals: Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(
        (&totals["what"], &totals["rows"], &totals["dead_letters"]),
        (&json!("totals"), &json!(0), &json!(3))
    );
}

#[test]
fn a_look_at_a_journal_begins_none() {
    let scratch = Scratch::new();
    let (none, empty) = (scratch.path("none"), scratch.path("empty"));
    fs::create_dir(&empty).unwrap();
    let file = scratch.file("file", "");
    for command in [
        &["journal"][..],
        &["dead-letters", "list"],
        &["dead-letters", "show", "1"],
        &["dead-letters", "export"],
        &["dead-letters", "discard", "--yes"],
        &["replay", "--project", "p", "--topic", "hooks"],
    ] {
        for dir in [&none, &empty, &file] {
            let done = pubsink(command).arguments(&["--journal", dir]).done();
            let said = format!("pubsink: there is no journal in {dir}\n");
            assert_eq!(done.exits(2).stderr, said, "{command:?}");
        }
    }
    assert!(!fs::exists(none).unwrap());
    assert_eq!(fs::read_dir(empty).unwrap().count(), 0);
}

#[test]
fn a_key_that_a_dead_letter_stopped_goes_on_when_it_is_resumed() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    server
        .broker(|broker| broker.reject_data(TOPIC, "\"h0003\""))
        .unwrap();
    let run = || {
        let ordered = [
            "--ordering-key",
            "k",
            "--ordering-on-failure",
            "hold",
            "--on-dead",
            "stop",
        ];
        publish(&server, hooks(6))
            .arguments(&["--journal", &dir])
            .arguments(&ordered)
    };
    let done = run().done().exits(1);
    assert_eq!(stored_ids(&server), ids(2));
    assert!(
        done.stderr.ends_with(&format!(
            "pubsink: key \"k\" is stopped, and 3 hooks wait behind it: `pubsink journal --journal \
             {dir} --resume-key \"k\"`, then run again\npubsink: 2 delivered, 1 failed\n"
        )),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains("goes on"), "{}", done.stderr);
    // Without the flags that keep order.
    for flags in [&[][..], &["--ordering-on-failure", "hold"]] {
        let run = publish(&server, "").arguments(&["--journal", &dir]);
        let said = run.arguments(flags).done().exits(2).stderr;
        assert!(said.contains("has hooks with ordering keys, "), "{said}");
    }
    let text = pubsink(&["journal", "--journal", &dir])
        .done()
        .exits(0)
        .stdout;
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines[1],
        json!({
            "what": "rows", "sink": TOPIC, "source_id": "cli", "key": "k", "rows": 3,
            "stopped": true,
        })
    );
    assert_eq!(
        (
            &lines[2]["what"],
            &lines[2]["key"],
            &lines[2]["cause"]["kind"]
        ),
        (&json!("stopped_key"), &json!("k"), &json!("pubsub"))
    );
    let cause = &lines[2]["cause"];
    assert_eq!(
        (&cause["class"], &cause["may_have_been_stored"]),
        (&json!("permanent"), &json!(false))
    );
    assert_eq!(lines[2]["source_id"], "cli");
    let resume = |key: &str| pubsink(&["journal", "--journal", &dir, "--resume-key", key]).done();
    resume("other").exits(1);
    let said = resume("k").exits(0).stderr;
    assert_eq!(
        said,
        format!("pubsink: key \"k\" of source \"cli\" for {TOPIC} goes on\n")
    );
    run().done().exits(1);
    let replay = ["replay", "--project", "p", "--topic", "hooks"];
    let replay = pubsink(&replay).arguments(&["--journal", &dir]);
    let said = replay.done().exits(2).stderr;
    assert!(
        said.contains("has dead letters with ordering keys, "),
        "{said}"
    );
    let ids: Vec<_> = ids(6).into_iter().filter(|id| id != "h0003").collect();
    assert_eq!(stored_ids(&server), ids);
}

#[test]
fn a_hook_that_is_too_large_stops_its_key_in_a_journal_only() {
    let hold = ["--ordering-key", "k", "--ordering-on-failure", "hold"];
    let limit = ["--inline-max-bytes", "10"];
    let input = hooks(4).replace("body 2", "far too large");
    let run = |server: &Server, more: &[&str]| {
        let run = publish(server, input.as_str()).arguments(&hold);
        run.arguments(&limit).arguments(more).done().exits(1)
    };
    let (direct, kept, scratch) = (server(), server(), Scratch::new());
    run(&direct, &[]);
    assert_eq!(stored_ids(&direct), ["h0001", "h0003", "h0004"]);
    let dir = scratch.path("j");
    let done = run(&kept, &["--journal", &dir, "--on-dead", "stop"]);
    assert_eq!(stored_ids(&kept), ["h0001"]);
    assert!(
        done.stderr
            .contains("key \"k\" is stopped, and 2 hooks wait"),
        "{}",
        done.stderr
    );
}
