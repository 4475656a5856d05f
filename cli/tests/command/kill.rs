//! A run that is killed again and again, against a server that fails in every way there is: no
//! hook is lost.

use std::collections::HashMap;
use std::fs;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pubsink_core::journal::{DeadId, Filter};
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;

use super::support::{Scratch, TOPIC, outcomes, publish_to, pubsink, server, stored_ids};

/// More than can be sent before the kills are done, as slow as the server answers.
const HOOKS: usize = 6_000;
const KILLS: usize = 55;
const SEED: u64 = 20_261_130;
/// How often each fault comes: seldom enough that five in a row, which open the breaker for half a
/// minute, are rare.
const EACH: f64 = 0.012;

/// Hooks, and now and then one that the service refuses for what it is.
fn input() -> (String, Vec<String>) {
    let id = |n: usize| {
        if n.is_multiple_of(97) {
            format!("poisoned{n:04}")
        } else {
            format!("h{n:04}")
        }
    };
    let ids: Vec<_> = (1..=HOOKS).map(id).collect();
    let line = |(n, id): (usize, &String)| {
        format!(
            "{{\"id\":\"{id}\",\"source_id\":\"s{}\",\"body\":\"body {n}\"}}\n",
            n % 3
        )
    };
    (ids.iter().enumerate().map(line).collect(), ids)
}

