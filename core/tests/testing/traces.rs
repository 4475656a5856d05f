//! A trace that was committed replays to the same requests and outcomes, and a run that is
//! another shows.

use std::time::{Duration, Instant};

use bytes::Bytes;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::options::{OrderingOnFailure, PublisherOptions};
use pubsink_core::publish::Message;
use pubsink_core::reason::TransportKind;
use pubsink_core::testing::trace::{ReplayError, replay};
use pubsink_core::testing::{Answer, Simulation, TokenAnswer, replies};

/// Six seconds in which most things that can go wrong do.
const COMMITTED: &str = include_str!("../traces/incident.jsonl");

const TOKEN: &str = "ya29.the-old-token";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn hook() -> Envelope {
    Envelope {
        id: "0197f6a2-0000-7000-8000-000000000001".to_owned(),
        source_id: "github".to_owned(),
        tenant_id: Some("acme".to_owned()),
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/hooks".to_owned(),
        headers: vec![
            ("X-Event".to_owned(), "push".into()),
            ("X-Delivery".to_owned(), "72d3162e".into()),
        ],
        content_type: Some("application/json".to_owned()),
        body: r#"{"ref":"refs/heads/main"}"#.into(),
        dedupe_key: None,
    }
}

/// The run that `incident.jsonl` was recorded from.
fn incident(start: Instant) -> Simulation<&'static str> {
    let options = PublisherOptions::builder("my-project", "hooks")
        .batch_max_entries(4)
        .batch_queue_max(6)
        .batch_max_inflight(2)
        .timeout(ms(1_000));
    let mut asked = 0;
    let tokens = move |refused: Option<&_>| {
        asked += 1;
        match (asked, refused) {
            (_, Some(_)) => TokenAnswer::give("ya29.the-fresh-token").after(ms(80)),
            (5, _) => TokenAnswer::refuse("the metadata server is down"),
            _ => TokenAnswer::give(TOKEN),
        }
    };
    let mut count = 0;
    let server = move |request: &pubsink_core::testing::SentRequest| {
        count += 1;
        let bad = request.messages.iter().any(|message| message.data == "bad");
        match count {
            1 => replies::error(401, "UNAUTHENTICATED", "the token has expired").into(),
            _ if bad => replies::error(400, "INVALID_ARGUMENT", "a message is invalid").into(),
            6 => replies::error(429, "RESOURCE_EXHAUSTED", "slow down")
                .retry_delay(ms(2_500))
                .into(),
            7 => replies::page(503, format!("<html>{TOKEN}</html>"))
                .with_retry_after(ms(9_000))
                .into(),
            8 => Answer::never(),
            9 => Answer::stored_but_reply_lost(),
            10 => Answer::failed(TransportKind::Connect),
            11 => Answer::lost(),
            12 => Answer::reply(replies::ids(["one", "too many"])),
            _ => Answer::stored().after(ms(120)),
        }
    };
    let mut sim = Simulation::builder(options.build().unwrap(), start)
        .seed(7)
        .tokens(tokens)
        .record()
        .serve(server);
    for tag in ["good", "bad", "fine"] {
        sim.admit(tag, Message::new(tag));
    }
    sim.run_until(ms(10));
    sim.admit("not text", Message::new(&b"\x00\xFF"[..]));
    sim.run_until(ms(1_000));
    let context = DeliveryContext {
        attempt: 3,
        max_headers: Some(1),
        ..DeliveryContext::batched()
    };
    sim.deliver("a hook", &hook(), &context);
    sim.flush("flush");
    let late = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    for (number, tag) in (0..).zip(late) {
        let message = Message {
            ordering_key: if number % 3 == 0 {
                "key".to_owned()
            } else {
                String::new()
            },
            tenant: (number % 2 == 0).then(|| "tenant".to_owned()),
            attributes: [("n", number.to_string())].into_iter().collect(),
            ..Message::new(tag)
        };
        sim.admit_at(ms(1_000 + 300 * number), tag, message);
    }
    for tag in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        sim.admit_at(ms(6_000), tag, Message::new(tag));
    }
    sim.run_until(ms(6_100));
    sim.close(Some(ms(500)));
    sim.admit("too late", Message::new("x"));
    sim.run();
    sim
}

#[test]
fn a_committed_trace_replays_to_the_same_requests_and_outcomes() {
    let start = Instant::now();
    let mut sim = incident(start);
    let replayed = replay(COMMITTED, start).unwrap_or_else(|error| panic!("{error}"));
    let bodies = |requests: &[pubsink_core::testing::SentRequest]| -> Vec<(Duration, Bytes)> {
        let requests = requests.iter();
        requests
            .map(|request| (request.at, request.body().clone()))
            .collect()
    };
    assert_eq!(bodies(&replayed.requests), bodies(sim.requests()));
    assert_eq!(replayed.outcomes.len(), sim.outcomes().len());
    for (replayed, settled) in replayed.outcomes.iter().zip(sim.outcomes()) {
        assert_eq!(replayed.tag, settled.tag);
        assert_eq!(replayed.at, settled.at);
        assert_eq!(replayed.outcome, settled.outcome);
    }
    assert_eq!(sim.trace(), COMMITTED);
}

