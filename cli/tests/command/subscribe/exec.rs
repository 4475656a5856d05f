//! Commands.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use pubsink_fixtures::broker::{PubsubMessage, SubscriptionConfig};

use super::super::support::{Scratch, TOPIC, server};
use super::{
    SUBSCRIPTION, WIRES, acked, lines, numbered, send, subscribe, subscribed, subscribed_as,
};

#[test]
fn a_command_has_the_data_and_the_attributes() {
    let server = subscribed_as(|config| config.ordered());
    let message = PubsubMessage::new("the data").attribute("x-Event.kind", "push it");
    let ids = send(&server, [message.ordering_key("k 1")]);
    let command = "printf '%s|' \"$PUBSINK_MESSAGE_ID\" \"$PUBSINK_ORDERING_KEY\" \
                   \"$PUBSINK_ATTRIBUTE_X_EVENT_KIND\" \"${PUBSINK_DELIVERY_ATTEMPT-none}\" \
                   \"${PUBSINK_ATTRIBUTE_OLD-none}\"; cat";
    let run = subscribe(&server, "grpc").arguments(&["--exec", command, "--count", "1"]);
    // As where it is itself run for a message.
    let run = run.env("PUBSINK_ATTRIBUTE_OLD", "old");
    let done = run.env("PUBSINK_DELIVERY_ATTEMPT", "9").done().exits(0);
    let expected = format!("{}|k 1|push it|none|none|the data", ids[0]);
    assert_eq!(done.stdout, expected);
}

#[test]
fn the_attempt_is_there_where_it_is_counted() {
    let dead = "projects/p/topics/dead";
    let server = server();
    server.create_topic(dead).unwrap();
    let config = SubscriptionConfig::new(SUBSCRIPTION, TOPIC).dead_letters(dead, 5);
    server.create_subscription(config).unwrap();
    send(&server, numbered(1));
    let command = "echo \"$PUBSINK_DELIVERY_ATTEMPT\"; [ \"$PUBSINK_DELIVERY_ATTEMPT\" = 3 ]";
    let run = subscribe(&server, "grpc").arguments(&["--exec", command, "--count", "1"]);
    let done = run.arguments(&["--retry-base-ms", "1"]).done().exits(0);
    assert_eq!(done.stdout, "1\n2\n3\n");
    assert_eq!(
        done.summary(),
        "pubsink: 3 received, 1 acked, 2 retried, 0 failed"
    );
}

#[test]
fn what_fails_comes_again_and_its_key_keeps_its_order() {
    for wire in WIRES {
        let (server, scratch) = (subscribed_as(|config| config.ordered()), Scratch::new());
        let (seen, failed) = (scratch.path("seen"), scratch.path("failed"));
        send(
            &server,
            numbered(4).map(|message| message.ordering_key("k")),
        );
        // The second one fails the first time.
        let command = format!(
            "read -r data || true; echo \"$data\" >> {seen}; \
             [ \"$data\" != m2 ] || [ -e {failed} ] || {{ touch {failed}; exit 7; }}"
        );
        let run = subscribe(&server, wire).arguments(&["--exec", &command, "--count", "4"]);
        let done = run.arguments(&["--retry-base-ms", "20"]).done().exits(0);
        assert_eq!(lines(&seen), ["m1", "m2", "m2", "m3", "m4"], "{wire}");
        assert!(
            done.stderr
                .contains("attempt 1: the command failed: exit status: 7\n"),
            "{}",
            done.stderr
        );
        assert_eq!(
            done.summary(),
            "pubsink: 5 received, 4 acked, 1 retried, 0 failed"
        );
        assert_eq!(acked(&server), 4);
    }
}

#[test]
fn data_that_is_not_read_is_no_failure() {
    let (server, scratch) = (subscribed(), Scratch::new());
    send(&server, [PubsubMessage::new(vec![b'x'; 4 * 1024 * 1024])]);
    let left = scratch.path("left");
    // What is left in the background has the input open for longer than this test may take, and
    // reads nothing.
    let command = format!("echo $$ > {left}; (sleep 600 <&3 >/dev/null 2>&1 &) 3<&0");
    let run = subscribe(&server, "grpc").arguments(&["--exec", &command, "--count", "1"]);
    run.done().exits(0);
    assert_eq!(acked(&server), 1);
    let group = lines(&left)[0].parse().unwrap();
    killpg(Pid::from_raw(group), Signal::SIGKILL).unwrap();
}

#[test]
fn no_more_run_at_a_time_than_workers() {
    let (server, scratch) = (subscribed(), Scratch::new());
    send(&server, numbered(12));
    let (dir, most) = (scratch.path("now"), scratch.path("most"));
    std::fs::create_dir(&dir).unwrap();
    let command = format!("touch {dir}/$$; ls {dir} | wc -l >> {most}; sleep 0.1; rm {dir}/$$");
    let run = subscribe(&server, "grpc").arguments(&["--exec", &command, "--workers", "3"]);
    run.arguments(&["--count", "12"]).done().exits(0);
    let counts = lines(&most);
    let most = counts
        .iter()
        .map(|count| count.trim().parse::<u32>().unwrap());
    let most = most.max().unwrap();
    assert!((2..=3).contains(&most), "{most}");
}
