//! Messages published together and one by one from many tasks at once, on several threads.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

use std::collections::HashMap;
use std::time::Duration;

use pubsink_fixtures::server::Server;
use pubsink_tokio::core::failure::{Class, Outcome};
use pubsink_tokio::core::options::{PublisherOptions, Wire};
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::core::reason::Reason;
use pubsink_tokio::{Publisher, publisher};

const TOPIC: &str = "projects/p/topics/hooks";
const TASKS: usize = 8;
const VECTORS: usize = 24;
/// What the server refuses.
const POISON: &str = "poison";

/// What became of messages, by their data.
type Outcomes = Vec<(String, Outcome)>;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_outcome_is_its_messages_own() {
    for wire in [Wire::Rest, Wire::Grpc] {
        let server = Server::builder().keep_published(true).start().unwrap();
        server.create_topic(TOPIC).unwrap();
        server
            .broker(|broker| broker.reject_data(TOPIC, POISON))
            .unwrap();
        // Less room than some vectors have messages, so that some are refused for it.
        let options = PublisherOptions::builder("p", "hooks")
            .endpoint(&server.endpoint())
            .wire(wire)
            .batch_linger(Duration::from_millis(1))
            .batch_max_entries(100)
            .batch_queue_max(150)
            .batch_queue_tenant(120);
        let publisher = publisher(options.build().unwrap()).spawn().unwrap();
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(publish(publisher.clone(), task)))
            .collect();
        let mut outcomes = Outcomes::new();
        for task in tasks {
            outcomes.extend(task.await.unwrap());
        }
        publisher.flush().await;
        assert_eq!(publisher.gauges().messages, 0);
        check(&server, &outcomes);
    }
}

/// Publishes vectors of 0 to 299 messages, each tenth dropped at once, and one message after each.
async fn publish(publisher: Publisher, task: usize) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for vector in 0..VECTORS {
        let count = (task * 131 + vector * 37) % 300;
        let data: Vec<_> = (0..count)
            .map(|number| match (number + vector) % 97 {
                0 => format!("{POISON} {task} {vector} {number}"),
                _ => format!("{task} {vector} {number}"),
            })
            .collect();
        let messages = data.iter().map(|data| message(data, task));
        let deliveries = publisher.publish_all(messages);
        let alone = format!("{task} {vector} alone");
        let delivery = publisher.publish(message(&alone, task));
        if vector % 10 == 9 {
            drop(deliveries);
        } else {
            let all = deliveries.await;
            assert_eq!(all.len(), count);
            outcomes.extend(data.into_iter().zip(all));
        }
        outcomes.push((alone, delivery.await));
    }
    outcomes
}

fn message(data: &str, task: usize) -> Message {
    Message {
        tenant: (task > 0).then(|| format!("tenant {}", task % 3)),
        ..Message::new(data.to_owned())
    }
}

/// What is said to be stored is, once, under that id; what failed is not.
fn check(server: &Server, outcomes: &Outcomes) {
    let mut stored = HashMap::new();
    for one in server.stored(TOPIC) {
        let data = String::from_utf8(one.message.data.to_vec()).unwrap();
        assert_eq!(stored.insert(data, one.message_id.clone()), None);
    }
    let (mut poisoned, mut refused, mut confirmed) = (0, 0, 0);
    for (data, outcome) in outcomes {
        let Err(failure) = outcome else {
            let delivered = outcome.as_ref().unwrap();
            assert_eq!(stored[data], delivered.message_id.as_str(), "{data}");
            confirmed += 1;
            continue;
        };
        assert!(!stored.contains_key(data), "{data}: {failure}");
        match (&*failure.reason, failure.class) {
            (Reason::BatchQueueFull { .. }, Class::RetryAfter(_)) => refused += 1,
            (_, Class::Permanent) if data.starts_with(POISON) => poisoned += 1,
            _ => panic!("{data}: {failure}"),
        }
    }
    // All of it was met.
    assert!(poisoned > 0 && refused > 0 && confirmed > 1_000);
}
