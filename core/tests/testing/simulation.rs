//! The simulation as its users see it. What it drives is tested by `publisher`.

use std::time::{Duration, Instant};

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Message, WaitReason};
use pubsink_core::testing::{Answer, Simulation};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn options() -> PublisherOptions {
    let options = PublisherOptions::builder("my-project", "hooks");
    options.build().unwrap()
}

fn hook(id: &str) -> Envelope {
    Envelope {
        id: id.to_owned(),
        source_id: "s".to_owned(),
        tenant_id: None,
        received_at: 0,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: vec![
            ("x-a".to_owned(), "1".into()),
            ("x-b".to_owned(), "2".into()),
        ],
        content_type: None,
        body: "body".into(),
        dedupe_key: None,
    }
}

#[test]
fn a_hook_goes_and_one_that_is_invalid_is_settled_without_the_machine() {
    let mut sim = Simulation::new(options(), Instant::now(), |_| Answer::stored());
    let context = DeliveryContext {
        max_headers: Some(1),
        ..DeliveryContext::default()
    };
    sim.deliver("good", &hook("h1"), &context);
    sim.deliver_at(ms(5), "bad", &hook(""), &context);
    sim.run();
    let stored = sim.stored()[0].message.hook().unwrap();
    assert_eq!(
        (stored.id.as_str(), stored.body.as_deref()),
        ("h1", Some(&b"body"[..]))
    );
    insta::assert_json_snapshot!(sim.outcomes(), @r#"
    [
      {
        "tag": "bad",
        "at_ms": 5,
        "failed": {
          "class": "permanent",
          "config": false,
          "reason": {
            "kind": "invalid_message",
            "problem": "empty_id"
          }
        }
      },
      {
        "tag": "good",
        "at_ms": 50,
        "delivered": {
          "message_id": "id-0",
          "diagnostics": {
            "headers_left_out": [
              "x-b"
            ]
          }
        }
      }
    ]
    "#);
    assert!(sim.stored()[0].message.hook().is_ok());
}

#[test]
fn time_stands_where_it_was_told_to() {
    let mut sim = Simulation::builder(options(), Instant::now())
        .latency(ms(7))
        .serve(|_| Answer::stored());
    sim.run_until(ms(100));
    sim.admit(1, Message::new("1"));
    assert_eq!(sim.drain(), (Some(ms(120)), WaitReason::Linger));
    sim.run_until(ms(119));
    assert_eq!((sim.requests().len(), sim.elapsed()), (0, ms(119)));
    sim.run();
    assert_eq!((sim.requests()[0].at, sim.elapsed()), (ms(120), ms(127)));
    sim.run_until(ms(50));
    assert_eq!(sim.elapsed(), ms(127), "it never goes back");
}

#[test]
fn outcomes_come_one_by_one_with_time_between_them() {
    let options = PublisherOptions::builder("my-project", "hooks").batch(false);
    let mut count = 0;
    let server = move |_: &_| {
        count += 1;
        Answer::stored().after(ms(100 * count))
    };
    let mut sim = Simulation::new(options.build().unwrap(), Instant::now(), server);
    for tag in 1..=3 {
        sim.admit(tag, Message::new("m"));
    }
    sim.flush(9);
    let seen: Vec<_> = std::iter::from_fn(|| sim.next_outcome()).collect();
    let seen: Vec<_> = seen
        .iter()
        .map(|settled| (settled.tag, settled.at))
        .collect();
    assert_eq!(seen, [(1, ms(100)), (2, ms(200)), (3, ms(300))]);
    assert_eq!(sim.flushed(), [(9, ms(300))]);
}

#[test]
fn what_a_snapshot_shows_of_the_machine() {
    let mut sim = Simulation::new(options(), Instant::now(), |_| Answer::never());
    let message = Message {
        ordering_key: "k".to_owned(),
        ..Message::new(&b"\xFF"[..])
    };
    sim.admit("a", message);
    sim.run_until(ms(20));
    insta::assert_json_snapshot!(sim.machine().gauges(), @r#"
    {
      "messages": 1,
      "bytes": 2,
      "waiting": 0,
      "requests": 1,
      "ordering_keys": 1,
      "tenants": 1,
      "stopped_keys": 0,
      "every_key_stopped": false
    }
    "#);
    insta::assert_json_snapshot!(sim.requests(), @r#"
    [
      {
        "at_ms": 20,
        "messages": [
          {
            "data_base64": "/w==",
            "ordering_key": "k"
          }
        ]
      }
    ]
    "#);
}
