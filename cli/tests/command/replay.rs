//! Dead letters once more: out of a journal, and out of a file.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use pubsink_core::journal::{Filter, ReplayJob};
use pubsink_core::message;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;
use serde_json::{Value, json};

use super::support::{
    Done, Run, Scratch, TOPIC, eventually, hooks, ids, publish, pubsink, server, stored_ids,
};

/// A replay to the server's topic, and no more flags.
fn plain(server: &Server) -> Run {
    let to = ["replay", "--project", "p", "--topic", "hooks"];
    pubsink(&to).arguments(&["--endpoint", &server.endpoint()])
}

fn replay(server: &Server, arguments: &[&str]) -> Run {
    plain(server)
        .arguments(&["--outcomes", "-", "--rate", "10000"])
        .arguments(arguments)
}

fn refuse(server: &Server) {
    let refused = Action::refuse(&Status::not_found("no topic"));
    server.script([Rule::on(Match::publish()).then(refused)]);
}

/// A journal with so many dead letters, and a server that is well again.
fn dead(count: usize) -> (Server, Scratch, String) {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    refuse(&server);
    let run = publish(&server, hooks(count)).arguments(&["--journal", &dir]);
    run.done().exits(1);
    server.script([]);
    (server, scratch, dir)
}

/// The id that a run said its replay has.
fn id_of(done: &Done) -> String {
    let line = done.stderr.lines().next().unwrap();
    line.strip_prefix("pubsink: replay ").unwrap().to_owned()
}

/// The replay as the journal shows it.
fn shown(dir: &str) -> Value {
    let lines = pubsink(&["journal", "--journal", dir])
        .done()
        .exits(0)
        .stdout;
    let mut lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.find(|line| line["what"] == "replay").unwrap()
}