#[test]
fn a_committed_trace_holds_every_kind_of_line_and_no_token() {
    let kinds = [
        "admit",
        "token",
        "no_token",
        "reply",
        "failure",
        "lost",
        "flush",
        "close",
        "authorize",
        "send",
        "cancel",
        "settled",
        "flushed",
        "wait",
    ];
    for kind in kinds {
        let kind = [format!("\"in\":\"{kind}\""), format!("\"out\":\"{kind}\"")];
        assert!(kind.iter().any(|kind| COMMITTED.contains(kind)), "{kind:?}");
    }
    assert!(!COMMITTED.contains("ya29") && COMMITTED.contains("<html>***</html>"));
    assert!(COMMITTED.contains(r#""headers_left_out":["x-delivery"]"#));
    assert!(COMMITTED.contains(r#""data":{"base64":"AP8="}"#));
}

#[test]
fn equal_seeds_and_inputs_give_equal_traces_and_another_seed_another() {
    let start = Instant::now();
    let first = incident(start).trace();
    assert_eq!(incident(start + ms(12_345)).trace(), first);
    // The seed decides the pauses of what was throttled.
    let other = first.replacen("\"seed\":7", "\"seed\":8", 1);
    match replay(&other, start).unwrap_err() {
        ReplayError::Differs {
            recorded, replayed, ..
        } => {
            assert!(recorded.contains("retry_after_ns"), "{recorded}");
            assert_ne!(recorded, replayed);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_first_line_that_is_none_or_is_another_is_named() {
    let start = Instant::now();
    let error = |trace: &str| replay(trace, start).unwrap_err();
    let lines: Vec<_> = COMMITTED.lines().collect();
    assert!(matches!(error(""), ReplayError::Line { line: 1, .. }));
    let other = COMMITTED.replacen("\"pubsink_trace\":1", "\"pubsink_trace\":2", 1);
    assert!(matches!(error(&other), ReplayError::Line { line: 1, .. }));
    let garbled = [&lines[..3], &["{\"at_ns\":0,\"in\":\"dance\"}"]]
        .concat()
        .join("\n");
    assert!(matches!(error(&garbled), ReplayError::Line { line: 4, .. }));

    let send = lines
        .iter()
        .position(|line| line.contains("\"out\":\"send\""))
        .unwrap();
    let body = lines[send].replace("bad", "BAD").replace("YmFk", "QkFE");
    let edited = [&lines[..send], &[&body], &lines[send + 1..]]
        .concat()
        .join("\n");
    let ReplayError::Differs {
        line,
        recorded,
        replayed,
    } = error(&edited)
    else {
        panic!("it is the same");
    };
    assert_eq!(
        (line, &*recorded, &*replayed),
        (send + 1, &*body, lines[send])
    );
    let cut = lines[..send].join("\n");
    assert!(replay(&cut, start).is_ok(), "a trace may end anywhere");
}

#[test]
fn a_run_that_holds_keys_replays_too() {
    let start = Instant::now();
    let options = PublisherOptions::builder("my-project", "hooks")
        .ordering_key("k")
        .ordering_on_failure(OrderingOnFailure::Hold)
        .max_stopped_keys(3);
    let mut sim = Simulation::builder(options.build().unwrap(), start)
        .record()
        .serve(|request| match request.messages.len() {
            2 => replies::error(403, "PERMISSION_DENIED", "no").into(),
            _ => Answer::stored(),
        });
    let next = DeliveryContext {
        resume_key: true,
        ..DeliveryContext::batched()
    };
    for tag in ["fails", "fails with it"] {
        sim.deliver(tag, &hook(), &DeliveryContext::batched());
    }
    sim.run();
    sim.deliver("is stopped", &hook(), &DeliveryContext::batched());
    sim.resume("another");
    sim.deliver("is next", &hook(), &next);
    sim.resume_all();
    sim.run();
    let trace = sim.trace();
    for part in [
        r#""hold_max_stopped_keys":3"#,
        r#""in":"resume","key":"another""#,
        r#""in":"resume_all""#,
        r#""resume_key":true"#,
        r#""kind":"key_stopped","key":"k""#,
    ] {
        assert_eq!(trace.matches(part).count(), 1, "{part}: {trace}");
    }
    let replayed = replay(&trace, start).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(replayed.requests.len(), 2);
    assert_eq!(replayed.outcomes.len(), 4);
}
