//! R07: the size that counts is that of the body as sent.

use std::time::Duration;

use futures_util::future::join_all;
use pubsink_core::failure::Class;
use pubsink_core::limits::REQUEST_MAX_PROTOBUF_BYTES;
use pubsink_core::options::Wire;
use pubsink_core::publish::Message;
use pubsink_core::reason::{Reason, SizeLimit};

use super::{all_delivered, failed, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Faults, "R07.1 eight megabytes of data leave in requests that fit as base64" => base64_counts;
    Faults, "R07.2 twelve megabytes of attributes leave in requests that fit" => attributes_count, .publishes(BOTH);
    Faults, "R07.3 control characters count as the escapes they are sent as" => escapes_count;
    Faults, "R07.5 a message too large alone is refused and takes nobody with it" => too_large_alone;
    Faults, "the largest message that is admitted is stored, and one byte more is refused without a request" => to_the_byte;
    Faults, "over gRPC the largest message that is admitted is stored, and one byte more is refused without a request" => to_the_byte_over_grpc, .publishes(&[Wire::Grpc]);
    Faults, "max_message_bytes counts data, attributes and ordering key" => own_limit;
    Faults, "a batch of 7.5 MB of data is one request that the service takes" => data_limit, .publishes(BOTH);
}

fn random(bytes: usize, seed: u64) -> Vec<u8> {
    let mut data = vec![0; bytes];
    fastrand::Rng::with_seed(seed).fill(&mut data);
    data
}

/// Publishes them in batches as large as they may be; how many requests it took.
async fn publish_and_check(env: &Env, messages: Vec<Message>) -> usize {
    let count = messages.len();
    // Nothing leaves before it is full, however slow the machine.
    let publisher = env.publisher(env.options().batch_linger(Duration::from_secs(60)));
    let deliveries: Vec<_> = messages
        .into_iter()
        .map(|one| publisher.publish(one))
        .collect();
    publisher.flush().await;
    all_delivered(&join_all(deliveries).await);
    check_requests(env);
    assert_eq!(env.stored().len(), count);
    env.publishes()
}

fn check_requests(env: &Env) {
    for request in env.server().log().publishes() {
        assert_eq!(request.status, Some(200));
        assert!(
            request.body_bytes <= 10_485_760,
            "{} bytes",
            request.body_bytes
        );
        assert!(request.message_count <= 1_000);
    }
}

async fn base64_counts(env: Env) {
    let messages = (0..10).map(|seed| Message::new(random(800_000, seed)));
    assert_eq!(publish_and_check(&env, messages.collect()).await, 2);
}

async fn attributes_count(env: Env) {
    let value = "v".repeat(1_000);
    let message = |_| {
        let mut message = Message::new("x");
        for number in 0..10 {
            message
                .attributes
                .insert(format!("{number}{}", "k".repeat(199)), value.clone());
        }
        message
    };
    assert_eq!(
        publish_and_check(&env, (0..1_000).map(message).collect()).await,
        2
    );
}

async fn escapes_count(env: Env) {
    let value = "\u{1}".repeat(1_000);
    let message = |_| {
        let mut message = Message::new("x");
        for number in 0..6 {
            message
                .attributes
                .insert(format!("a{number}"), value.clone());
        }
        message
    };
    assert_eq!(
        publish_and_check(&env, (0..300).map(message).collect()).await,
        2
    );
}

async fn too_large_alone(env: Env) {
    let publisher = env.publisher(env.options());
    let mut messages = numbered("small", 50);
    messages.insert(25, Message::new(vec![b'x'; 7_900_000]));
    let mut outcomes = publish_all(&publisher, messages).await;
    let outcome = outcomes.remove(25);
    let failure = failed(&outcome);
    assert_eq!(failure.class, Class::Permanent);
    match *failure.reason {
        // {"messages":[{"data":""}]} and the base64 of 7,900,000 bytes.
        Reason::MessageTooLarge { size, max, limit } => {
            assert_eq!(
                (size, max, limit),
                (10_533_336 + 26, 10_485_760, SizeLimit::RequestBody)
            );
        }
        ref other => panic!("{other:?}"),
    }
    all_delivered(&outcomes);
    check_requests(&env);
    assert_eq!(env.stored().len(), 50);
}

async fn data_limit(env: Env) {
    let messages = (0..10).map(|seed| Message::new(random(750_000, seed)));
    assert_eq!(publish_and_check(&env, messages.collect()).await, 1);
}

async fn to_the_byte(env: Env) {
    let publisher = env.publisher(env.options());
    // 7,864,299 bytes are 10,485,732 as base64, and 26 more are the rest of the body.
    all_delivered(&publish_all(&publisher, [Message::new(vec![b'x'; 7_864_299])]).await);
    let sent = env.server().log().publishes()[0].body_bytes;
    assert_eq!(sent, 10_485_758);
    let outcomes = publish_all(&publisher, [Message::new(vec![b'x'; 7_864_300])]).await;
    assert!(matches!(
        *failed(&outcomes[0]).reason,
        Reason::MessageTooLarge {
            size: 10_485_762,
            ..
        }
    ));
    assert_eq!((env.publishes(), env.stored().len()), (1, 1));
}

async fn to_the_byte_over_grpc(env: Env) {
    let publisher = env.publisher(env.options());
    // What stands around it: the topic's name, and the message's and its data's number and length.
    let around = 2 + env.topic().len() + 5 + 5;
    let largest = REQUEST_MAX_PROTOBUF_BYTES - around;
    all_delivered(&publish_all(&publisher, [Message::new(vec![b'x'; largest])]).await);
    let sent = env.server().log().publishes()[0].body_bytes;
    assert_eq!(sent, 5 + REQUEST_MAX_PROTOBUF_BYTES as u64);
    let outcomes = publish_all(&publisher, [Message::new(vec![b'x'; largest + 1])]).await;
    assert!(matches!(
        *failed(&outcomes[0]).reason,
        Reason::MessageTooLarge {
            size: 10_000_001,
            limit: SizeLimit::RequestProtobuf,
            ..
        }
    ));
    assert_eq!((env.publishes(), env.stored().len()), (1, 1));
}

async fn own_limit(env: Env) {
    let publisher = env.publisher(env.options().max_message_bytes(10));
    let message = |data: &'static str| {
        let mut message = Message::new(data);
        message.attributes.insert("ab", "c");
        message.ordering_key = "\u{e9}".to_owned();
        message
    };
    let outcomes = publish_all(&publisher, [message("12345"), message("123456")]).await;
    assert!(outcomes[0].is_ok());
    let failure = failed(&outcomes[1]);
    assert_eq!(failure.class, Class::Permanent);
    assert_eq!(
        *failure.reason,
        Reason::MessageTooLarge {
            size: 11,
            max: 10,
            limit: SizeLimit::Message
        }
    );
}