#[test]
fn dead_letters_of_a_journal_are_delivered_and_say_so() {
    let (server, _scratch, dir) = dead(30);
    let done = replay(&server, &["--journal", &dir]).done().exits(0);
    assert_eq!(stored_ids(&server), ids(30));
    let outcomes = done.outcomes();
    let lines: Vec<_> = outcomes
        .iter()
        .map(|one| one["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, (1..=30).collect::<Vec<_>>());
    assert_eq!(done.summary(), "pubsink: 30 delivered, 0 failed");
    let id = id_of(&done);
    assert!(outcomes.iter().all(|one| one["replay_id"] == *id));
    for stored in server.stored(TOPIC) {
        let message = message::decode(&stored.message.data).unwrap();
        assert_eq!(message.replay_id.as_deref(), Some(id.as_str()));
        assert!(
            stored
                .message
                .attributes
                .contains_key("ankusa_idempotency_key")
        );
    }
    let shown = shown(&dir);
    assert_eq!(
        (&shown["state"], &shown["progress"]["delivered"]),
        (&json!("done"), &json!(30))
    );
    // A run of the input knows them as delivered now.
    let run = publish(&server, hooks(30))
        .arguments(&["--journal", &dir])
        .done()
        .exits(0);
    assert!(
        run.outcomes()
            .iter()
            .all(|one| one["earlier"] == true && one["outcome"] == "delivered")
    );
    assert_eq!(server.stored(TOPIC).len(), 30);
}

#[test]
fn only_what_the_filters_mean_is_sent() {
    let (server, _scratch, dir) = dead(5);
    let done = replay(&server, &["--journal", &dir, "--hook-id", "h0003"])
        .done()
        .exits(0);
    assert_eq!(
        (done.outcomes().len(), stored_ids(&server)),
        (1, vec!["h0003".to_owned()])
    );
    for none in [
        ["--config", "false"],
        ["--class", "transient"],
        ["--until", "2h"],
        ["--source", "x"],
    ] {
        let done = replay(&server, &["--journal", &dir])
            .arguments(&none)
            .done()
            .exits(1);
        let said = format!("pubsink: no dead letter matches in {dir}\n");
        assert_eq!(
            (done.stdout, done.stderr),
            (String::new(), said),
            "{none:?}"
        );
    }
    let some = [
        "--kind",
        "pubsub",
        "--class",
        "permanent",
        "--config",
        "true",
        "--since",
        "2h",
        "--tenant",
        "",
    ];
    replay(&server, &["--journal", &dir])
        .arguments(&some)
        .done()
        .exits(0);
    assert_eq!(stored_ids(&server), ids(5));
}

#[test]
fn dead_letters_of_a_mistyped_topic_are_named_and_have_a_way_out() {
    let (server, scratch) = (server(), Scratch::new());
    let (dir, file) = (scratch.path("j"), scratch.path("dead.ndjson"));
    let endpoint = server.endpoint();
    let run = pubsink(&["publish", "--project", "p", "--topic", "hoks"]).input(hooks(3));
    let run = run.arguments(&["--endpoint", &endpoint, "--journal", &dir]);
    run.done().exits(1);
    let done = replay(&server, &["--journal", &dir, "--config", "true"]).done();
    let sink = "projects/p/topics/hoks";
    assert_eq!(
        done.exits(1).stderr,
        format!(
            "pubsink: no dead letter of {dir} that is meant is for {TOPIC}; 3 are for {sink}: \
             export them with `pubsink dead-letters export --journal {dir} --sink {sink} --output \
             FILE` and send them with `pubsink replay --from FILE`\n"
        )
    );
    let export = ["dead-letters", "export", "--journal", &dir];
    let export = pubsink(&export).arguments(&["--sink", sink, "--output", &file]);
    export.done().exits(0);
    replay(&server, &["--from", &file]).done().exits(0);
    assert_eq!(stored_ids(&server), ids(3));
}

#[test]
fn a_replay_that_was_killed_goes_on_under_its_id() {
    let (server, _scratch, dir) = dead(60);
    let slow = ["--journal", &dir, "--replay-id", "mine"];
    let run = || plain(&server).arguments(&slow).arguments(&["--rate", "30"]);
    let running = run().start();
    eventually("some are sent", || server.stored(TOPIC).len() > 3);
    drop(running);
    assert!(server.stored(TOPIC).len() < 60);
    let done = run().done().exits(0);
    let mut stored = stored_ids(&server);
    stored.dedup();
    assert_eq!(stored, ids(60), "{}", done.stderr);
    assert_eq!(shown(&dir)["progress"]["sent"], 60);
    // Once done it is done.
    let done = replay(&server, &slow).done().exits(0);
    assert_eq!(
        done.stderr,
        "pubsink: replay mine is done already: 60 sent, 60 delivered, 0 died again\n"
    );
    let resumed = ["--journal", &dir, "--resume", "mine"];
    let run = plain(&server).arguments(&resumed);
    assert!(run.done().exits(0).stderr.contains("is done already"));
    let new = replay(&server, &["--journal", &dir]).done().exits(0);
    assert_eq!(
        new.stderr,
        format!("pubsink: the journal in {dir} has no dead letters\n")
    );
    let said = replay(&server, &slow)
        .arguments(&["--source", "cli"])
        .done()
        .exits(2)
        .stderr;
    assert!(
        said.contains("the replay \"mine\" was begun with other filters"),
        "{said}"
    );
}

#[test]
fn a_replay_whose_hooks_keep_dying_pauses_itself_and_can_be_resumed() {
    let (server, _scratch, dir) = dead(40);
    refuse(&server);
    let failing = [
        "--journal",
        &dir,
        "--replay-id",
        "again",
        "--pause-after",
        "3",
        "--rate",
        "20",
    ];
    let done = plain(&server).arguments(&failing).done().exits(1);
    assert!(
        done.stderr.contains("the replay \"again\" paused itself: ")
            && done.stderr.contains("--resume again")
            && done.stderr.contains("which needs a new replay\n"),
        "{}",
        done.stderr
    );
    let said = plain(&server).arguments(&failing).done().exits(2).stderr;
    assert!(
        said.contains("the replay \"again\" is paused; --resume again"),
        "{said}"
    );
    server.script([]);
    let before = server.stored(TOPIC).len();
    let resumed = plain(&server)
        .arguments(&["--journal", &dir, "--resume", "again"])
        .done()
        .exits(1);
    let sent = server.stored(TOPIC).len() - before;
    assert!(
        (30..40).contains(&sent),
        "what died again is another replay's: {sent}"
    );
    let again = format!(
        "pubsink: {} that died again in this replay are dead letters again: begin a new replay \
         for them\n",
        40 - sent
    );
    assert!(resumed.stderr.contains(&again), "{}", resumed.stderr);
    let known = replay(&server, &["--journal", &dir, "--replay-id", "again"]);
    let known = known.done().exits(1).stderr;
    assert!(
        known.starts_with("pubsink: replay again is done already: 40 sent, "),
        "{known}"
    );
    assert!(known.ends_with(&again), "{known}");
    replay(&server, &["--journal", &dir]).done().exits(0);
    assert_eq!(stored_ids(&server), ids(40));
    let none = ["--journal", &dir, "--resume", "none"];
    let said = plain(&server).arguments(&none).done().exits(2).stderr;
    assert!(said.contains("there is no replay \"none\""), "{said}");
}

#[test]
fn an_interrupted_replay_says_what_stays() {
    let (server, _scratch, dir) = dead(50);
    let slow = Action::proceed().delay(Duration::from_secs(30));
    server.script([Rule::on(Match::publish()).then(slow)]);
    let arguments = [
        "--journal",
        &dir,
        "--replay-id",
        "r",
        "--shutdown-limit-ms",
        "200",
        "--timeout-ms",
        "60000",
    ];
    let before = server.log().publishes().len();
    let running = replay(&server, &arguments).start();
    eventually("a request is there", || {
        server.log().publishes().len() > before
    });
    running.signal(Signal::SIGTERM);
    let signalled = Instant::now();
    let done = running.wait().exits(3);
    assert!(signalled.elapsed() < Duration::from_secs(8));
    assert!(
        done.stderr.contains("hooks stay in the journal"),
        "{}",
        done.stderr
    );
    server.script([]);
    replay(&server, &["--journal", &dir, "--replay-id", "r"])
        .done()
        .exits(0);
    let mut stored = stored_ids(&server);
    stored.dedup();
    assert_eq!(stored, ids(50));
}

#[test]
fn a_replay_belongs_to_its_topic_and_a_run_beside_it_says_that_it_is_not_done() {
    let (server, _scratch, dir) = dead(30);
    let filter = Filter {
        sink: Some(TOPIC.to_owned()),
        ..Filter::default()
    };
    let mut job = ReplayJob::new("slow", filter);
    job.per_second = 1;
    let journal = DiskJournal::open(&dir, DiskOptions::default()).unwrap();
    smol::block_on(journal.begin_replay(job)).unwrap();
    drop(journal);

    let other = ["replay", "--project", "p", "--topic", "other"];
    let resume = ["--journal", &dir, "--resume", "slow"];
    let done = pubsink(&other)
        .arguments(&["--endpoint", &server.endpoint()])
        .arguments(&resume);
    let said = done.done().exits(2).stderr;
    let words = "dead letters for projects/p/topics/hooks, not for projects/p/topics/other";
    assert!(said.contains(words), "{said}");

    let run = publish(&server, "").arguments(&["--journal", &dir]).done();
    let words = "the replay \"slow\" is not done";
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn dead_letters_of_a_file_are_sent_again_under_a_replay_id_and_at_a_rate() {
    let (server, scratch) = (server(), Scratch::new());
    let file = scratch.path("dead.ndjson");
    refuse(&server);
    let input = hooks(12).replace(
        "\"body\":\"body 3\"",
        "\"dedupe_key\":\"d3\",\"body\":\"body 3\"",
    );
    let run = publish(&server, input).arguments(&["--dead-letters", &file]);
    run.done().exits(1);
    server.script([]);
    let started = Instant::now();
    let run = plain(&server).arguments(&["--from", &file, "--rate", "10", "--outcomes", "-"]);
    let done = run.done().exits(0);
    assert!(
        started.elapsed() > Duration::from_millis(700),
        "{:?}",
        started.elapsed()
    );
    let id = id_of(&done);
    assert_eq!(stored_ids(&server), ids(12));
    for stored in server.stored(TOPIC) {
        let message = message::decode(&stored.message.data).unwrap();
        assert_eq!(message.replay_id.as_deref(), Some(id.as_str()));
        let third = message.id == "h0003";
        assert_eq!(message.dedupe_key.as_deref(), third.then_some("d3"));
    }
    assert!(done.outcomes().iter().all(|one| one["replay_id"] == *id));
}

#[test]
fn what_is_sent_again_comes_from_one_place() {
    let url = [
        "replay",
        "--project",
        "p",
        "--topic",
        "hooks",
        "--endpoint",
        "http://127.0.0.1:1",
    ];
    let said = |arguments: &[&str]| pubsink(&url).arguments(arguments).done().exits(2).stderr;
    assert!(said(&[]).contains("<--journal <DIR>|--from <FILE>>"));
    for clash in [
        &["--journal", "j", "--from", "f"][..],
        &["--from", "f", "--source", "s"],
        &["--from", "f", "--resume", "r"],
        &["--journal", "j", "--resume", "r", "--replay-id", "s"],
        &["--journal", "j", "--resume", "r", "--class", "permanent"],
        &["--journal", "j", "--resume", "r", "--rate", "3"],
    ] {
        assert!(said(clash).contains("cannot be used with"), "{clash:?}");
    }
    assert!(said(&["--from", "/none"]).contains("cannot open --from /none: "));
    assert!(said(&["--journal", "/none"]).contains("there is no journal in /none"));
    assert!(said(&["--journal", "j", "--since", "then"]).contains("how long ago"));
    assert!(!fs::exists("j").unwrap());
}
