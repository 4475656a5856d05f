//! `--gzip-above`: the same commands with requests that are compressed.

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::support::{Scratch, bench, hooks, ids, publish, pubsink, server, stored_ids};

/// How many publish requests said that they are compressed, and how many did not.
fn compressed(server: &Server) -> (usize, usize) {
    let is_gzip = |(name, value): &(String, String)| {
        matches!(&**name, "content-encoding" | "grpc-encoding") && value == "gzip"
    };
    let log = server.log();
    let publishes = log.publishes();
    let says = publishes
        .iter()
        .filter(|one| one.headers.iter().any(is_gzip));
    let says = says.count();
    (says, publishes.len() - says)
}

#[test]
fn publish_compresses_on_either_wire_and_runtime_what_is_larger() {
    for runtime in ["tokio", "smol"] {
        for wire in ["rest", "grpc"] {
            let server = server();
            let run = publish(&server, hooks(12)).arguments(&["--wire", wire]);
            let run = run.arguments(&["--runtime", runtime, "--batch-linger-ms", "1000"]);
            run.arguments(&["--gzip-above", "500"]).done().exits(0);
            assert_eq!(compressed(&server), (1, 0), "{wire} {runtime}");
            let run = publish(&server, hooks(12)).arguments(&["--gzip-above", "1000000"]);
            run.done().exits(0);
            assert_eq!(compressed(&server).0, 1, "none is as large");
            assert_eq!(stored_ids(&server).len(), 24);
        }
    }
}

#[test]
fn a_replay_compresses_too() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    let refused = Action::refuse(&Status::not_found("no topic"));
    server.script([Rule::on(Match::publish()).then(refused)]);
    publish(&server, hooks(3))
        .arguments(&["--journal", &dir])
        .done()
        .exits(1);
    assert_eq!(compressed(&server).0, 0, "nobody asked for it");
    server.script([]);
    server.clear_log();
    let to = ["--endpoint", &server.endpoint(), "--journal", &dir];
    let replay = ["replay", "--project", "p", "--topic", "hooks"];
    let replay = pubsink(&replay).arguments(&to);
    let gzip = ["--gzip-above", "0", "--gzip-level", "9"];
    replay.arguments(&gzip).done().exits(0);
    let (says, others) = compressed(&server);
    assert!(says > 0 && others == 0, "{says} {others}");
    assert_eq!(stored_ids(&server), ids(3));
}

#[test]
fn the_benchmark_compresses_where_it_is_told() {
    let server = server();
    bench(&server)
        .arguments(&["--gzip-above", "100"])
        .done()
        .exits(0);
    let (says, others) = compressed(&server);
    assert!(says > 0 && others == 0, "{says} {others}");
}
