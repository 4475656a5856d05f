//! What people and programs read of a stopped key.

use super::{failing, options};
use crate::sim::Sim;
use crate::sim::answers::{Answer, reply};
use crate::sim::messages::keyed;

/// Message 1 of each key fails; the failures of what came behind.
fn sim(keys: &[&str]) -> Sim {
    let options = options(|b| b.batch_max_entries(1).max_stopped_keys(1));
    let mut sim = Sim::new(&options, failing(&[1, 3], Answer::refused()));
    for (tag, key) in (1..).step_by(2).zip(keys) {
        sim.admit(tag, keyed(tag, key));
        sim.run();
        sim.admit(tag + 1, keyed(tag + 1, key));
        sim.run();
    }
    sim
}

#[test]
fn a_stopped_key_reads_well() {
    let sim = sim(&["account 17", "account 18"]);
    insta::assert_snapshot!(sim.failure(2), @r#"transient: ordering key "account 17" is stopped: an earlier message of it failed (permanent: Pub/Sub answered 400 INVALID_ARGUMENT: the server's text); resume the key to go on"#);
    insta::assert_json_snapshot!(sim.failure(2), @r#"
    {
      "class": "transient",
      "config": false,
      "reason": {
        "kind": "key_stopped",
        "key": "account 17",
        "cause": {
          "kind": "pubsub",
          "http": 400,
          "status": "INVALID_ARGUMENT",
          "message": "the server's text"
        },
        "class": "permanent",
        "config": false
      }
    }
    "#);
    insta::assert_snapshot!(sim.failure(4), @r#"transient: every ordering key is stopped: the table of stopped keys (max_stopped_keys) was full when a message of key "account 18" failed (permanent: Pub/Sub answered 400 INVALID_ARGUMENT: the server's text); resume all keys to go on"#);
    insta::assert_json_snapshot!(sim.failure(4), @r#"
    {
      "class": "transient",
      "config": false,
      "reason": {
        "kind": "key_stopped",
        "key": "account 18",
        "cause": {
          "kind": "pubsub",
          "http": 400,
          "status": "INVALID_ARGUMENT",
          "message": "the server's text"
        },
        "class": "permanent",
        "config": false,
        "every_key": true
      }
    }
    "#);
}

#[test]
fn a_failure_of_configuration_says_so() {
    let mut sim = Sim::new(
        &options(|b| b.batch_max_entries(1)),
        failing(&[1], Answer::error(404, "NOT_FOUND")),
    );
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run();
    insta::assert_snapshot!(sim.failure(2), @r#"transient: ordering key "k" is stopped: an earlier message of it failed (configuration: Pub/Sub answered 404 NOT_FOUND: the server's text); resume the key to go on"#);
}

#[test]
fn a_long_key_is_shown_by_its_head_and_kept_whole() {
    let key = "é".repeat(512);
    let sim = sim(&[&key]);
    assert_eq!(*sim.stopped(2).key, key);
    let shown = format!("ordering key \"{}\"… is stopped", "é".repeat(64));
    assert!(sim.stopped(2).to_string().starts_with(&shown));
}

#[test]
fn what_the_server_said_is_cut_in_the_first_failure_and_so_in_the_others() {
    let page = Answer::reply(reply(502, "x".repeat(100_000)));
    let mut sim = Sim::new(&options(|b| b.batch_max_entries(1)), failing(&[1], page));
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run();
    assert!(sim.failure(2).to_string().len() < 9_000);
}
