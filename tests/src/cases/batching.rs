//! When a batch leaves, and what a request looks like.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pubsink_core::publish::Message;

use super::{all_delivered, numbered, publish_all, publish_together};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Anything, "a full batch leaves without lingering" => full, .publishes(BOTH);
    Anything, "a batch is full by its bytes too" => full_by_bytes;
    Anything, "a message larger than batch_max_bytes leaves alone" => larger_than_a_batch, .publishes(BOTH);
    Anything, "a batch waits for company as long as batch_linger says" => lingers;
    Anything, "with an ordering key a request carries messages of that key alone" => one_key, .publishes(BOTH);
    Faults, "a request has the headers it needs and no other" => headers;
}

/// Nothing leaves by itself within a case's time.
const LONG: Duration = Duration::from_secs(60);

async fn full(env: Env) {
    let (publisher, recorder) =
        env.recorded(env.options().batch_linger(LONG).batch_max_entries(10));
    all_delivered(&publish_all(&publisher, numbered("m", 30)).await);
    assert_eq!(recorder.requests(), [10, 10, 10]);
    env.pull(30).await;
}

async fn full_by_bytes(env: Env) {
    let options = env.options().batch_linger(LONG).batch_max_bytes(1_000);
    let (publisher, recorder) = env.recorded(options);
    let messages = (0..6).map(|_| Message::new(vec![b'x'; 500]));
    all_delivered(&publish_all(&publisher, messages).await);
    assert_eq!(recorder.requests(), [2, 2, 2]);
    env.pull(6).await;
}

async fn larger_than_a_batch(env: Env) {
    let options = env.options().batch_max_bytes(100).batch_max_inflight(1);
    let (publisher, recorder) = env.recorded(options);
    let messages = [10, 10, 5_000, 10, 10].map(|bytes| Message::new(vec![b'x'; bytes]));
    all_delivered(&publish_all(&publisher, messages).await);
    assert_eq!(recorder.requests(), [2, 1, 2]);
    env.pull(5).await;
}

async fn lingers(env: Env) {
    let (publisher, recorder) =
        env.recorded(env.options().batch_linger(Duration::from_millis(1_500)));
    let start = Instant::now();
    let mut deliveries = Vec::new();
    for message in numbered("m", 5) {
        deliveries.push(publisher.publish(message));
        env.sleep(20).await;
    }
    all_delivered(&join_all(deliveries).await);
    assert!(start.elapsed() >= Duration::from_millis(1_500));
    assert_eq!(recorder.requests(), [5]);
}

async fn one_key(env: Env) {
    let (publisher, recorder) = env.recorded(env.patient_options());
    let messages = numbered("m", 12)
        .into_iter()
        .enumerate()
        .map(|(number, mut message)| {
            message.ordering_key = ["", "a", "b"][number % 3].to_owned();
            message
        });
    all_delivered(&publish_together(&publisher, messages).await);
    assert_eq!(recorder.requests(), [4, 4, 4]);
    env.pull(12).await;
}

async fn headers(env: Env) {
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered("m", 1)).await);
    let log = env.server().log();
    let request = log.publishes()[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.path, format!("/v1/{}:publish", env.topic()));
    let mut headers = request.headers.clone();
    // What a client says of itself is its own; curl says what it accepts, too.
    headers
        .retain(|(name, value)| name != "user-agent" && (&**name, &**value) != ("accept", "*/*"));
    headers.sort();
    let expected = [
        ("content-length".to_owned(), request.body_bytes.to_string()),
        ("content-type".to_owned(), "application/json".to_owned()),
        ("host".to_owned(), env.endpoint().replace("http://", "")),
    ];
    assert_eq!(headers, expected);
}
