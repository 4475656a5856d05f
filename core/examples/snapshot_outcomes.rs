//! Pins request bodies and outcomes as snapshots, and simulates a day of outage.
//!
//! `cargo run -p pubsink-core --example snapshot_outcomes` says nothing where all snapshots hold.

#![allow(
    clippy::disallowed_methods,
    reason = "any instant will do for simulated time to start at"
)]

use std::time::{Duration, Instant};

use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::Message;
use pubsink_core::retry::{NextStep, RetryPolicy};
use pubsink_core::testing::{Answer, Simulation, replies};
use pubsink_core::wire::read_reply;

/// Runs all of it.
pub(crate) fn main() {
    one_bad_message_among_three();
    what_a_reply_means();
    a_day_without_pubsub();
}

fn options() -> PublisherOptions {
    let options = PublisherOptions::builder("my-project", "hooks").build();
    options.expect("the options are in range")
}

/// The requests a bisection takes, as the server sees them, and what the caller is told.
fn one_bad_message_among_three() {
    let mut sim = Simulation::new(options(), Instant::now(), |request| {
        let bad = |message: &&_| **message == *"bad";
        let data = request.messages.iter().map(|message| &message.data);
        match data.filter(bad).count() {
            0 => Answer::stored(),
            _ => replies::error(400, "INVALID_ARGUMENT", "a message is invalid").into(),
        }
    });
    sim.admit("first", Message::new("good"));
    sim.admit("second", Message::new("bad"));
    let third = Message {
        attributes: [("kind", "invoice")].into_iter().collect(),
        ..Message::new("good too")
    };
    sim.admit("third", third);
    sim.run();

    let body = String::from_utf8_lossy(sim.requests()[0].body()).into_owned();
    insta::assert_snapshot!(body, @r#"{"messages":[{"data":"Z29vZA=="},{"data":"YmFk"},{"data":"Z29vZCB0b28=","attributes":{"kind":"invoice"}}]}"#);
    insta::assert_json_snapshot!(sim.requests()[2], @r#"
    {
      "at_ms": 70,
      "messages": [
        {
          "data": "bad"
        },
        {
          "data": "good too",
          "attributes": {
            "kind": "invoice"
          }
        }
      ]
    }
    "#);
    insta::assert_json_snapshot!(sim.outcomes(), @r#"
    [
      {
        "tag": "first",
        "at_ms": 120,
        "delivered": {
          "message_id": "id-0"
        }
      },
      {
        "tag": "second",
        "at_ms": 170,
        "failed": {
          "class": "permanent",
          "config": false,
          "reason": {
            "kind": "pubsub",
            "http": 400,
            "status": "INVALID_ARGUMENT",
            "message": "a message is invalid"
          }
        }
      },
      {
        "tag": "third",
        "at_ms": 170,
        "delivered": {
          "message_id": "id-1"
        }
      }
    ]
    "#);
}

/// A classification alone needs no simulation.
fn what_a_reply_means() {
    let reply = replies::error(429, "RESOURCE_EXHAUSTED", "quota exceeded")
        .reason("RATE_LIMIT_EXCEEDED")
        .retry_after(Duration::from_secs(7));
    insta::assert_json_snapshot!(read_reply(&reply.build(), 1), @r#"
    {
      "throttled": {
        "reason": {
          "kind": "pubsub",
          "http": 429,
          "status": "RESOURCE_EXHAUSTED",
          "message": "quota exceeded",
          "error_reason": "RATE_LIMIT_EXCEEDED"
        },
        "at_least_ms": 7000,
        "may_have_been_stored": false
      }
    }
    "#);
}

/// A day of 503, a message that is tried again as the policy says, in no time.
fn a_day_without_pubsub() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut sim = Simulation::new(options(), Instant::now(), |request| match request.at {
        at if at < DAY => replies::page(503, "<html>down</html>").into(),
        _ => Answer::stored(),
    });
    let policy = RetryPolicy {
        max_attempts: 1_000,
        max_elapsed: 2 * DAY,
        ..RetryPolicy::default()
    };
    let message = Message::new("hello");
    sim.admit("hello", message.clone());
    let mut rng = fastrand::Rng::with_seed(1);
    let mut attempt = 1;
    while let Some(settled) = sim.next_outcome() {
        let Err(failure) = settled.outcome else {
            break;
        };
        // The message was admitted at the start, so the time from there is its own.
        match policy.next_step(&failure, attempt, sim.elapsed(), &mut rng) {
            NextStep::RetryAfter(pause) => {
                attempt += 1;
                sim.admit_at(sim.elapsed() + pause, "hello", message.clone());
            }
            NextStep::GiveUp => break,
        }
    }
    assert!(sim.outcome(&"hello").is_some_and(Result::is_ok));
    assert!(sim.elapsed() >= DAY);
}
