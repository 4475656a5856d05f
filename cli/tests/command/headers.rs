//! Which of a hook's headers travel, without a journal and with one, and as dead letters.

use std::collections::BTreeMap;

use pubsink_core::message;
use pubsink_fixtures::server::Server;
use serde_json::{Value, json};

use super::support::{Done, Run, Scratch, TOPIC, hooks, publish, publish_to, pubsink, server};

const HOOK: &str = "{\"id\":\"h\",\"headers\":[[\"X-One\",\"1\"],[\"X-Two\",\"22\"],[\"X-Three\",\"333\"],\
                    [\"Authorization\",\"hunter2\"],[\"x-ankusa-id\",\"hunter2\"]]}\n";

/// Every way of a hook, with these flags, to a server of its own.
fn every_way(flags: &[&str], look: impl Fn(&Server, &Done)) {
    let scratch = Scratch::new();
    let file = scratch.file("dead.ndjson", HOOK);
    let (dir, dead) = (scratch.path("j"), scratch.path("k"));
    journal_of_dead(&dead);
    let to = |command: &str, server: &Server| {
        let run = pubsink(&[command, "--project", "p", "--topic", "hooks"]);
        run.arguments(&["--endpoint", &server.endpoint(), "--outcomes", "-"])
    };
    let ways: [&dyn Fn(&Server) -> Run; 4] = [
        &|server| publish(server, HOOK),
        &|server| publish(server, HOOK).arguments(&["--journal", &dir]),
        &|server| to("replay", server).arguments(&["--from", &file]),
        &|server| to("replay", server).arguments(&["--journal", &dead]),
    ];
    for way in ways {
        let server = server();
        let done = way(&server).arguments(flags).done().exits(0);
        look(&server, &done);
    }
}

/// A journal whose only hook died, as the topic was not there.
fn journal_of_dead(dir: &str) {
    let nowhere = Server::start().unwrap();
    let run = publish_to(&nowhere.endpoint(), HOOK);
    run.arguments(&["--journal", dir]).done().exits(1);
}

/// The headers of the one message that the server has.
fn forwarded(server: &Server) -> BTreeMap<String, String> {
    let stored = server.stored(TOPIC);
    assert_eq!(stored.len(), 1);
    message::decode(&stored[0].message.data).unwrap().headers
}

fn names(server: &Server) -> Vec<String> {
    forwarded(server).into_keys().collect()
}

fn outcome(done: &Done) -> Value {
    serde_json::from_str(done.stdout.trim_end()).unwrap()
}

#[test]
fn by_default_every_header_travels_that_may() {
    every_way(&[], |server, done| {
        let expected = [("x-one", "1"), ("x-three", "333"), ("x-two", "22")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(forwarded(server), BTreeMap::from(expected));
        assert_eq!(outcome(done).get("diagnostics"), None);
    });
}

#[test]
fn a_list_replaces_the_default_and_none_is_none() {
    let list = ["--forward-header", "X-THREE", "--forward-header", "x-one"];
    every_way(&list, |server, done| {
        assert_eq!(names(server), ["x-one", "x-three"]);
        assert_eq!(outcome(done).get("diagnostics"), None);
    });
    every_way(&["--no-forward-headers"], |server, done| {
        assert_eq!(names(server), [""; 0]);
        assert_eq!(outcome(done).get("diagnostics"), None);
    });
}

#[test]
fn what_a_bound_leaves_out_is_named_in_the_outcome() {
    let left = |done: &Done| outcome(done)["diagnostics"].clone();
    every_way(&["--max-headers", "1"], |server, done| {
        assert_eq!(names(server), ["x-one"]);
        assert_eq!(
            left(done),
            json!({"headers_left_out": ["x-two", "x-three"]})
        );
    });
    // Room for the first and the second, and none for the third.
    every_way(&["--forward-headers-max-bytes", "15"], |server, done| {
        assert_eq!(names(server), ["x-one", "x-two"]);
        assert_eq!(left(done), json!({"headers_left_out": ["x-three"]}));
    });
    let both = ["--forward-header", "x-two", "--forward-header", "x-three"];
    every_way(
        &[&both[..], &["--max-headers", "1"]].concat(),
        |server, done| {
            assert_eq!(names(server), ["x-two"]);
            assert_eq!(left(done), json!({"headers_left_out": ["x-three"]}));
        },
    );
}

#[test]
fn what_is_never_forwarded_stays_although_it_is_asked_for_and_that_is_told() {
    let asked = ["Authorization", "x-ankusa-id", "x-one"];
    let flags: Vec<_> = asked
        .iter()
        .flat_map(|name| ["--forward-header", name])
        .collect();
    every_way(&flags, |server, done| {
        assert_eq!(names(server), ["x-one"]);
        let stderr = &done.stderr;
        for (name, told) in [("authorization", 1), ("x-ankusa-id", 1), ("x-one", 0)] {
            let words =
                format!("pubsink: --forward-header {name}: this header is never forwarded\n");
            assert_eq!(stderr.matches(&words).count(), told, "{stderr}");
        }
        assert!(!stderr.contains("hunter2") && !done.stdout.contains("hunter2"));
    });
}

#[test]
fn flags_that_contradict_one_another_and_names_that_are_none_are_bad_usage() {
    let refused = |arguments: &[&str]| {
        let run = publish_to("http://127.0.0.1:1", hooks(1)).arguments(arguments);
        run.done().exits(2).stderr
    };
    for flags in [
        ["--forward-header", "x"],
        ["--max-headers", "1"],
        ["--forward-headers-max-bytes", "1"],
    ] {
        let said = refused(&[&flags[..], &["--no-forward-headers"]].concat());
        assert!(said.contains("cannot be used with"), "{said}");
        assert!(
            said.contains(flags[0]) && said.contains("--no-forward-headers"),
            "{said}"
        );
    }
    for name in ["", "x y", "x:", "é", "x\n"] {
        let said = refused(&["--forward-header", name]);
        assert!(said.contains("no name of a header"), "{said}");
    }
    let said = refused(&["--max-headers", "many"]);
    assert!(said.contains("--max-headers <N>"), "{said}");
}
