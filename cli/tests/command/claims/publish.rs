//! `--claims` of publish and replay.

use std::fs;
use std::os::unix::fs::symlink;

use ankusa::ClaimCheckError;
use nix::sys::signal::Signal;
use pubsink_core::claim::sha256_hex;
use pubsink_fixtures::faults::{Action, Match, Rule};
use serde_json::json;

use super::super::support::{
    Run, Scratch, TOPIC, eventually, hooks, publish, publish_to, pubsink, server, stored_ids,
};
use super::{ACME, OTHER, Serving, flip, large, large_hook, objects, published};

/// Both ways to the topic.
fn ways(scratch: &Scratch) -> [Vec<String>; 2] {
    [
        vec![],
        vec!["--journal".to_owned(), scratch.path("journal")],
    ]
}

fn texts(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn a_large_body_is_redeemed_by_the_formats_own_consumer() {
    let scratch = Scratch::new();
    for (number, way) in ways(&scratch).iter().enumerate() {
        let server = server();
        let dir = scratch.path(&format!("claims-{number}"));
        let input = large_hook("large") + &hooks(1);
        let run = publish(&server, input).arguments(&["--claims", &dir]);
        let outcomes = run.arguments(&texts(way)).done().exits(0).outcomes();
        assert_eq!(outcomes[0]["attempts"], json!(1));
        assert_eq!(stored_ids(&server), ["h0001", "large"]);
        let messages = published(&server);
        let message = messages.iter().find(|message| message.id == "large");
        let message = message.unwrap();
        assert_eq!(
            (message.body.is_none(), message.size),
            (true, 3 * 1024 * 1024)
        );
        let (claim, sha256) = (
            message.claim.clone().unwrap(),
            sha256_hex(large().as_bytes()),
        );
        assert_eq!(claim.tenant(), "acme");
        assert_eq!(objects(&dir).len(), 1, "the small one travels itself");

        let serving = Serving::start(&scratch, &dir);
        let body = serving.redeem(ACME, claim.as_str(), &sha256).unwrap();
        assert!(body == large().as_bytes());
        match serving.redeem(OTHER, claim.as_str(), &sha256).unwrap_err() {
            ClaimCheckError::Rejected { status, .. } => assert_eq!(status, 403),
            other => panic!("{other}"),
        }
        flip(&dir);
        let flipped = serving.redeem(ACME, claim.as_str(), &sha256).unwrap_err();
        assert!(
            matches!(flipped, ClaimCheckError::Integrity { .. }),
            "{flipped}"
        );
        let get = ["claims", "get", claim.as_str(), "--claims", &dir];
        let verified = ["--sha256", &sha256, "--size", "3145728"];
        let done = pubsink(&get).arguments(&verified).done().exits(1);
        assert_eq!(done.stdout, "");
        assert!(
            done.stderr.contains("is not its body: sha256 is "),
            "{}",
            done.stderr
        );
        fs::remove_file(&objects(&dir)[0]).unwrap();
        let gone = serving.redeem(ACME, claim.as_str(), &sha256).unwrap_err();
        assert!(matches!(gone, ClaimCheckError::NotFound), "{gone}");
        serving.end();
    }
}

#[test]
fn a_lost_reply_makes_no_second_claim() {
    let scratch = Scratch::new();
    for (number, way) in ways(&scratch).iter().enumerate() {
        let server = server();
        let dir = scratch.path(&format!("claims-{number}"));
        server.script([Rule::on(Match::publish())
            .times(1)
            .then(Action::reset().store())]);
        let run = publish(&server, large_hook("large")).arguments(&["--claims", &dir]);
        let outcomes = run.arguments(&texts(way)).done().exits(0).outcomes();
        let outcome = &outcomes[0];
        assert_eq!(
            (&outcome["attempts"], &outcome["may_be_twice"]),
            (&json!(2), &json!(true))
        );
        // And once more, by another run.
        let run = publish(&server, large_hook("large")).arguments(&["--claims", &dir]);
        run.done().exits(0);
        let claims: Vec<_> = published(&server)
            .into_iter()
            .map(|message| message.claim.unwrap())
            .collect();
        assert_eq!(claims.len(), 3);
        assert!(claims.iter().all(|claim| *claim == claims[0]));
        assert_eq!(objects(&dir).len(), 1);
    }
}

#[test]
fn a_store_that_is_away_costs_attempts_and_no_hook() {
    let (server, scratch) = (server(), Scratch::new());
    // No directory can be made there.
    let away = scratch.file("away", "");
    let (dead, dir) = (scratch.path("dead"), scratch.path("claims"));
    let run = publish(&server, large_hook("large") + &hooks(1));
    let run = run.arguments(&["--claims", &away, "--max-attempts", "3"]);
    let done = run.arguments(&["--dead-letters", &dead]).done().exits(1);
    let outcome = &done.outcomes()[0];
    assert_eq!(
        (&outcome["class"], &outcome["attempts"]),
        (&json!("transient"), &json!(3))
    );
    assert_eq!(outcome["reason"]["kind"], "claim_check");
    assert!(
        outcome
            .get("may_have_been_stored")
            .is_none_or(|maybe| *maybe == json!(false))
    );
    assert_eq!(stored_ids(&server), ["h0001"], "the small one goes on");
    let again = publish(&server, fs::read(&dead).unwrap());
    again.arguments(&["--claims", &dir]).done().exits(0);
    assert_eq!(stored_ids(&server), ["h0001", "large"]);
    assert_eq!(fs::read(&objects(&dir)[0]).unwrap(), large().as_bytes());
}

#[test]
fn an_interrupt_ends_the_wait_for_a_store_that_is_away() {
    let (server, scratch) = (server(), Scratch::new());
    let (away, dead) = (scratch.file("away", ""), scratch.path("dead"));
    let run = publish(&server, large_hook("large") + &hooks(1));
    let run = run.arguments(&["--claims", &away, "--max-attempts", "1000"]);
    let running = run.arguments(&["--dead-letters", &dead]).start();
    eventually("the small one is stored", || {
        server.stored(TOPIC).len() == 1
    });
    running.signal(Signal::SIGINT);
    let outcomes = running.wait().exits(3).outcomes();
    assert_eq!(
        (&outcomes[0]["id"], &outcomes[0]["reason"]["kind"]),
        (&json!("large"), &json!("claim_check"))
    );
    let kept = fs::read_to_string(&dead).unwrap();
    assert!(kept.contains(large().trim_end()), "with all its body");
}

#[test]
fn what_a_journal_gave_up_is_checked_in_by_its_replay() {
    let (server, scratch) = (server(), Scratch::new());
    let (away, journal) = (scratch.file("away", ""), scratch.path("journal"));
    let dir = scratch.path("claims");
    let run = publish(&server, large_hook("large")).arguments(&["--claims", &away]);
    let run = run.arguments(&["--journal", &journal, "--max-attempts", "2"]);
    let outcome = run.done().exits(1).outcomes().remove(0);
    assert_eq!(
        (&outcome["class"], &outcome["reason"]["kind"]),
        (&json!("transient"), &json!("claim_check"))
    );
    let endpoint = server.endpoint();
    let replay = [
        "replay",
        "--project",
        "p",
        "--topic",
        "hooks",
        "--endpoint",
        &endpoint,
    ];
    let replay = || pubsink(&replay).arguments(&["--journal", &journal]);
    // Without a store it would only die again.
    let refused = replay().done().exits(2).stderr;
    assert!(
        refused.contains("has dead letters whose bodies wait for a claim store"),
        "{refused}"
    );
    replay().arguments(&["--claims", &dir]).done().exits(0);
    assert_eq!(stored_ids(&server), ["large"]);
    assert_eq!(fs::read(&objects(&dir)[0]).unwrap(), large().as_bytes());
}

#[test]
fn the_hooks_of_a_key_keep_their_order_around_a_large_one() {
    let (server, scratch) = (server(), Scratch::new());
    let line = |id| format!("{{\"id\":\"{id}\",\"received_at\":1,\"body\":\"small\"}}\n");
    let input = line("a") + &large_hook("b") + &line("c") + &large_hook("d") + &line("e");
    let dir = scratch.path("claims");
    let run = publish(&server, input.clone()).arguments(&["--claims", &dir]);
    run.arguments(&["--ordering-key", "k"]).done().exits(0);
    let ids = || {
        published(&server)
            .into_iter()
            .map(|message| message.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(), ["a", "b", "c", "d", "e"]);
    // A key that is held: a check-in comes before the hook joins it, so it can be tried again.
    let away = scratch.file("away", "");
    let run = publish(&server, input).arguments(&["--claims", &away, "--max-attempts", "2"]);
    let run = run.arguments(&["--ordering-key", "k", "--ordering-on-failure", "hold"]);
    let outcomes = run.done().exits(1).outcomes();
    assert_eq!(
        (&outcomes[1]["attempts"], &outcomes[1]["reason"]["kind"]),
        (&json!(2), &json!("claim_check"))
    );
    assert_eq!(ids()[5..], ["a", "c", "e"]);
}

#[test]
fn a_tenant_that_no_claim_can_have_is_the_hooks_own_failure() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("claims");
    let input = large_hook("large").replace("\"acme\"", "\"a/c\"");
    let run = publish(&server, input).arguments(&["--claims", &dir]);
    let outcome = run.done().exits(1).outcomes().remove(0);
    assert_eq!(
        (
            &outcome["class"],
            &outcome["reason"]["kind"],
            &outcome["attempts"]
        ),
        (&json!("permanent"), &json!("claim_check"), &json!(1))
    );
    assert!(server.stored(TOPIC).is_empty());
}

#[test]
fn a_store_that_cannot_be_is_bad_usage_before_anything_is_sent() {
    let (server, scratch) = (server(), Scratch::new());
    for (runtime, url, words) in [
        (
            "tokio",
            "s3://user:hunter2@bucket/x",
            "has a user, a password, a query",
        ),
        (
            "smol",
            "s3://user:hunter2@bucket/x",
            "has a user, a password, a query",
        ),
        ("tokio", "ftp://hunter2/x", "not with ftp:"),
        (
            "smol",
            "s3://bucket/x",
            "smol has no client for s3:// stores; use tokio",
        ),
        ("tokio", "", "is empty"),
    ] {
        let outcomes = scratch.path("outcomes");
        let run = publish_to(&server.endpoint(), hooks(1));
        let run = run.arguments(&["--runtime", runtime, "--claims", url]);
        let done = run.arguments(&["--outcomes", &outcomes]).done().exits(2);
        assert!(
            done.stderr.starts_with("pubsink: --claims: "),
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains(words), "{}", done.stderr);
        assert!(!done.stderr.contains("hunter2"), "{}", done.stderr);
        assert!(!fs::exists(outcomes).unwrap());
    }
    assert!(server.log().publishes().is_empty());
}

#[test]
fn claims_stay_out_of_the_directory_of_the_journal() {
    let (server, scratch) = (server(), Scratch::new());
    let journal = scratch.path("journal");
    let inside = format!("file://{journal}/claims");
    // Also where there is something on the way to it, or is not yet.
    let link = scratch.path("link");
    symlink(&journal, &link).unwrap();
    let linked = format!("{link}/c2");
    let around = scratch.path("nonex/../journal/c2");
    fs::create_dir(&journal).unwrap();
    for claims in [&journal, &inside, &linked, &around] {
        let run = publish_to(&server.endpoint(), hooks(1));
        let run = run.arguments(&["--journal", &journal, "--claims", claims]);
        let done = run.done().exits(2);
        assert!(
            done.stderr.contains("is in the directory of the journal"),
            "{}",
            done.stderr
        );
    }
    assert!(server.log().publishes().is_empty());
}

#[test]
fn bodies_that_wait_for_a_store_are_not_given_up_by_a_run_without_one() {
    let (server, scratch) = (server(), Scratch::new());
    let (away, journal) = (scratch.file("away", ""), scratch.path("journal"));
    let dir = scratch.path("claims");
    let run = |input: String| publish(&server, input).arguments(&["--journal", &journal]);
    let first = run(large_hook("large") + &hooks(1)).arguments(&["--claims", &away]);
    let first = first.arguments(&["--max-attempts", "1000"]).start();
    // It came behind the large one.
    eventually("the small one is stored", || {
        server.stored(TOPIC).len() == 1
    });
    first.signal(Signal::SIGINT);
    first.wait().exits(3);
    refuses_without_a_store(run(String::new()), &journal);
    let listed = pubsink(&["dead-letters", "list", "--journal", &journal]);
    assert_eq!(listed.done().exits(0).stdout, "");
    run(String::new())
        .arguments(&["--claims", &dir])
        .done()
        .exits(0);
    assert_eq!(stored_ids(&server), ["h0001", "large"]);
}

#[test]
fn so_are_those_behind_another_hook_of_a_key_that_is_stopped() {
    let (server, scratch) = (server(), Scratch::new());
    let (journal, dir) = (scratch.path("journal"), scratch.path("claims"));
    let run = |input: String| {
        let run = publish(&server, input).arguments(&["--journal", &journal]);
        run.arguments(&["--ordering-key", "k", "--ordering-on-failure", "hold"])
    };
    let input = large_hook("large").replace("\"acme\"", "\"a/c\"") + &large_hook("behind");
    let first = run(input).arguments(&["--claims", &dir, "--on-dead", "stop"]);
    let said = first.done().exits(1).stderr;
    assert!(said.contains("key \"k\" is stopped"), "{said}");
    refuses_without_a_store(run(String::new()), &journal);
    let resume = ["journal", "--journal", &journal, "--resume-key", "k"];
    pubsink(&resume).done().exits(0);
    refuses_without_a_store(run(String::new()), &journal);
    run(String::new())
        .arguments(&["--claims", &dir])
        .done()
        .exits(0);
    assert_eq!(stored_ids(&server), ["behind"]);
}

fn refuses_without_a_store(run: Run, journal: &str) {
    let said = run.done().exits(2).stderr;
    let words =
        format!("pubsink: the journal in {journal} has hooks whose bodies wait for a claim store");
    assert!(said.starts_with(&words), "{said}");
    assert!(said.contains("give --claims again"), "{said}");
}

#[test]
fn a_large_body_holds_up_its_own_key_only() {
    let (server, scratch) = (server(), Scratch::new());
    let away = scratch.file("away", "");
    let of = |key: &str, hook: String| {
        hook.replace(
            "\"body\"",
            &format!("\"headers\":[[\"key\",\"{key}\"]],\"body\""),
        )
    };
    let input = of("a", large_hook("large") + &hooks(1)) + &of("b", hooks(2).replace('h', "o"));
    let run = publish(&server, input).arguments(&["--claims", &away, "--max-attempts", "1000"]);
    let running = run.arguments(&["--ordering-key-header", "key"]).start();
    eventually("those of the other key are stored", || {
        server.stored(TOPIC).len() == 2
    });
    assert_eq!(stored_ids(&server), ["o0001", "o0002"]);
    // The small one may still go when the large one is given up.
    running.signal(Signal::SIGINT);
    let done = running.wait().exits(3);
    assert_eq!(done.outcomes().len(), 4, "none is lost");
}
