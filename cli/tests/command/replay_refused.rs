//! Replays that are refused, and journals that are not to be written over.

use super::journal::journaled;
use super::support::{Scratch, hooks, pubsink, server};

#[test]
fn a_replay_id_that_no_message_can_carry_is_refused_before_anything_is_sent() {
    for (id, words) in [
        (
            "x".repeat(1_025),
            "1025 bytes; an attribute of a message takes 1024",
        ),
        (String::new(), "must not be empty"),
    ] {
        let to = ["replay", "--project", "p", "--topic", "t", "--from", "-"];
        let done = pubsink(&to)
            .arguments(&["--replay-id", &id])
            .done()
            .exits(2);
        assert!(done.stderr.contains(words), "{}", done.stderr);
    }
}

#[test]
fn what_is_written_must_not_lie_in_the_journal() {
    let (server, scratch) = (server(), Scratch::new());
    let dir = scratch.path("j");
    journaled(&server, &dir, hooks(3)).done().exits(0);
    for flag in ["--outcomes", "--dead-letters"] {
        let file = format!("{dir}/journal.redb");
        let run = pubsink(&["publish", "--project", "p", "--topic", "hooks"]).arguments(&[
            "--endpoint",
            &server.endpoint(),
            "--journal",
            &dir,
            flag,
            &file,
        ]);
        let done = run.done().exits(2);
        assert!(
            done.stderr.contains("the directory of the journal"),
            "{}",
            done.stderr
        );
    }
    // It is as it was.
    let again = journaled(&server, &dir, hooks(3)).done().exits(0);
    assert!(again.outcomes().iter().all(|one| one["earlier"] == true));
}