/// Every row of the table of replies, and what else a network does.
fn faults() -> Vec<Action> {
    let limited = Status::new(403, "PERMISSION_DENIED", "too fast");
    let limited = limited.with_reason("RATE_LIMIT_EXCEEDED", "googleapis.com");
    let html = "<html><body>sorry</body></html>";
    vec![
        Action::refuse(&Status::not_found("no topic")),
        Action::refuse(&Status::new(403, "PERMISSION_DENIED", "no right")),
        Action::refuse(&Status::unauthenticated("who are you")),
        Action::refuse(&Status::resource_exhausted("slow down")),
        Action::refuse(&limited),
        Action::status(429, "slow down"),
        Action::status(503, "busy"),
        Action::refuse(&Status::new(500, "INTERNAL", "sorry")),
        Action::status(502, html),
        Action::status(413, "too large"),
        Action::answer(200, &[], r#"{"messageIds":[]}"#),
        // More than a request here ever has messages.
        Action::answer(200, &[], r#"{"messageIds":["1","2","3","4","5"]}"#).store(),
        Action::answer(200, &[("content-type", "text/html")], html),
        Action::reset(),
        Action::reset().store(),
        Action::never_answer(),
        Action::never_answer().store(),
        Action::endless_body(200),
    ]
}

/// A fault now and then, at random; else an answer that takes a moment.
fn script(server: &Server) {
    let rng = Arc::new(Mutex::new(fastrand::Rng::with_seed(SEED)));
    let seldom = |action: Action| {
        let rng = Arc::clone(&rng);
        let now = Match::publish().messages(move |_| rng.lock().unwrap().f64() < EACH);
        Rule::on(now).then(action)
    };
    let mut rules: Vec<_> = faults().into_iter().map(seldom).collect();
    let slow = Action::proceed().answer_delay(Duration::from_millis(20));
    rules.push(Rule::on(Match::publish()).then(slow));
    server.script(rules);
    let poisoned = server.broker(|broker| broker.reject_data(TOPIC, "\"poisoned"));
    poisoned.unwrap();
}

/// Whether it ended by itself within the time, and with which code; killed otherwise.
fn ended_within(child: &mut Child, time: Duration) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < time {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.code().unwrap());
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn no_hook_is_lost_whenever_it_is_killed_and_however_the_server_fails() {
    if env!("CARGO_CRATE_NAME") == "command_smol" {
        // It runs on both in turns as it is.
        return;
    }
    let (server, scratch) = (server(), Scratch::new());
    let (dir, told) = (scratch.path("j"), scratch.path("outcomes.ndjson"));
    let (text, ids) = input();
    let file = scratch.file("hooks.ndjson", text);
    script(&server);
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut kills = 0;
    let code = loop {
        let run =
            publish_to(&server.endpoint(), "").env("PUBSINK_RUNTIME", ["tokio", "smol"][kills % 2]);
        let run = run.arguments(&["--journal", &dir, "--input", &file, "--outcomes", &told]);
        let run = run.arguments(&["--timeout-ms", "200", "--batch-linger-ms", "2"]);
        let few = [
            "--batch-max-entries",
            "4",
            "--batch-max-inflight",
            "2",
            "--max-attempts",
            "1000",
        ];
        let mut command = run.arguments(&few).into_command();
        let command = command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Then a run may end, but not wait for a breaker.
        let time = if kills < KILLS {
            rng.u64(20..450)
        } else {
            8_000
        };
        match ended_within(&mut child, Duration::from_millis(time)) {
            Some(code) => break code,
            None => kills += 1,
        }
    };
    assert!(
        kills >= KILLS,
        "it ended after {kills} kills; there were too few hooks"
    );
    assert_eq!(code, 1, "some are dead letters");

    // The last run told of every line, once.
    let outcomes = outcomes(&fs::read_to_string(&told).unwrap());
    let lines: Vec<_> = outcomes
        .iter()
        .map(|one| one["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, (1..=HOOKS as u64).collect::<Vec<_>>());

    let mut stored = HashMap::<String, usize>::new();
    for id in stored_ids(&server) {
        *stored.entry(id).or_default() += 1;
    }
    let journal = DiskJournal::open(&dir, DiskOptions::default()).unwrap();
    let dead = smol::block_on(journal.dead_letters(Filter::default(), DeadId(0), usize::MAX));
    let dead = dead.unwrap();
    let left = smol::block_on(journal.totals()).unwrap();
    drop(journal);
    assert_eq!(left.rows, 0);
    let is_dead = |id: &String| dead.iter().any(|letter| letter.envelope.id == *id);
    let lost: Vec<_> = ids
        .iter()
        .filter(|id| !stored.contains_key(*id) && !is_dead(id))
        .collect();
    let twice = stored.values().map(|count| count - 1).sum::<usize>();
    let config = dead.iter().filter(|letter| letter.cause.config).count();
    println!(
        "hooks {HOOKS}, kills {kills}, requests {}, stored {}, stored twice {twice}, dead letters {} \
         ({config} of configuration), lost {}",
        server.log().total(),
        stored.len(),
        dead.len(),
        lost.len()
    );
    assert!(lost.is_empty(), "{lost:?}");
    let poisoned = ids.iter().filter(|id| id.starts_with("poisoned")).count();
    assert!(config > 0);
    for outcome in &outcomes {
        let id = outcome["id"].as_str().unwrap().to_owned();
        let delivered = outcome["outcome"] == "delivered";
        assert!(
            !delivered || stored.contains_key(&id),
            "a false success: {outcome}"
        );
        assert_ne!(delivered, is_dead(&id), "{outcome}");
    }

    // The server is well: what was its own fault is sent again.
    let well = Rule::on(Match::publish()).then(Action::proceed());
    server.script([well]);
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
    let run = pubsink(&replay).arguments(&["--journal", &dir, "--config", "true"]);
    let run = run.arguments(&[
        "--rate",
        "100000",
        "--outcomes",
        "-",
        "--replay-id",
        "mended",
    ]);
    // Those of them that are poisoned, and died before they were looked at, stay what they are.
    let done = run.done();
    let outcomes = done.outcomes();
    assert_eq!(outcomes.len(), config, "{}", done.stderr);
    for outcome in outcomes {
        let id = outcome["id"].as_str().unwrap();
        let delivered = outcome["outcome"] == "delivered";
        assert_eq!(delivered, !id.starts_with("poisoned"), "{outcome}");
        assert_eq!(outcome["replay_id"], "mended");
    }
    let now = stored_ids(&server);
    let missing = ids
        .iter()
        .filter(|id| now.binary_search(id).is_err())
        .count();
    assert_eq!(missing, poisoned, "all but the poisoned ones are there");
}
