//! Dead letters: nothing that failed is lost, and all of it can be published again.

use std::fs;

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::hooks::sample_ndjson;
use serde_json::Value;

use super::support::{
    Scratch, eventually, hooks, ids, publish, publish_to, server, stored_bodies, stored_ids,
};

#[test]
fn what_failed_can_be_published_again_and_is_the_same_then() {
    let scratch = Scratch::new();
    let dead = scratch.path("dead.ndjson");
    let count = sample_ndjson().lines().count();
    let first = server();
    first.script([Rule::on(Match::publish()).then(Action::refuse(&Status::not_found("no")))]);
    publish(&first, sample_ndjson())
        .arguments(&["--dead-letters", &dead])
        .done()
        .exits(1);
    let second = server();
    publish(&second, "")
        .arguments(&["--input", &dead])
        .done()
        .exits(0);
    let direct = server();
    publish(&direct, sample_ndjson()).done().exits(0);
    let data = |server: &pubsink_fixtures::server::Server| {
        let stored = server.stored(super::support::TOPIC);
        let mut messages: Vec<_> = stored.iter().map(|one| one.message.clone()).collect();
        messages.sort_by(|one, other| one.data.cmp(&other.data));
        messages
    };
    assert_eq!(data(&second).len(), count);
    assert!(
        data(&second) == data(&direct),
        "dead letters changed what is sent"
    );
}

#[test]
fn a_dead_letter_tells_its_failure() {
    let (server, scratch) = (server(), Scratch::new());
    let dead = scratch.path("dead.ndjson");
    server.script([Rule::on(Match::publish()).then(Action::reset())]);
    let run =
        publish(&server, hooks(1)).arguments(&["--dead-letters", &dead, "--max-attempts", "2"]);
    run.done().exits(1);
    let line: Value = serde_json::from_str(&fs::read_to_string(dead).unwrap()).unwrap();
    let about = &line["dead_letter"];
    assert_eq!(
        (&line["id"], &line["body"]),
        (&"h0001".into(), &"body 1".into())
    );
    assert_eq!(
        (&about["line"], &about["class"], &about["config"]),
        (&1.into(), &"transient".into(), &false.into())
    );
    assert_eq!(
        (&about["reason"]["kind"], &about["attempts"]),
        (&"transport".into(), &2.into())
    );
    assert_eq!(about["may_have_been_stored"], true);
    assert!(about["failed_at"].as_i64().unwrap() > 1_700_000_000_000);
}

#[test]
fn a_line_that_is_no_hook_is_kept_as_it_was() {
    let (server, scratch) = (server(), Scratch::new());
    let dead = scratch.path("dead.ndjson");
    let broken: &[u8] = b" {\"id\":\"x\", \xFF\xFE broken\t\r\n";
    let input = [hooks(1).as_bytes(), broken, b"{\"id\":\"h0002\"}\n"].concat();
    publish(&server, input)
        .arguments(&["--dead-letters", &dead])
        .done()
        .exits(1);
    assert_eq!(fs::read(&dead).unwrap(), broken);
    assert_eq!(stored_ids(&server), ids(2));
}

#[test]
fn dead_letters_are_appended_behind_a_whole_line() {
    let (server, scratch) = (server(), Scratch::new());
    let dead = scratch.file("dead.ndjson", "{\"id\":\"earlier\"}\n{\"id\":\"cut");
    publish(&server, "no hook\n")
        .arguments(&["--dead-letters", &dead])
        .done()
        .exits(1);
    let kept = fs::read_to_string(&dead).unwrap();
    assert_eq!(kept, "{\"id\":\"earlier\"}\n{\"id\":\"cut\nno hook\n");
    assert_eq!(stored_bodies(&server).len(), 0);
}

#[test]
fn letters_behind_one_that_a_full_disk_cut_can_be_read_again() {
    let (server, scratch) = (server(), Scratch::new());
    let dead = scratch.path("dead.ndjson");
    let first = format!("no hook {}\n", "x".repeat(8_000));
    let run = publish(&server, first).arguments(&["--dead-letters", &dead]);
    let full = "trap '' XFSZ; ulimit -f 4; exec \"$@\"";
    let mut running = run.by_shell(full).start();
    eventually("a part of the letter is there", || {
        fs::metadata(&dead).is_ok_and(|data| data.len() > 1_000)
    });
    // There is room again.
    let file = fs::File::options().write(true).open(&dead).unwrap();
    file.set_len(10).unwrap();
    running.write("no hook two\nno hook three\n");
    running.close_input();
    let done = running.wait().exits(1);
    let kept = fs::read_to_string(&dead).unwrap();
    assert_eq!(kept, "no hook xx\nno hook two\nno hook three\n");
    assert!(
        done.stderr
            .contains("line 1 could not be kept as a dead letter"),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains("line 2 could not"), "{}", done.stderr);
}

#[test]
fn dead_letters_and_outcomes_are_never_the_same_file_even_if_there_was_none() {
    let (server, scratch) = (server(), Scratch::new());
    let (new, link) = (scratch.path("new.ndjson"), scratch.path("link.ndjson"));
    let refused = |outcomes: &str, dead_letters: &str| {
        let run = publish(&server, hooks(1)).arguments(&["--dead-letters", dead_letters]);
        let run = run.by_shell(&format!("exec \"$@\" >> '{new}'"));
        let run = if outcomes == "-" {
            run
        } else {
            publish_to(&server.endpoint(), hooks(1)).arguments(&[
                "--outcomes",
                outcomes,
                "--dead-letters",
                dead_letters,
            ])
        };
        let said = run.done().exits(2).stderr;
        assert_eq!(
            said,
            "pubsink: --outcomes and --dead-letters are the same file\n"
        );
    };
    refused(&new, &new);
    fs::remove_file(&new).unwrap();
    std::os::unix::fs::symlink(&new, &link).unwrap();
    refused(&new, &link);
    fs::remove_file(&new).unwrap();
    refused(&link, &new);
    refused("-", &new);
    assert_eq!(server.log().total(), 0);
}

#[test]
fn a_usage_error_leaves_outcomes_of_an_earlier_run() {
    let (server, scratch) = (server(), Scratch::new());
    let outcomes = scratch.file("outcomes.ndjson", "earlier\n");
    for (dead, words) in [
        ("-", "cannot write --dead-letters -: it must be a file"),
        ("/", "cannot write --dead-letters /: "),
        (outcomes.as_str(), "are the same file"),
    ] {
        let run = publish_to(&server.endpoint(), hooks(1));
        let run = run.arguments(&["--outcomes", &outcomes, "--dead-letters", dead]);
        let said = run.done().exits(2).stderr;
        assert!(said.contains(words), "{said}");
        assert_eq!(fs::read_to_string(&outcomes).unwrap(), "earlier\n");
    }
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn the_input_is_never_its_own_dead_letters_or_outcomes() {
    let (server, scratch) = (server(), Scratch::new());
    let input = scratch.file("hooks.ndjson", hooks(2));
    let link = scratch.path("link.ndjson");
    fs::hard_link(&input, &link).unwrap();
    for (flag, words) in [
        (
            "--dead-letters",
            "--dead-letters is the input itself, which would grow while it is read",
        ),
        (
            "--outcomes",
            "--outcomes is the input itself, which would be overwritten",
        ),
    ] {
        let run = publish_to(&server.endpoint(), "").arguments(&["--input", &input, flag, &link]);
        let done = run.done().exits(2);
        assert!(done.stderr.contains(words), "{}", done.stderr);
    }
    assert_eq!(fs::read_to_string(&input).unwrap(), hooks(2));
    assert_eq!(server.log().total(), 0);
}
