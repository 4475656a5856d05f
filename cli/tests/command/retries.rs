//! Attempts: which failures get another one, and what is told of them.

use std::time::Duration;

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use serde_json::{Value, json};

use super::support::{TOPIC, eventually, hooks, ids, publish, server, stored_ids};

fn delivered_after(action: Action, times: u64) -> (Server, Value) {
    let server = server();
    server.script([Rule::on(Match::publish()).times(times).then(action)]);
    let run = publish(&server, hooks(1)).arguments(&["--timeout-ms", "1000"]);
    let outcome = run.done().exits(0).outcomes().remove(0);
    (server, outcome)
}

#[test]
fn a_hook_is_delivered_by_the_third_attempt_after_two_503() {
    let (server, outcome) = delivered_after(Action::status(503, "busy"), 2);
    assert_eq!(
        (&outcome["outcome"], &outcome["attempts"]),
        (&json!("delivered"), &json!(3))
    );
    assert_eq!(server.log().publishes().len(), 3);
    assert_eq!(stored_ids(&server), ids(1));
}

#[test]
fn attempts_end_at_the_number_asked_for() {
    let server = server();
    server.script([Rule::on(Match::publish()).then(Action::status(500, "broken"))]);
    let outcomes = |n: &str| {
        server.clear_log();
        let run = publish(&server, hooks(1)).arguments(&["--max-attempts", n]);
        let outcome = run.done().exits(1).outcomes().remove(0);
        (
            outcome["attempts"].as_u64().unwrap(),
            server.log().publishes().len(),
        )
    };
    assert_eq!(outcomes("1"), (1, 1));
    assert_eq!(outcomes("3"), (3, 3));
}

#[test]
fn permanent_and_config_failures_are_never_tried_again() {
    for status in [
        Status::invalid_argument("bad"),
        Status::not_found("none"),
        Status::new(403, "PERMISSION_DENIED", "no"),
    ] {
        let server = server();
        server.script([Rule::on(Match::publish()).then(Action::refuse(&status))]);
        let outcome = publish(&server, hooks(1))
            .done()
            .exits(1)
            .outcomes()
            .remove(0);
        assert_eq!(
            (&outcome["attempts"], &outcome["class"]),
            (&json!(1), &json!("permanent"))
        );
        assert_eq!(server.log().publishes().len(), 1, "{status}");
    }
}

#[test]
fn a_stale_connection_costs_an_attempt_and_nothing_else() {
    let server = server();
    server.script([Rule::on(Match::first_byte_kept_alive())
        .times(1)
        .then(Action::reset())]);
    let mut running = publish(&server, hooks(1)).start();
    eventually("the first is stored", || server.stored(TOPIC).len() == 1);
    running.write("{\"id\":\"h0002\"}\n");
    eventually("the second is stored", || server.stored(TOPIC).len() == 2);
    running.close_input();
    let outcomes = running.wait().exits(0).outcomes();
    assert_eq!(
        (&outcomes[0]["attempts"], &outcomes[1]["attempts"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(server.gauges().connections, 2);
}

#[test]
fn a_hook_that_an_earlier_attempt_may_have_stored_says_so() {
    let (server, outcome) = delivered_after(Action::reset().store(), 1);
    assert_eq!(
        (&outcome["attempts"], &outcome["may_be_twice"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(server.stored(TOPIC).len(), 2, "here it was");
    let (server, outcome) = delivered_after(Action::never_answer(), 1);
    assert_eq!(
        (&outcome["attempts"], &outcome["may_be_twice"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(server.stored(TOPIC).len(), 1, "here it was not");
}

#[test]
fn a_hook_that_was_certainly_refused_before_is_not_said_to_be_twice() {
    let (_, outcome) = delivered_after(Action::refuse(&Status::resource_exhausted("wait")), 1);
    assert_eq!(
        (&outcome["attempts"], outcome.get("may_be_twice")),
        (&json!(2), None)
    );
}

#[test]
fn a_failed_hook_remembers_that_any_attempt_may_have_stored_it() {
    let server = server();
    server.script([
        Rule::on(Match::publish())
            .times(1)
            .then(Action::reset().store()),
        Rule::on(Match::publish()).then(Action::refuse(&Status::not_found("gone"))),
    ]);
    let outcome = publish(&server, hooks(1))
        .done()
        .exits(1)
        .outcomes()
        .remove(0);
    assert_eq!(
        (&outcome["attempts"], &outcome["class"]),
        (&json!(2), &json!("permanent"))
    );
    assert_eq!(outcome["may_have_been_stored"], true);
}

#[test]
fn one_refused_hook_among_many_costs_the_others_nothing() {
    let server = server();
    server
        .broker(|broker| broker.reject_data(TOPIC, "\"h0033\""))
        .unwrap();
    let outcomes = publish(&server, hooks(64)).done().exits(1).outcomes();
    let failed: Vec<_> = outcomes
        .iter()
        .filter(|outcome| outcome["outcome"] == "failed")
        .collect();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &json!("h0033")));
    assert_eq!(server.stored(TOPIC).len(), 63);
}

#[test]
fn retries_wait_between_attempts() {
    let server = server();
    server.script([Rule::on(Match::publish()).times(1).then(Action::answer(
        503,
        &[("retry-after", "1")],
        "busy",
    ))]);
    publish(&server, hooks(1)).done().exits(0);
    let log = server.log();
    let at: Vec<_> = log.publishes().iter().map(|request| request.at).collect();
    assert!(
        at[1] - at[0] >= Duration::from_millis(1000),
        "{:?}",
        at[1] - at[0]
    );
}
