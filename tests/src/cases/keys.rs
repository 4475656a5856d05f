//! Ordering keys: order, and what an idle key costs (R11).

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Class;
use pubsink_core::publish::Message;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::Publisher;
use pubsink_runtime::seam::{SendLimits, Transport};

use super::{all_delivered, failed, publish_all};
use crate::harness::any::{AnyTransport, Sent};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Client;
use crate::harness::memory::{assert_growth, resident_mb};
use crate::harness::recorder::message_count;

cases! {
    Ordering, "an ordered subscription gets each key's messages in the order of the calls" => order_kept, .publishes(BOTH);
    Faults, "a key has one request in flight, whatever else goes" => one_in_flight, .publishes(BOTH);
    Faults, "a key's order holds across batched and direct deliveries" => mixed;
    Faults, "after a failure a key goes on, in order, with what came behind" => goes_on, .publishes(BOTH);
    Faults, "R11.1 a key used once costs nothing afterwards" => one_use_keys, .measures_memory(), .limit(120);
    Faults, "R11.2 a key that failed costs nothing afterwards" => failed_keys, .measures_memory();
    Faults, "R11.3 a key that goes idle and busy all the time loses and swaps nothing" => idle_and_busy;
}

fn keyed(key: impl Into<String>, data: impl Into<Bytes>) -> Message {
    let mut message = Message::new(data);
    message.ordering_key = key.into();
    message
}

async fn order_kept(env: Env) {
    let id = format!("{}-ordered", env.topic_id());
    env.create_topic(&id, true).await;
    let publisher = env.publisher(env.options_for(&id).batch_max_entries(7));
    let numbers = 0..60;
    let messages = numbers.flat_map(|n| ["a", "b", "c"].map(|key| keyed(key, format!("{n}"))));
    all_delivered(&publish_all(&publisher, messages).await);
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in env.pull_from(&id, 180).await {
        by_key
            .entry(one.ordering_key)
            .or_default()
            .push(String::from_utf8(one.data).unwrap());
    }
    let expected: Vec<_> = (0..60).map(|n| n.to_string()).collect();
    for key in ["a", "b", "c"] {
        assert_eq!(by_key[key], expected, "key {key}");
    }
}

async fn one_in_flight(env: Env) {
    // The first request of the key is slow, the others are not: sent side by side they would pass it.
    let slow = Action::proceed().delay(std::time::Duration::from_millis(200));
    env.server()
        .script([Rule::on(Match::publish()).nth(1).then(slow)]);
    let publisher = env.publisher(env.options().batch_max_entries(1));
    all_delivered(&publish_all(&publisher, (0..20).map(|n| keyed("k", format!("{n:02}")))).await);
    let stored: Vec<_> = env
        .stored()
        .iter()
        .map(|one| one.message.data.clone())
        .collect();
    assert_eq!(
        stored,
        (0..20)
            .map(|n| Bytes::from(format!("{n:02}")))
            .collect::<Vec<_>>()
    );
    assert_eq!(env.server().gauges().max_publishes_in_flight, 1);
}

/// Answers every publish at once, without a network.
struct AtOnce;

impl Transport for AtOnce {
    async fn send(&self, request: Request<Bytes>, _: SendLimits) -> Sent {
        let ids = vec!["\"1\""; message_count(request.body())].join(",");
        Ok(Response::new(format!("{{\"messageIds\":[{ids}]}}").into()))
    }
}

async fn publish_one_use_keys(publisher: &Publisher, from: usize, count: usize) {
    let mut number = from;
    while number < from + count {
        let chunk = number..(number + 1_000).min(from + count);
        number = chunk.end;
        let messages = chunk.map(|n| keyed(format!("key-{n}"), "x"));
        all_delivered(&publish_all(publisher, messages).await);
    }
}

async fn one_use_keys(env: Env) {
    let spec = env
        .spec(env.options())
        .client(Client::Own(AnyTransport::new(AtOnce)));
    let publisher = env.start(spec);
    publish_one_use_keys(&publisher, 0, 20_000).await;
    assert_eq!(publisher.gauges().ordering_keys, 0);
    let before = resident_mb();
    publish_one_use_keys(&publisher, 20_000, 400_000).await;
    let gauges = publisher.gauges();
    assert_eq!(
        (gauges.ordering_keys, gauges.messages, gauges.tenants),
        (0, 0, 0)
    );
    assert_growth(before, 20);
}

