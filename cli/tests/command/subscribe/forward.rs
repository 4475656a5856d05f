//! Requests.

use std::time::Duration;

use pubsink_fixtures::broker::PubsubMessage;

use super::listener::Listener;
use super::{SUBSCRIPTION, acked, numbered, send, subscribe, subscribed, subscribed_as};

#[test]
fn a_message_is_posted_with_its_attributes() {
    let server = subscribed_as(|config| config.ordered());
    let listener = Listener::start(&[("204 No Content", "")]);
    let message = PubsubMessage::new("{\"a\":1}").attribute("content_type", "application/json");
    let message = message.attribute("Kind", "push, 50%").ordering_key("k");
    let ids = send(&server, [message]);
    let run = subscribe(&server, "grpc").arguments(&["--forward", &listener.url]);
    let done = run.arguments(&["--count", "1"]).done().exits(0);
    assert_eq!((done.stdout.as_str(), acked(&server)), ("", 1));
    let posted = &listener.posted()[0];
    assert_eq!(posted.line, "POST /hooks?to=here HTTP/1.1");
    assert_eq!(posted.body, b"{\"a\":1}");
    for (name, value) in [
        ("content-type", "application/json"),
        ("x-pubsub-attribute-kind", "push, 50%25"),
        ("x-pubsub-message-id", &ids[0]),
        ("x-pubsub-ordering-key", "k"),
        ("x-pubsub-subscription", SUBSCRIPTION),
    ] {
        assert_eq!(posted.header(name), Some(value), "{posted:?}");
    }
}

#[test]
fn what_is_not_answered_2xx_comes_again_and_none_is_dropped() {
    let server = subscribed();
    let listener = Listener::start(&[
        ("500 Internal Server Error", "secret"),
        ("404 Not Found", ""),
        ("400 Bad Request", ""),
        ("302 Found\r\nlocation: /elsewhere", ""),
        ("200 OK", "done"),
    ]);
    send(&server, numbered(1));
    let run = subscribe(&server, "rest").arguments(&["--forward", &listener.url]);
    let run = run.arguments(&["--count", "1", "--retry-base-ms", "1"]);
    let done = run.done().exits(0);
    let lines: Vec<_> = listener.posted().into_iter().map(|one| one.line).collect();
    assert_eq!(lines, ["POST /hooks?to=here HTTP/1.1"; 5]);
    let expected = "attempt 2: the server answered 404 Not Found\n";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    assert!(!done.stderr.contains("secret"), "{}", done.stderr);
    assert_eq!(
        done.summary(),
        "pubsink: 5 received, 1 acked, 4 retried, 0 failed"
    );
}

#[test]
fn a_server_that_asks_for_a_pause_gets_it() {
    let server = subscribed();
    let listener = Listener::start(&[
        ("503 Service Unavailable\r\nretry-after: 1", ""),
        ("429 Too Many Requests\r\nretry-after: 1", ""),
        ("200 OK", ""),
    ]);
    send(&server, numbered(1));
    let run = subscribe(&server, "grpc").arguments(&["--forward", &listener.url]);
    let run = run.arguments(&["--count", "1", "--retry-base-ms", "1"]);
    run.done().exits(0);
    let at: Vec<_> = listener.posted().iter().map(|posted| posted.at).collect();
    assert_eq!(at.len(), 3);
    for pair in at.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_secs(1));
    }
}

#[test]
fn a_server_that_is_not_there_is_waited_for() {
    let server = subscribed();
    send(&server, numbered(1));
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", gone.local_addr().unwrap());
    drop(gone);
    let run = subscribe(&server, "grpc").arguments(&["--forward", &url]);
    let running = run.start();
    let said = running.said("pubsink: message 1, attempt 1: ");
    assert!(said.starts_with("the server answered nothing: "), "{said}");
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.wait().exits(0);
    assert_eq!(acked(&server), 0);
}

#[test]
fn what_is_answered_is_the_reply() {
    let server = subscribed();
    let topic = "projects/p/topics/replies";
    server.create_topic(topic).unwrap();
    let listener = Listener::start(&[("200 OK\r\ncontent-type: text/plain", "thanks")]);
    let ids = send(&server, numbered(1));
    let run = subscribe(&server, "grpc").arguments(&["--forward", &listener.url]);
    let run = run.arguments(&["--count", "1", "--reply-topic", "replies"]);
    run.done().exits(0);
    let expected = PubsubMessage::new("thanks").attribute("content_type", "text/plain");
    let expected = expected.attribute("in_reply_to", &ids[0]);
    assert_eq!(server.stored(topic)[0].message, expected);
    assert_eq!(acked(&server), 1);
}

#[test]
fn a_url_that_is_none_is_bad_usage() {
    let server = subscribed();
    for url in ["here", "ftp://h/", "http://user:secret@h/"] {
        let run = subscribe(&server, "grpc").arguments(&["--forward", url]);
        let said = run.done().exits(2).stderr;
        assert!(said.contains("--forward <URL>"), "{said}");
    }
    let run = subscribe(&server, "grpc").arguments(&["--forward", "http://h/", "--print"]);
    run.done().exits(2);
}
