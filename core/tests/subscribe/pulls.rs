//! Messages are pulled.

use pubsink_core::subscribe::{CallClass, Settlement, Wire};

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

#[test]
fn on_an_idle_subscription_one_pull_waits() {
    let mut sim = Sim::new(
        options().wire(Wire::Rest).max_outstanding(5_000),
        acks_after(ms(1)),
    );
    sim.run_until(secs(900));
    // 90 s each, and no pause between them.
    assert_eq!(sim.seen.pulls.len(), 10);
    assert!(sim.seen.pulls.iter().all(|(_, max)| *max == 1_000));
    assert_eq!(sim.seen.cancelled, 0);
}

#[test]
fn on_a_busy_one_there_are_two_where_there_is_room_for_both() {
    let mut sim = Sim::new(
        options().wire(Wire::Rest).max_outstanding(5_000),
        acks_after(secs(2)),
    );
    sim.network = but(What::Pull, |_| Fate::Served(ms(100)));
    sim.publish("m", 4_000);
    sim.run_until(ms(400));
    let at: Vec<_> = sim.seen.pulls.iter().map(|pull| pull.0).collect();
    assert_eq!(at[0], ms(0));
    // Once the first has brought something there are two at a time.
    assert_eq!(at[1..5], [ms(101), ms(101), ms(202), ms(202)]);
}

#[test]
fn the_second_one_is_not_asked_for_more_than_is_left() {
    let mut sim = Sim::new(
        options().wire(Wire::Rest).max_outstanding(1_500),
        acks_after(secs(200)),
    );
    sim.publish("m", 10);
    sim.run_until(secs(10));
    let pulls: Vec<_> = sim.seen.pulls.iter().map(|pull| pull.1).collect();
    // 1,490 are left, of which the first takes a thousand: too little for a second one.
    assert_eq!(pulls, [1_000, 1_000]);
}

#[test]
fn answers_of_nothing_that_come_at_once_are_no_hot_loop() {
    let mut sim = Sim::new(options().wire(Wire::Rest), acks_after(ms(1)));
    sim.pull_waits = ms(0);
    sim.run_until(secs(60));
    let pulls = sim.seen.pulls.len();
    assert!((50..=70).contains(&pulls), "{pulls}");
    // A message is found within a second, and the next one sooner.
    sim.publish("m", 1);
    sim.run_until(secs(62));
    assert_eq!(sim.seen.handled.len(), 1);
    assert!(sim.seen.pulls.len() > pulls + 3);
}

#[test]
fn a_request_is_not_made_for_each_message_while_handlers_have_work() {
    let options = options().wire(Wire::Rest).max_outstanding(100).handlers(10);
    let mut sim = Sim::new(options, acks_after(ms(100)));
    sim.publish("m", 2_000);
    sim.run_until(secs(30));
    assert_eq!(sim.server.left(), 0);
    let pulls = sim.seen.pulls.len();
    assert!(pulls <= 200, "{pulls}");
    // And the handlers never wait: 2,000 at 100 a second.
    let last = sim.seen.handled.last().unwrap().at;
    assert!(last <= secs(21), "{last:?}");
}

#[test]
fn a_pull_that_fails_is_tried_again_after_pauses_that_grow() {
    let mut sim = Sim::new(options().wire(Wire::Rest), acks_after(ms(1)));
    sim.network = but(What::Pull, |sent| match sent.at < secs(60) {
        true => Fate::Fails(ms(1), fails(CallClass::Transient)),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.run_until(secs(60));
    let pulls = sim.seen.pulls.len();
    assert!((9..=14).contains(&pulls), "{pulls}");
    sim.run_until(secs(121));
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_pull_without_an_answer_is_given_up_after_two_minutes() {
    let mut sim = Sim::new(options().wire(Wire::Rest), acks_after(ms(1)));
    let mut first = true;
    sim.network = but(What::Pull, move |_| match std::mem::take(&mut first) {
        true => Fate::Silent(false),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.run_until(secs(119));
    assert_eq!((sim.seen.cancelled, sim.seen.pulls.len()), (0, 1));
    sim.run_until(secs(121));
    assert_eq!((sim.seen.cancelled, sim.server.left()), (1, 0));
}

#[test]
fn what_is_pulled_is_handled_in_turn_and_its_leases_are_kept() {
    let script: Script = Box::new(|_, _, times| match times {
        0 => (secs(25), Settlement::Retry),
        _ => (secs(25), Settlement::Ack),
    });
    let options = options().wire(Wire::Rest).exactly_once(true);
    let mut sim = Sim::new(options.extension_min(secs(10)), script);
    sim.server.exactly_once = true;
    sim.publish("m", 40);
    sim.run_until(secs(300));
    assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
    assert_eq!(sim.seen.handled.len(), 80);
}