/// Refuses every publish for good.
struct Refusing;

impl Transport for Refusing {
    async fn send(&self, _: Request<Bytes>, _: SendLimits) -> Sent {
        let mut reply = Response::new(Bytes::from(Status::invalid_argument("no").to_json()));
        *reply.status_mut() = http::StatusCode::BAD_REQUEST;
        Ok(reply)
    }
}

async fn failed_keys(env: Env) {
    let spec = env
        .spec(env.options())
        .client(Client::Own(AnyTransport::new(Refusing)));
    let publisher = env.start(spec);
    let mut before = None;
    for round in 0..2 {
        for chunk in 0..10 {
            let keys = (0..1_000).map(|n| keyed(format!("key-{round}-{chunk}-{n}"), "x"));
            for outcome in publish_all(&publisher, keys).await {
                assert_eq!(failed(&outcome).class, Class::Permanent);
            }
        }
        assert_eq!(publisher.gauges().ordering_keys, 0);
        if round == 0 {
            before = resident_mb();
        }
    }
    assert_growth(before, 20);
}

async fn idle_and_busy(env: Env) {
    const TASKS: usize = 8;
    const EACH: usize = 400;
    let linger = std::time::Duration::from_millis(1);
    let publisher = env.publisher(env.options().batch_linger(linger));
    let task = |task: usize| {
        let (env, publisher) = (env.clone(), publisher.clone());
        async move {
            let mut deliveries = Vec::new();
            for number in 0..EACH {
                deliveries.push(publisher.publish(keyed("k", format!("{task} {number}"))));
                // Now and then until the key has gone idle.
                env.sleep(if number % 50 == task { 60 } else { 1 }).await;
            }
            all_delivered(&join_all(deliveries).await);
        }
    };
    join_all((0..TASKS).map(task)).await;
    assert_eq!(publisher.gauges().ordering_keys, 0);
    let mut next = [0; TASKS];
    for one in env.stored() {
        let text = String::from_utf8(one.message.data.to_vec()).unwrap();
        let (task, number) = text.split_once(' ').unwrap();
        let task: usize = task.parse().unwrap();
        assert_eq!(number, next[task].to_string(), "task {task}");
        next[task] += 1;
    }
    assert_eq!(next, [EACH; TASKS]);
}

async fn mixed(env: Env) {
    let publisher = env.publisher(env.options().ordering_key("k"));
    let hook = |number: usize| Envelope {
        id: format!("{number:03}"),
        source_id: "tests".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        content_type: None,
        body: "{}".into(),
        dedupe_key: None,
    };
    let deliver = |number: usize| {
        let context = DeliveryContext {
            batch: number % 7 < 4,
            ..DeliveryContext::default()
        };
        publisher.deliver(&hook(number), &context)
    };
    all_delivered(&join_all((0..100).map(deliver).collect::<Vec<_>>()).await);
    let stored = env.stored();
    let ids: Vec<_> = stored
        .iter()
        .map(|one| one.message.attributes["ankusa_id"].clone())
        .collect();
    assert_eq!(ids, (0..100).map(|n| format!("{n:03}")).collect::<Vec<_>>());
    assert_eq!(env.server().gauges().max_publishes_in_flight, 1);
}

async fn goes_on(env: Env) {
    let busy = Action::status(503, "busy");
    env.server()
        .script([Rule::on(Match::publish()).nth(2).then(busy)]);
    let publisher = env.publisher(env.options().batch_max_entries(2));
    let outcomes = publish_all(&publisher, (0..8).map(|n| keyed("k", n.to_string()))).await;
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.is_err(), number == 2 || number == 3, "{outcome:?}");
    }
    let stored: Vec<_> = env
        .stored()
        .iter()
        .map(|one| one.message.data.clone())
        .collect();
    assert_eq!(stored, ["0", "1", "4", "5", "6", "7"]);
}
