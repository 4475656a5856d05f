//! Each kind of reason a delivery can fail for.

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use serde_json::{Value, json};

use super::support::{hooks, ids, publish, publish_to, server, stored_ids};

/// The one outcome of one hook, tried once.
fn failed(server: &Server, arguments: &[&str]) -> Value {
    let run = publish(server, hooks(1))
        .arguments(&["--max-attempts", "1"])
        .arguments(arguments);
    run.done().exits(1).outcomes().remove(0)
}

/// The same, where the server does this.
fn answered(action: Action) -> Value {
    let server = server();
    server.script([Rule::on(Match::publish()).then(action)]);
    failed(&server, &["--timeout-ms", "2000"])
}

#[track_caller]
fn is(outcome: &Value, class: &str, reason: &Value) {
    assert_eq!(
        (&outcome["class"], &outcome["reason"]),
        (&json!(class), reason)
    );
}

#[test]
fn message_too_large_costs_no_request() {
    let server = server();
    let outcome = failed(&server, &["--max-message-bytes", "10"]);
    let reason = &outcome["reason"];
    assert_eq!(
        (&outcome["class"], &reason["kind"], &reason["max"]),
        (&json!("permanent"), &json!("message_too_large"), &json!(10))
    );
    assert!(reason["size"].as_u64().unwrap() > 10);
    assert_eq!(server.log().total(), 0);
}

#[test]
fn invalid_message_costs_no_request() {
    let server = server();
    let key = "é".repeat(513);
    let hook = format!("{{\"headers\":{{\"k\":\"{key}\"}},\"body\":\"b\"}}\n");
    let run = publish(&server, hook).arguments(&["--ordering-key-header", "k"]);
    let outcome = run.done().exits(1).outcomes().remove(0);
    let reason = json!({"kind": "invalid_message", "problem": "ordering_key_too_long", "size": 1026, "max": 1024});
    is(&outcome, "permanent", &reason);
    assert_eq!(server.log().total(), 0);
}

#[test]
fn claim_check_costs_no_request() {
    let server = server();
    let outcome = failed(&server, &["--inline-max-bytes", "5"]);
    let reason = json!({"kind": "claim_check", "problem": "missing", "size": 6, "max": 5});
    is(&outcome, "permanent", &reason);
    assert_eq!(server.log().total(), 0);
}

#[test]
fn batch_queue_full_is_never_met_since_the_input_waits() {
    let server = server();
    let run = publish(&server, hooks(9)).arguments(&["--batch-queue-bytes", "1"]);
    run.arguments(&["--batch-linger-ms", "1", "--max-attempts", "1"])
        .done()
        .exits(0);
    assert_eq!(stored_ids(&server), ids(9));
}

#[test]
fn pubsub_is_an_error_document() {
    let outcome = answered(Action::refuse(&Status::new(500, "INTERNAL", "sorry")));
    let reason = json!({"kind": "pubsub", "http": 500, "status": "INTERNAL", "message": "sorry"});
    is(&outcome, "transient", &reason);
    assert_eq!(outcome["may_have_been_stored"], true);
}

#[test]
fn status_is_an_answer_of_something_else() {
    let outcome = answered(Action::status(302, "over there"));
    is(
        &outcome,
        "transient",
        &json!({"kind": "status", "http": 302, "body": "over there"}),
    );
    let outcome = answered(Action::status(503, "busy"));
    is(
        &outcome,
        "throttled",
        &json!({"kind": "status", "http": 503, "body": "busy"}),
    );
}

#[test]
fn unexpected_reply_is_a_200_without_the_ids() {
    let outcome = answered(Action::answer(200, &[], r#"{"messageIds":[]}"#));
    is(
        &outcome,
        "transient",
        &json!({"kind": "unexpected_reply", "body": r#"{"messageIds":[]}"#}),
    );
    assert_eq!(outcome["may_have_been_stored"], true);
}

#[test]
fn a_long_answer_is_cut_and_an_endless_one_is_not_read_to_its_end() {
    let outcome = answered(Action::status(503, "x".repeat(100_000)));
    let body = outcome["reason"]["body"].as_str().unwrap();
    assert!(
        body.len() < 9_000 && body.ends_with("bytes in all)"),
        "{}",
        body.len()
    );
    let outcome = answered(Action::endless_body(200));
    let kind = &outcome["reason"]["kind"];
    assert!(kind == "unexpected_reply" || kind == "transport", "{kind}");
    assert!(outcome.to_string().len() < 10_000);
    assert_eq!(outcome["may_have_been_stored"], true);
}

#[test]
fn transport_tells_where_a_request_broke() {
    let server = server();
    server.refuse_connections(true).unwrap();
    let outcome = failed(&server, &[]);
    assert_eq!(
        (&outcome["class"], &outcome["reason"]["transport"]),
        (&json!("transient"), &json!("connect"))
    );
    assert_eq!(
        outcome.get("may_have_been_stored"),
        None,
        "nothing was sent"
    );
    for (action, transport) in [
        (Action::never_answer(), "timeout"),
        (Action::reset(), "connection"),
    ] {
        let outcome = answered(action);
        let reason = &outcome["reason"];
        assert_eq!(
            (&reason["kind"], &reason["transport"]),
            (&json!("transport"), &json!(transport))
        );
        assert_eq!(
            (&outcome["class"], &outcome["may_have_been_stored"]),
            (&json!("transient"), &json!(true))
        );
    }
}

#[test]
fn a_host_that_does_not_exist_is_a_transport_failure() {
    let run = publish_to("http://does-not-exist.invalid", hooks(1));
    let run = run.arguments(&["--max-attempts", "1", "--outcomes", "-"]);
    let outcome = run.done().exits(1).outcomes().remove(0);
    assert_eq!(outcome["reason"]["kind"], "transport");
}

#[test]
fn a_topic_that_does_not_exist_is_the_operators_to_mend_and_is_never_created() {
    let server = Server::start().unwrap();
    let outcome = failed(&server, &[]);
    assert_eq!(
        (&outcome["class"], &outcome["config"]),
        (&json!("permanent"), &json!(true))
    );
    assert_eq!(outcome["reason"]["status"], "NOT_FOUND");
    let methods: Vec<_> = server
        .log()
        .requests()
        .iter()
        .map(|request| request.method.clone())
        .collect();
    assert_eq!(methods, ["POST"]);
}
