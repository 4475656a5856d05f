//! `--wire`: the same commands over gRPC.

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::support::{Scratch, bench, hooks, ids, publish, pubsink, server, stored_ids};

const CALL: &str = "/google.pubsub.v1.Publisher/Publish";

/// Every publish was a call over gRPC.
fn assert_calls(server: &Server) {
    let log = server.log();
    let publishes = log.publishes();
    assert!(!publishes.is_empty());
    for publish in publishes {
        assert_eq!(
            (publish.path.as_str(), publish.version),
            (CALL, http::Version::HTTP_2)
        );
    }
}

#[test]
fn publish_speaks_grpc_on_either_runtime() {
    for runtime in ["tokio", "smol"] {
        let server = server();
        let run = publish(&server, hooks(12));
        let run = run.arguments(&["--wire", "grpc", "--runtime", runtime]);
        run.done().exits(0);
        assert_eq!(stored_ids(&server), ids(12));
        assert_calls(&server);
    }
}

#[test]
fn a_status_is_the_reason_of_an_outcome() {
    let server = server();
    let refused = Action::refuse(&Status::not_found("no topic"));
    server.script([Rule::on(Match::publish()).then(refused)]);
    let run = publish(&server, hooks(1)).arguments(&["--wire", "grpc"]);
    let line = run.done().exits(1).stdout;
    let outcome: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(outcome["config"], true);
    let reason = serde_json::json!({
        "kind": "pubsub",
        "http": 404,
        "status": "NOT_FOUND",
        "message": "no topic",
    });
    assert_eq!(outcome["reason"], reason);
}

#[test]
fn a_journal_is_replayed_over_grpc() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    let refused = Action::refuse(&Status::not_found("no topic"));
    server.script([Rule::on(Match::publish()).then(refused)]);
    let run = publish(&server, hooks(3)).arguments(&["--wire", "grpc", "--journal", &dir]);
    run.done().exits(1);
    server.script([]);
    let replay = [
        "replay",
        "--project",
        "p",
        "--topic",
        "hooks",
        "--wire",
        "grpc",
    ];
    let to = ["--endpoint", &server.endpoint(), "--journal", &dir];
    pubsink(&replay).arguments(&to).done().exits(0);
    assert_eq!(stored_ids(&server), ids(3));
    assert_calls(&server);
}

#[test]
fn the_benchmark_is_over_rest_unless_it_is_told() {
    let server = server();
    bench(&server)
        .arguments(&["--wire", "grpc"])
        .done()
        .exits(0);
    assert_calls(&server);
    server.clear_log();
    bench(&server).done().exits(0);
    let log = server.log();
    assert!(log.publishes().iter().all(|publish| publish.path != CALL));
}

#[test]
fn another_wire_is_bad_usage() {
    let run = publish(&server(), hooks(1)).arguments(&["--wire", "soap"]);
    let said = run.done().exits(2).stderr;
    assert!(said.contains("rest") && said.contains("grpc"), "{said}");
}
