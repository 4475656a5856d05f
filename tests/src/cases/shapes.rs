//! Plain messages of every shape, there and back.

use std::collections::BTreeMap;

use pubsink_core::publish::Message;

use super::{all_delivered, numbered, publish_all, publish_together};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Anything, "a plain message of every shape comes back as it was published, batched" => batched, .publishes(BOTH);
    Anything, "a plain message of every shape comes back as it was published, one a request" => one_a_request, .publishes(BOTH);
    Anything, "a thousand messages are one request and each gets an id of its own" => a_thousand, .publishes(BOTH);
    Anything, "R07.4 two and a half thousand messages leave at most a thousand a request" => many_thousand, .publishes(BOTH);
}

fn message(data: &[u8], attributes: &[(&str, &str)], ordering_key: &str) -> Message {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Message {
        data: data.to_vec().into(),
        attributes: attributes.iter().map(own).collect(),
        ordering_key: ordering_key.to_owned(),
        tenant: None,
    }
}

fn shapes() -> Vec<Message> {
    let every_byte: Vec<u8> = (0..=255).collect();
    vec![
        message(b"data only", &[], ""),
        message(b"", &[("attributes", "only")], ""),
        message(b"", &[("an empty value", "")], ""),
        message(b"with a key", &[], "key-1"),
        message(b"with all", &[("a", "1"), ("b", "2"), ("c", "")], "key-2"),
        message(
            "d\u{e9}j\u{e0} vu \u{1f98b}".as_bytes(),
            &[("\u{fc}n\u{ef}", "\u{1f98b}")],
            "sch\u{fc}ssel",
        ),
        message(&every_byte, &[("every", "byte")], ""),
        message(&every_byte[..1], &[], ""),
        message(
            b"\"quoted\" \\ and / and \n\r\t\x08\x0c",
            &[("\"\\/", "\"\\/\n\r\t\u{8}\u{c}")],
            "\"k\\/\n",
        ),
        message(
            b"control",
            &[
                ("low", "\u{1}\u{1f}\u{7f}"),
                ("odd", "\u{2028}\u{2029}\u{ffff}\u{fffe}"),
            ],
            "",
        ),
        message(b"</script>&amp;", &[("<&>", "</script>")], "<&>"),
        message(b"aGVsbG8=", &[("looks", "like base64")], ""),
        message(
            b"{\"messages\":[]}",
            &[("looks", "{\"like\":\"json\"}")],
            "",
        ),
        message(
            &[b'x'; 100_000],
            &[("long", &"v".repeat(1_024))],
            &"k".repeat(1_024),
        ),
        message(b"name", &[(&"n".repeat(256), "of 256 bytes")], ""),
        message(
            "\u{e9}".repeat(512).as_bytes(),
            &[("umlauts", &"\u{e9}".repeat(512))],
            "",
        ),
    ]
}

type Shape = (Vec<u8>, BTreeMap<String, String>, String);

fn shape_of(message: &Message) -> Shape {
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let attributes = message.attributes.iter().map(own).collect();
    (
        message.data.to_vec(),
        attributes,
        message.ordering_key.clone(),
    )
}

async fn there_and_back(env: Env, batch: bool) {
    let publisher = env.publisher(env.options().batch(batch));
    let outcomes = publish_all(&publisher, shapes()).await;
    all_delivered(&outcomes);
    let mut sent: Vec<Shape> = shapes().iter().map(shape_of).collect();
    let pulled = env.pull(sent.len()).await;
    let mut ids: Vec<_> = outcomes
        .iter()
        .flatten()
        .map(|one| one.message_id.to_string())
        .collect();
    let mut pulled_ids: Vec<_> = pulled.iter().map(|one| one.message_id.clone()).collect();
    let mut came: Vec<Shape> = pulled
        .into_iter()
        .map(|one| (one.data, one.attributes, one.ordering_key))
        .collect();
    sent.sort();
    came.sort();
    assert_eq!(sent, came);
    ids.sort();
    pulled_ids.sort();
    assert_eq!(ids, pulled_ids);
}

async fn batched(env: Env) {
    there_and_back(env, true).await;
}

async fn one_a_request(env: Env) {
    there_and_back(env, false).await;
}

async fn a_thousand(env: Env) {
    let (publisher, recorder) = env.recorded(env.patient_options());
    let outcomes = publish_together(&publisher, numbered("m", 1_000)).await;
    all_delivered(&outcomes);
    assert_eq!(recorder.requests(), [1_000]);
    let pulled = env.pull(1_000).await;
    let by_id: BTreeMap<_, _> = pulled
        .iter()
        .map(|one| (&*one.message_id, &one.data))
        .collect();
    assert_eq!(by_id.len(), 1_000);
    // The n-th id is that of the n-th message.
    for (number, outcome) in outcomes.iter().enumerate() {
        let id = outcome.as_ref().unwrap().message_id.as_str();
        assert_eq!(*by_id[id], format!("m-{number}").as_bytes());
    }
}

async fn many_thousand(env: Env) {
    let (publisher, recorder) = env.recorded(env.patient_options().batch_queue_tenant(4_096));
    let messages = numbered("0123456789", 2_500);
    all_delivered(&publish_together(&publisher, messages).await);
    let mut requests = recorder.requests();
    requests.sort_unstable();
    assert_eq!(requests, [500, 1_000, 1_000]);
    let mut pulled: Vec<_> = env
        .pull(2_500)
        .await
        .into_iter()
        .map(|one| one.data)
        .collect();
    pulled.sort();
    pulled.dedup();
    assert_eq!(pulled.len(), 2_500);
}
