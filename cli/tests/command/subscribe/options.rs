//! What the command is told of its subscription.

use std::time::{Duration, Instant};

use pubsink_fixtures::broker::SubscriptionConfig;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::Server;

use super::super::metrics::{addr, metered, shows};
use super::super::support::{TOPIC, eventually, server};
use super::{SUBSCRIPTION, WIRES, acked, numbered, send, subscribe, subscribed_as};

const DEAD: &str = "projects/p/topics/dead";

#[test]
fn of_an_exactly_once_subscription_a_message_is_handled_once_its_lease_is_confirmed() {
    let delay = Duration::from_millis(700);
    for wire in WIRES {
        let server = subscribed_as(|mut config| {
            config.enable_exactly_once_delivery = true;
            config
        });
        let slow = Action::proceed().answer_delay(delay);
        server.script([Rule::on(Match::verb("modifyAckDeadline"))
            .times(1)
            .then(slow)]);
        send(&server, numbered(1));
        let run = subscribe(&server, wire).arguments(&["--exactly-once", "--count", "1"]);
        run.done().exits(0);
        assert_eq!(acked(&server), 1, "{wire}");
        let log = server.log();
        let first = |of: fn(&pubsink_fixtures::server::LoggedCall) -> bool| {
            let calls = log.calls().iter().filter(|call| of(call));
            calls.map(|call| call.at).min().unwrap()
        };
        let confirmed = first(|call| !call.modified.is_empty()) + delay;
        let acked = first(|call| !call.acknowledged.is_empty());
        assert!(acked >= confirmed, "{wire}");
    }
}

/// A server with a message that was delivered four times of five.
fn almost_dead() -> Server {
    let server = server();
    server.create_topic(DEAD).unwrap();
    let config = SubscriptionConfig::new(SUBSCRIPTION, TOPIC).dead_letters(DEAD, 5);
    server.create_subscription(config).unwrap();
    send(&server, numbered(1));
    for attempt in 1..5 {
        let now = Instant::now();
        server.broker(|broker| {
            let leased = broker.pull(SUBSCRIPTION, 1, now).unwrap();
            assert_eq!(leased[0].delivery_attempt, Some(attempt));
            let ids = [&leased[0].ack_id];
            broker
                .modify_ack_deadline(SUBSCRIPTION, &ids, 0, now)
                .unwrap();
        });
    }
    server
}

#[test]
fn what_fails_for_the_last_time_is_left_to_the_dead_letter_policy_at_once() {
    for wire in WIRES {
        let server = almost_dead();
        let run = subscribe(&server, wire).arguments(&["--exec", "exit 1"]);
        let run = run.arguments(&["--retry-base-ms", "600000", "--max-delivery-attempts", "5"]);
        let running = run.start();
        running.said("pubsink: message 1, attempt 5: ");
        // And not after ten minutes.
        eventually("it is a dead letter", || server.stored(DEAD).len() == 1);
        running.signal(nix::sys::signal::Signal::SIGTERM);
        running.wait().exits(0);
        assert_eq!((acked(&server), server.stored(DEAD).len()), (0, 1));
    }
}

#[test]
fn without_being_told_of_it_the_last_failure_is_held_as_any_other() {
    let server = almost_dead();
    let run = subscribe(&server, "grpc").arguments(&["--exec", "exit 1"]);
    let running = metered(run.arguments(&["--retry-base-ms", "600000"])).start();
    let page = addr(&running);
    running.said("pubsink: message 1, attempt 5: ");
    let held = format!("pubsink_subscribe_held_messages{{subscription=\"{SUBSCRIPTION}\"}} 1");
    shows(&page, &held);
    assert_eq!(server.stored(DEAD).len(), 0);
    running.signal(nix::sys::signal::Signal::SIGTERM);
    running.wait().exits(0);
}
