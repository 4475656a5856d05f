//! Options at the ends of their ranges, and calls from odd places.

use std::net::{Ipv6Addr, TcpListener};
use std::time::Duration;

use futures_util::future::join_all;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Class;
use pubsink_core::options::Wire;
use pubsink_core::publish::Message;
use pubsink_core::reason::{InvalidMessage, Reason};
use pubsink_fixtures::server::Server;

use super::{all_delivered, delivered, failed, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::{Client, Flavor};
use crate::harness::panics::MEANT;

cases! {
    Anything, "the largest values of every option work" => largest;
    Anything, "the smallest values of every option work" => smallest, .on(Flavor::CurrentThread);
    Anything, "the longest idle timeout works" => idle_for_ever;
    Anything, "plain threads publish at once and each message is stored once" => threads;
    Faults, "a shutdown without a limit that fits the clock waits for all" => shutdown_for_ever;
    Faults, "an IPv6 endpoint works" => ipv6, .publishes(BOTH);
    Faults, "an ordering key's function that panics fails its hook and no other" => key_panics;
    Faults, "a publisher that is dropped closes its connections" => closes_connections, .publishes(BOTH);
}

async fn largest(env: Env) {
    let options = env
        .options()
        .timeout(Duration::MAX)
        .batch_max_inflight(usize::MAX);
    let options = options
        .batch_queue_max(usize::MAX)
        .batch_queue_bytes(usize::MAX);
    let options = options
        .batch_queue_tenant(usize::MAX)
        .sink_concurrency(usize::MAX);
    let publisher = env.publisher(options.inline_max_bytes(usize::MAX));
    all_delivered(&publish_all(&publisher, numbered("m", 10)).await);
    env.pull(10).await;
}

async fn smallest(env: Env) {
    let options = env
        .options()
        .batch_linger(Duration::from_millis(1))
        .batch_max_entries(1);
    let options = options
        .batch_max_bytes(1)
        .batch_max_inflight(1)
        .batch_queue_max(1);
    let options = options
        .batch_queue_bytes(1)
        .batch_queue_tenant(1)
        .sink_concurrency(1);
    let publisher = env.publisher(options.max_message_bytes(3));
    for _ in 0..3 {
        // Larger than batch and ceiling: taken where nothing else is held.
        all_delivered(&publish_all(&publisher, [Message::new("abc")]).await);
    }
    // None is sent before all are published: nothing else runs on the case's thread.
    let outcomes = publish_all(&publisher, numbered("", 3)).await;
    assert_eq!(delivered(&outcomes), 1, "one is held, two are refused");
    env.pull(4).await;
}

async fn idle_for_ever(env: Env) {
    let spec = env.spec(env.options());
    let publisher = env.start(spec.client(Client::IdleTimeout(Duration::MAX)));
    all_delivered(&publish_all(&publisher, numbered("m", 1)).await);
    all_delivered(&publish_all(&publisher, numbered("n", 1)).await);
    env.pull(2).await;
}

async fn threads(env: Env) {
    let publisher = env.publisher(env.options().batch_queue_tenant(4_096));
    let thread = |thread: usize| {
        let publisher = publisher.clone();
        std::thread::spawn(move || {
            let messages = numbered(&format!("t{thread}"), 250).into_iter();
            messages
                .map(|message| publisher.publish(message))
                .collect::<Vec<_>>()
        })
    };
    let threads: Vec<_> = (0..8).map(thread).collect();
    for thread in threads {
        all_delivered(&join_all(thread.join().expect("no panic")).await);
    }
    let mut came: Vec<_> = env
        .pull(2_000)
        .await
        .into_iter()
        .map(|one| one.data)
        .collect();
    came.sort();
    came.dedup();
    assert_eq!(came.len(), 2_000);
}

async fn shutdown_for_ever(env: Env) {
    let publisher = env.publisher(env.options());
    let deliveries: Vec<_> = numbered("m", 10)
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.shutdown(Duration::MAX).await;
    all_delivered(&join_all(deliveries).await);
}

async fn ipv6(env: Env) {
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return eprintln!("NOT RUN: an IPv6 endpoint: this system has no ::1");
    };
    let server = Server::builder()
        .keep_published(true)
        .start_on(listener)
        .unwrap();
    server.create_topic(&env.topic()).unwrap();
    assert!(server.endpoint().starts_with("http://[::1]:"));
    let publisher = env.publisher(env.options().endpoint(&server.endpoint()));
    all_delivered(&publish_all(&publisher, numbered("m", 3)).await);
    assert_eq!(server.stored(&env.topic()).len(), 3);
}

async fn key_panics(env: Env) {
    let options = env.options().ordering_key_with(|hook| {
        assert!(hook.id != "bad", "{MEANT}");
        hook.id.clone()
    });
    let publisher = env.publisher(options);
    let hook = |id: &str| Envelope {
        id: id.to_owned(),
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
    let batched = DeliveryContext::batched();
    let ids = ["a", "bad", "b"];
    let outcomes = join_all(ids.map(|id| publisher.deliver(&hook(id), &batched))).await;
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let failure = failed(&outcomes[1]);
    assert_eq!(failure.class, Class::Permanent);
    let problem = InvalidMessage::OrderingKeyPanicked;
    assert_eq!(*failure.reason, Reason::InvalidMessage(problem));
    let mut keys: Vec<_> = env
        .stored()
        .iter()
        .map(|one| one.message.ordering_key.clone())
        .collect();
    keys.sort();
    assert_eq!(keys, ["a", "b"]);
}

async fn closes_connections(env: Env) {
    let clients = match env.wire() {
        Wire::Rest => vec![Client::Default, Client::Http2],
        Wire::Grpc => vec![Client::Default],
    };
    for client in clients {
        let publisher = env.start(env.spec(env.options()).client(client));
        all_delivered(&publish_all(&publisher, numbered("m", 3)).await);
        assert!(env.server().gauges().open_connections > 0);
        drop(publisher);
        env.until("its connections are closed", || {
            env.server().gauges().open_connections == 0
        })
        .await;
    }
}
