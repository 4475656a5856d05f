//! How long a throttled message is to wait.

use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::publish::{Admission, Input};
use pubsink_core::wire::Reply;

use crate::sim::answers::{Answer, error, reply};
use crate::sim::messages::message;
use crate::sim::{Sim, defaults, ms};

const HOUR: Duration = Duration::from_secs(3_600);
/// Sun, 06 Nov 1994 08:49:37 GMT.
const RECEIVED_AT_MS: u64 = 784_111_777_000;

fn with_header(mut reply: Reply, value: &str) -> Reply {
    reply.headers.insert("retry-after", value.parse().unwrap());
    reply.received_at_ms = RECEIVED_AT_MS;
    reply
}

fn with_retry_info(delay: &str) -> Reply {
    let info = serde_json::json!({
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        "retryDelay": delay,
    });
    let error =
        serde_json::json!({ "code": 429, "status": "RESOURCE_EXHAUSTED", "details": [info] });
    reply(429, serde_json::json!({ "error": error }).to_string())
}

/// The pause of a message on its `attempt`-th attempt.
fn pause_at(reply: Reply, attempt: u32) -> Duration {
    let answer = Answer::reply(reply);
    let options = defaults();
    let mut sim = Sim::new(&options, move |_| answer.clone());
    let admission = Admission::message(message(1), &options)
        .unwrap()
        .with_attempt(attempt);
    sim.handle(Input::Admit { tag: 1, admission }).unwrap();
    sim.run();
    match sim.failure(1).class {
        Class::RetryAfter(pause) => pause,
        other => panic!("{other:?}"),
    }
}

fn pause(reply: Reply) -> Duration {
    pause_at(reply, 1)
}

fn exhausted() -> Reply {
    error(429, "RESOURCE_EXHAUSTED")
}

#[test]
fn retry_after_raises_the_draw_as_seconds_or_as_a_date() {
    assert_eq!(pause(with_header(exhausted(), "60")), ms(60_000));
    assert_eq!(
        pause(with_header(exhausted(), "Sun, 06 Nov 1994 08:50:07 GMT")),
        ms(30_000)
    );
    assert_eq!(pause(with_header(reply(503, ""), "7")), ms(7_000));
    assert_eq!(pause(with_header(reply(429, "<html>"), "7")), ms(7_000));
}

#[test]
fn retry_after_is_capped_at_one_hour() {
    for value in [
        "3601",
        "99999999999999999999",
        "Mon, 06 Nov 1995 08:49:37 GMT",
    ] {
        assert_eq!(pause(with_header(exhausted(), value)), HOUR, "{value}");
    }
    assert_eq!(pause(with_retry_info("3601s")), HOUR);
}

#[test]
fn a_hint_below_the_draw_or_unreadable_leaves_the_draw() {
    let drawn = pause_at(exhausted(), 20);
    assert!(drawn > ms(1_000) && drawn <= ms(30_000));
    for value in [
        "0",
        "-5",
        "soon",
        "1.5",
        "",
        "Sun, 06 Nov 1994 08:00:00 GMT",
    ] {
        assert_eq!(
            pause_at(with_header(exhausted(), value), 20),
            drawn,
            "{value}"
        );
    }
    for value in ["0.5s", "5", "-9s", ""] {
        assert_eq!(pause_at(with_retry_info(value), 20), drawn, "{value}");
    }
}

#[test]
fn retry_info_raises_the_draw_and_the_longer_hint_wins() {
    assert_eq!(pause(with_retry_info("45.837s")), ms(45_837));
    assert_eq!(pause(with_header(with_retry_info("45s"), "60")), ms(60_000));
    assert_eq!(pause(with_header(with_retry_info("45s"), "30")), ms(45_000));
}

#[test]
fn draws_stay_within_the_attempts_window() {
    for (attempt, window) in [(1, 500), (2, 1_000), (7, 30_000), (u32::MAX, 30_000)] {
        let drawn = pause_at(exhausted(), attempt);
        assert!(
            (ms(1)..=ms(window)).contains(&drawn),
            "{attempt}: {drawn:?}"
        );
    }
}

#[test]
fn a_hint_on_a_reply_that_does_not_throttle_changes_nothing() {
    let answer = Answer::reply(with_header(error(500, "INTERNAL"), "60"));
    let mut sim = Sim::new(&defaults(), move |_| answer.clone());
    sim.admit_all(0..2);
    sim.run();
    assert_eq!(sim.failure(0).class, Class::Transient);
}
