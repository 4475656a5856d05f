//! Publishing over gRPC on tokio: the clients. What is published and what it comes to are cases of
//! the crate `tests`, on both wires.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

use std::time::Duration;

use pubsink_fixtures::server::Server;
use pubsink_tokio::core::options::{PublisherOptions, Wire};
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::core::reason::{Reason, TransportKind};
use pubsink_tokio::seam::Calls;
use pubsink_tokio::{Http2Client, HttpClient, publisher};

fn server() -> Server {
    let server = Server::builder().start().unwrap();
    server.create_topic("projects/p/topics/hooks").unwrap();
    server
}

fn options(server: &Server) -> PublisherOptions {
    PublisherOptions::builder("p", "hooks")
        .endpoint(&server.endpoint())
        .wire(Wire::Grpc)
        .build()
        .unwrap()
}

#[tokio::test]
async fn the_default_client_one_with_settings_and_one_behind_the_seam_publish() {
    let server = server();
    let client = || {
        let builder = Http2Client::builder();
        builder.idle_timeout(Duration::from_secs(1)).build()
    };
    for publisher in [
        publisher(options(&server)).spawn().unwrap(),
        publisher(options(&server)).http2(client()).spawn().unwrap(),
        // The one for REST is for REST.
        publisher(options(&server))
            .transport(HttpClient::new())
            .spawn()
            .unwrap(),
    ] {
        let delivered = publisher.publish(Message::new("hello")).await.unwrap();
        assert!(!delivered.message_id.as_str().is_empty());
    }
    assert_eq!(format!("{:?}", Calls::new(client())), "Calls");
    let log = server.log();
    assert_eq!(log.publishes().len(), 3);
    for publish in log.publishes() {
        assert_eq!(publish.path, "/google.pubsub.v1.Publisher/Publish");
        assert_eq!(publish.message_count, 1);
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let options = PublisherOptions::builder("p", "hooks")
        .endpoint(&endpoint)
        .wire(Wire::Grpc)
        .build()
        .unwrap();
    let publisher = publisher(options).spawn().unwrap();
    let failure = publisher.publish(Message::new("x")).await.unwrap_err();
    assert!(!failure.may_have_been_stored);
    let Reason::Transport { transport, .. } = &*failure.reason else {
        panic!("{failure}");
    };
    assert_eq!(*transport, TransportKind::Connect);
}
