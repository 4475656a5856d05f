//! Replies.

use std::time::Duration;

use pubsink_fixtures::broker::{PubsubMessage, Status};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::{WIRES, acked, numbered, send, subscribe, subscribed, subscribed_as};

const REPLIES: &str = "projects/p/topics/replies";

fn replied(server: &Server) -> Vec<PubsubMessage> {
    let stored = server.stored(REPLIES);
    stored.iter().map(|stored| stored.message.clone()).collect()
}

#[test]
fn what_a_command_prints_is_stored_before_the_message_is_acked() {
    let delay = Duration::from_millis(400);
    for wire in WIRES {
        let server = subscribed_as(|config| config.ordered());
        server.create_topic(REPLIES).unwrap();
        server.script([Rule::on(Match::publish()).then(Action::proceed().delay(delay))]);
        let ids = send(&server, [PubsubMessage::new("shout").ordering_key("k")]);
        let reply = ["--exec", "tr a-z A-Z", "--reply-topic", "replies"];
        let run = subscribe(&server, wire).arguments(&reply);
        let done = run.arguments(&["--count", "1"]).done().exits(0);
        assert_eq!(done.stdout, "");
        let expected = PubsubMessage::new("SHOUT").ordering_key("k");
        assert_eq!(
            replied(&server),
            [expected.attribute("in_reply_to", &ids[0])]
        );
        let log = server.log();
        let (published, acks) = (log.publishes()[0].at, log.calls().iter());
        let ack = acks
            .filter(|call| !call.acknowledged.is_empty())
            .map(|call| call.at);
        // The store waits for so long after the request was read.
        assert!(ack.min().unwrap() >= published + delay, "{wire}");
    }
}

#[test]
fn a_message_whose_reply_is_not_stored_comes_again() {
    let server = subscribed();
    server.create_topic(REPLIES).unwrap();
    let away = Action::refuse(&Status::unavailable("Try again."));
    server.script([Rule::on(Match::publish()).times(1).then(away)]);
    send(&server, numbered(1));
    let reply = ["--exec", "cat", "--reply-topic", "replies", "--count", "1"];
    let run = subscribe(&server, "grpc").arguments(&reply);
    let done = run.arguments(&["--retry-base-ms", "20"]).done().exits(0);
    assert!(
        done.stderr
            .contains("attempt 1: the reply was not published: "),
        "{}",
        done.stderr
    );
    assert_eq!(
        done.summary(),
        "pubsink: 2 received, 1 acked, 1 retried, 0 failed"
    );
    assert_eq!((replied(&server).len(), acked(&server)), (1, 1));
}

#[test]
fn a_reply_carries_the_trace_of_its_message_where_that_is_asked_for() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for wire in WIRES {
        for asked in [false, true] {
            let server = subscribed_as(|config| config.ordered());
            server.create_topic(REPLIES).unwrap();
            let traced = PubsubMessage::new("a")
                .attribute("traceparent", trace)
                .attribute("tracestate", "v=1");
            let malformed = PubsubMessage::new("b").attribute("traceparent", "hunter2");
            let messages = [traced, malformed];
            send(&server, messages.map(|message| message.ordering_key("k")));
            let reply = ["--exec", "cat", "--reply-topic", "replies", "--count", "2"];
            let run = subscribe(&server, wire).arguments(&reply);
            let run = match asked {
                true => run.arguments(&["--trace-context"]),
                false => run,
            };
            run.done().exits(0);
            let attributes = |name: &str| -> Vec<_> {
                let replied = replied(&server);
                let values = replied
                    .iter()
                    .map(|reply| reply.attributes.get(name).cloned());
                values.collect()
            };
            let own = |value: &str| asked.then(|| value.to_owned());
            assert_eq!(attributes("traceparent"), [own(trace), None]);
            assert_eq!(attributes("tracestate"), [own("v=1"), None]);
        }
    }
}

#[test]
fn a_large_reply_is_whole_and_an_empty_one_is_none() {
    let server = subscribed();
    server.create_topic(REPLIES).unwrap();
    let large = PubsubMessage::new(vec![b'x'; 3 * 1024 * 1024]);
    send(&server, [large, PubsubMessage::new("").attribute("a", "b")]);
    let reply = ["--exec", "cat", "--reply-topic", "replies", "--count", "2"];
    subscribe(&server, "grpc").arguments(&reply).done().exits(0);
    let sizes: Vec<_> = replied(&server)
        .iter()
        .map(|reply| reply.data.len())
        .collect();
    assert_eq!((sizes, acked(&server)), (vec![3 * 1024 * 1024], 2));
}

#[test]
fn a_reply_that_is_too_large_fails_at_once() {
    let server = subscribed();
    server.create_topic(REPLIES).unwrap();
    send(&server, numbered(1));
    let reply = ["--exec", "yes", "--reply-topic", "replies"];
    let running = subscribe(&server, "grpc").arguments(&reply).start();
    let said = running.said("pubsink: message 1, attempt 1: ");
    assert!(
        said.starts_with("the command printed more than 10000000 bytes"),
        "{said}"
    );
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.wait().exits(0);
    assert_eq!((replied(&server).len(), acked(&server)), (0, 0));
}

#[test]
fn replies_need_something_that_makes_them() {
    let server = subscribed();
    let run = subscribe(&server, "grpc").arguments(&["--reply-topic", "replies"]);
    let done = run.done().exits(2);
    let expected = "pubsink: --reply-topic needs --exec or --forward, whose output is the reply\n";
    assert_eq!(done.stderr, expected);
    let run = subscribe(&server, "grpc").arguments(&["--reply-topic", "-", "--exec", "cat"]);
    let said = run.done().exits(2).stderr;
    assert!(
        said.starts_with("pubsink: --reply-topic is \"-\"; "),
        "{said}"
    );
}
