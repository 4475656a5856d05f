//! Publishing over gRPC on smol: the clients. What is published and what it comes to are cases of
//! the crate `tests`, on both wires.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

use std::sync::Arc;

use pubsink_fixtures::server::Server;
use pubsink_smol::core::options::{PublisherOptions, Wire};
use pubsink_smol::core::publish::Message;
use pubsink_smol::http2::SmolConnector;
use pubsink_smol::{Http2Client, Publisher, publisher};
use smol::Executor;

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

fn assert_called(server: &Server, times: usize) {
    let log = server.log();
    assert_eq!(log.publishes().len(), times);
    for publish in log.publishes() {
        assert_eq!(publish.path, "/google.pubsub.v1.Publisher/Publish");
    }
}

async fn hello(publisher: &Publisher) {
    let delivered = publisher.publish(Message::new("hello")).await.unwrap();
    assert!(!delivered.message_id.as_str().is_empty());
}

#[test]
fn the_default_client_runs_where_the_publisher_does() {
    let server = server();
    smol::block_on(async { hello(&publisher(options(&server)).spawn().unwrap()).await });
    // On an executor that nobody else runs, connections and all.
    let executor = Arc::new(Executor::new());
    let publisher_here = publisher(options(&server)).spawn_on(&executor).unwrap();
    smol::block_on(executor.run(hello(&publisher_here)));
    let (publisher, driver) = publisher(options(&server)).build().unwrap();
    let publishing = async move {
        hello(&publisher).await;
        drop(publisher);
    };
    smol::block_on(smol::future::zip(publishing, driver));
    assert_called(&server, 3);
}

#[test]
fn a_client_with_settings_publishes() {
    let server = server();
    let executor = Arc::new(Executor::new());
    let client = Http2Client::builder()
        .connector(SmolConnector::on(&executor))
        .build();
    let publisher = publisher(options(&server))
        .http2(client)
        .spawn_on(&executor)
        .unwrap();
    smol::block_on(executor.run(hello(&publisher)));
    assert_called(&server, 1);
}
