//! The page that Prometheus reads, while the command runs.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use pubsink_fixtures::broker::{PubsubMessage, SubscriptionConfig};

use super::support::{
    Run, Running, Scratch, TOPIC, WALL_LIMIT, eventually, hooks, publish, publish_to, pubsink,
    server,
};

const PLANTED: &str = "hunter2";
const SAID: &str = "pubsink: metrics at http://";

/// Where a run's page is: host and port.
pub(crate) fn addr(running: &Running) -> String {
    let url = running.said(SAID);
    url.strip_suffix("/metrics").unwrap().to_owned()
}

/// An answer: its head, and its body.
fn ask(addr: &str, method: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(WALL_LIMIT)).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {addr}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

fn page(addr: &str) -> String {
    let (head, body) = ask(addr, "GET", "/metrics");
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    body
}

/// Waits until a line is on the page; all of it then.
pub(crate) fn shows(addr: &str, line: &str) -> String {
    let mut text = String::new();
    eventually(line, || {
        text = page(addr);
        text.lines().any(|it| it == line)
    });
    text
}

pub(crate) fn metered(run: Run) -> Run {
    run.arguments(&["--metrics", "127.0.0.1:0"])
}

const DELIVERED: &str = "pubsink_publish_messages_total{class=\"none\",outcome=\"delivered\",topic=\"projects/p/topics/hooks\"}";

#[test]
fn the_page_is_there_while_the_command_runs_and_no_longer() {
    let server = server();
    let input = "{\"id\":\"hunter2\",\"source_id\":\"hunter2\",\"tenant_id\":\"hunter2\",\
                 \"headers\":{\"x-api-key\":\"hunter2\",\"x\":\"hunter2\"},\"body\":\"hunter2\"}\n";
    let run = metered(publish(&server, input.repeat(3)))
        .arguments(&["--token-env", "PLANTED", "--ordering-key", PLANTED])
        .env("PLANTED", PLANTED);
    let mut running = run.start();
    let addr = addr(&running);
    let text = shows(&addr, &format!("{DELIVERED} 3"));
    for line in [
        "# TYPE pubsink_publish_messages_total counter",
        "# TYPE pubsink_publish_request_duration_seconds histogram",
        "# TYPE pubsink_publish_queue_messages gauge",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    assert!(!text.contains(PLANTED), "{text}");

    let (head, body) = ask(&addr, "HEAD", "/metrics?x=1");
    assert!(
        head.starts_with("http/1.1 200 ") && body.is_empty(),
        "{head}"
    );
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    for path in ["/", "/metrics/", "/other"] {
        let (head, _) = ask(&addr, "GET", path);
        assert!(head.starts_with("http/1.1 404 "), "{head}");
    }
    let (head, _) = ask(&addr, "POST", "/metrics");
    assert!(head.starts_with("http/1.1 405 "), "{head}");
    assert!(head.contains("allow: get, head"), "{head}");

    // What happens later is there as well.
    running.write(&hooks(2));
    shows(&addr, &format!("{DELIVERED} 5"));
    running.close_input();
    let done = running.wait().exits(0);
    assert!(!done.stderr.contains(PLANTED), "{}", done.stderr);
    assert!(TcpStream::connect(&addr).is_err());
}

#[test]
fn with_a_journal_what_dispatch_does_is_there_too() {
    let (server, scratch) = (server(), Scratch::new());
    let run = metered(publish(&server, hooks(3)));
    let mut running = run.arguments(&["--journal", &scratch.path("j")]).start();
    let addr = addr(&running);
    let line = "pubsink_dispatch_settled_total{error_class=\"none\",outcome=\"delivered\",sink=\"projects/p/topics/hooks\"} 3";
    let text = shows(&addr, line);
    assert!(
        text.contains("pubsink_dispatch_enqueued_total{result=\"stored\"} 3\n"),
        "{text}"
    );
    running.close_input();
    running.wait().exits(0);
}

#[test]
fn replay_and_bench_have_the_page() {
    let (server, scratch) = (server(), Scratch::new());
    let dead = scratch.file("dead.ndjson", hooks(1));
    let (endpoint, to) = (server.endpoint(), ["--project", "p", "--topic", "hooks"]);
    for arguments in [
        &["replay", "--from", &dead][..],
        &["bench", "--messages", "10"],
    ] {
        let run = pubsink(arguments).arguments(&to);
        let done = metered(run.arguments(&["--endpoint", &endpoint]))
            .done()
            .exits(0);
        assert!(done.stderr.contains(SAID), "{}", done.stderr);
    }
}

#[test]
fn subscribe_has_the_page() {
    let name = "projects/p/subscriptions/all";
    for wire in ["grpc", "rest"] {
        let server = server();
        let config = SubscriptionConfig::new(name, TOPIC);
        server.create_subscription(config).unwrap();
        let messages = ["good", "good", PLANTED].map(PubsubMessage::new);
        let publish = |broker: &mut pubsink_fixtures::broker::Broker| {
            broker.publish(TOPIC, messages.to_vec(), 1, std::time::Instant::now())
        };
        server.broker(publish).unwrap();
        let run = pubsink(&["subscribe", "--project", "p", "--subscription", "all"]);
        let run = run.arguments(&["--endpoint", &server.endpoint(), "--wire", wire]);
        let run = run.arguments(&["--exec", "grep good", "--retry-base-ms", "600000"]);
        let running = metered(run).start();
        let addr = addr(&running);
        let of = |metric: &str, labels: &str, count: u32| {
            format!("pubsink_subscribe_{metric}{{{labels}subscription=\"{name}\"}} {count}")
        };
        // Labels are in the order of their names.
        let settled = "pubsink_subscribe_settled_total{result=\"ok\",settlement=\"ack\",";
        shows(&addr, &format!("{settled}subscription=\"{name}\"}} 2"));
        shows(&addr, &of("held_messages", "", 1));
        let text = shows(&addr, &of("messages_total", "result=\"new\",", 3));
        for line in [
            of("attempts_total", "error_class=\"none\",outcome=\"ack\",", 2),
            of(
                "attempts_total",
                "error_class=\"retry\",outcome=\"retry_after\",",
                1,
            ),
            of("outstanding_messages", "", 1),
            of("full", "", 0),
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert!(!text.contains(PLANTED), "{text}");
        running.signal(nix::sys::signal::Signal::SIGTERM);
        running.wait().exits(0);
    }
}

#[test]
fn an_address_that_cannot_be_had_is_bad_usage_and_nothing_is_begun() {
    let (server, scratch) = (server(), Scratch::new());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let outcomes = scratch.file("outcomes.ndjson", "earlier\n");
    for addr in [taken.as_str(), "9464", "127.0.0.1:none"] {
        let run = publish_to(&server.endpoint(), hooks(1)).arguments(&["--metrics", addr]);
        let done = run.arguments(&["--outcomes", &outcomes]).done().exits(2);
        let words = format!("pubsink: cannot listen on --metrics {addr}: ");
        assert!(done.stderr.starts_with(&words), "{}", done.stderr);
    }
    assert_eq!(std::fs::read_to_string(&outcomes).unwrap(), "earlier\n");
    assert_eq!(server.log().publishes().len(), 0);
}
