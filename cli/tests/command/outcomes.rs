//! The form of outcomes, and where they go.

use std::fs;

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::support::{Scratch, TOPIC, hooks, outcomes, publish, publish_to, server};

#[test]
fn a_delivered_hook_has_the_keys_of_the_contract_in_their_order() {
    let server = server();
    let done = publish(&server, hooks(1)).done().exits(0);
    let id = &server.stored(TOPIC)[0].message_id;
    let line = format!(
        "{{\"line\":1,\"id\":\"h0001\",\"outcome\":\"delivered\",\"message_id\":\"{id}\",\"attempts\":1}}\n"
    );
    assert_eq!(done.stdout, line);
}

#[test]
fn a_failed_hook_has_the_keys_of_the_contract_in_their_order() {
    let server = server();
    let refuse = |status: Status| {
        server.script([Rule::on(Match::publish()).then(Action::refuse(&status))]);
        publish(&server, hooks(1))
            .arguments(&["--max-attempts", "1"])
            .done()
            .exits(1)
            .stdout
    };
    assert_eq!(
        refuse(Status::not_found("no such topic")),
        "{\"line\":1,\"id\":\"h0001\",\"outcome\":\"failed\",\"class\":\"permanent\",\"config\":true,\
         \"reason\":{\"kind\":\"pubsub\",\"http\":404,\"status\":\"NOT_FOUND\",\"message\":\"no such topic\"},\
         \"attempts\":1}\n"
    );
    assert_eq!(
        refuse(Status::resource_exhausted("slow down")),
        "{\"line\":1,\"id\":\"h0001\",\"outcome\":\"failed\",\"class\":\"throttled\",\"config\":false,\
         \"reason\":{\"kind\":\"pubsub\",\"http\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\"slow down\"},\
         \"attempts\":1}\n"
    );
    assert_eq!(
        refuse(Status::invalid_argument("bad").with_reason("WHY", "pubsub.googleapis.com")),
        "{\"line\":1,\"id\":\"h0001\",\"outcome\":\"failed\",\"class\":\"permanent\",\"config\":false,\
         \"reason\":{\"kind\":\"pubsub\",\"http\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"bad\",\
         \"error_reason\":\"WHY\"},\"attempts\":1}\n"
    );
}

#[test]
fn every_line_has_one_outcome_whatever_becomes_of_it() {
    let server = server();
    server
        .broker(|broker| broker.reject_data(TOPIC, "\"h0005\""))
        .unwrap();
    let input = hooks(16).replace("{\"id\":\"h0009\"", "{\"id\":h0009");
    let done = publish(&server, input).done().exits(1);
    let outcomes = done.outcomes();
    let lines: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, (1..=16).collect::<Vec<_>>());
    let failed: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome["outcome"] == "failed")
        .map(|outcome| &outcome["line"])
        .collect();
    assert_eq!(failed, [5, 9]);
    assert_eq!(done.summary(), "pubsink: 14 delivered, 2 failed");
    assert_eq!(server.stored(TOPIC).len(), 14);
}

#[test]
fn outcomes_go_to_a_file_and_standard_output_stays_empty() {
    let (server, scratch) = (server(), Scratch::new());
    let path = scratch.file("outcomes.ndjson", "what was here before");
    let run = publish_to(&server.endpoint(), hooks(5)).arguments(&["--outcomes", &path]);
    assert_eq!(run.done().exits(0).stdout, "");
    assert_eq!(outcomes(&fs::read_to_string(path).unwrap()).len(), 5);
}

#[test]
fn without_outcomes_the_first_failures_are_told_and_the_rest_counted() {
    let server = server();
    let done = publish_to(&server.endpoint(), "no hook\n".repeat(12))
        .done()
        .exits(1);
    let told = done
        .stderr
        .lines()
        .filter(|line| line.starts_with("pubsink: line "))
        .count();
    assert_eq!((told, done.stdout.as_str()), (10, ""));
    let first = done.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("pubsink: line 1 failed: permanent: column 1: "),
        "{first}"
    );
    assert!(
        done.stderr
            .contains("further failures are counted; --outcomes - shows all")
    );
    assert_eq!(done.summary(), "pubsink: 0 delivered, 12 failed");
}

#[test]
fn an_outcome_is_written_while_the_input_is_still_open() {
    let (server, scratch) = (server(), Scratch::new());
    let path = scratch.path("outcomes.ndjson");
    let input = format!("{}no hook\n", hooks(1));
    let run = publish_to(&server.endpoint(), input).arguments(&["--outcomes", &path]);
    let mut running = run.start();
    super::support::eventually("both outcomes are there", || {
        fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == 2)
    });
    running.close_input();
    running.wait().exits(1);
}

#[test]
fn the_command_ends_when_the_last_answer_is_there_however_long_batches_linger() {
    let server = server();
    let started = std::time::Instant::now();
    let run = publish(&server, hooks(16)).arguments(&["--batch-linger-ms", "60000"]);
    assert_eq!(run.done().exits(0).outcomes().len(), 16);
    assert_eq!(server.log().publishes().len(), 1);
    assert!(started.elapsed().as_secs() < 30, "it waited for the linger");
}
