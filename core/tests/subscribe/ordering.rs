//! Ordering keys.

use pubsink_core::subscribe::{CallClass, SettleError, Settlement};

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

/// Messages of two keys in turn, and some of none.
fn keyed(sim: &mut Sim, count: usize) {
    for number in 0..count {
        let key = ["a", "b", ""][number % 3];
        sim.server.publish(&format!("m{number}"), key, 10);
    }
}

fn order(sim: &Sim, key: usize) -> Vec<usize> {
    let ids = sim
        .seen
        .handled
        .iter()
        .map(|handled| handled.id[1..].parse::<usize>().unwrap());
    ids.filter(|id| id % 3 == key).collect()
}

#[test]
fn of_one_key_one_message_is_handled_at_a_time_and_nobody_waits_for_another_key() {
    let mut sim = Sim::new(options().handlers(10), acks_after(secs(1)));
    keyed(&mut sim, 30);
    sim.run_until(secs(30));
    // The simulation asserts that there is one at a time.
    for key in 0..2 {
        let expected: Vec<_> = (0..30).filter(|number| number % 3 == key).collect();
        assert_eq!(order(&sim, key), expected);
    }
    // Ten messages without a key, for the eight handlers that are left.
    let free = sim
        .seen
        .handled
        .iter()
        .filter(|handled| handled.id[1..].parse::<usize>().unwrap() % 3 == 2);
    assert!(free.clone().count() == 10 && free.into_iter().all(|handled| handled.at <= secs(2)));
    let last = sim.seen.handled.last().unwrap().at;
    assert!(last <= secs(10), "{last:?}");
    assert_eq!(sim.machine.gauges().ordering_keys, 0);
}

#[test]
fn a_nacked_message_takes_along_all_that_is_buffered_of_its_key() {
    let script: Script = Box::new(|_, message, times| match message.message_id.as_str() {
        "m3" if times < 2 => (ms(10), Settlement::Retry),
        _ => (ms(10), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    keyed(&mut sim, 30);
    sim.run_until(secs(10));
    let nacks = sim.seen.of(What::Nack);
    assert_eq!(nacks.len(), 2);
    let expected: Vec<_> = (1..10).map(|number| format!("m{}", number * 3)).collect();
    for nack in nacks {
        let ids: Vec<_> = nack
            .ids
            .iter()
            .map(|id| id.as_str().split('#').next().unwrap())
            .collect();
        assert_eq!(ids, expected);
    }
    assert_eq!(order(&sim, 0), [0, 3, 3, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_held_message_stops_its_key_and_no_other() {
    let script: Script = Box::new(|_, message, times| match message.message_id.as_str() {
        "m0" if times == 0 => (ms(10), Settlement::RetryAfter(secs(20))),
        _ => (ms(10), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    keyed(&mut sim, 30);
    sim.run_until(secs(19));
    assert_eq!(order(&sim, 0), [0]);
    assert_eq!(order(&sim, 1).len(), 10);
    assert_eq!(sim.seen.of(What::Nack).len(), 0);
    sim.run_until(secs(22));
    assert_eq!(order(&sim, 0), [0, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    assert_eq!(sim.seen.of(What::Nack)[0].ids.len(), 10);
    assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
}

#[test]
fn what_comes_of_a_key_before_what_it_gave_back_goes_back_too() {
    let script: Script = Box::new(|_, _, times| match times {
        0 => (ms(100), Settlement::Retry),
        _ => (ms(100), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    sim.network = but(What::Nack, |_| Fate::Served(ms(200)));
    sim.server.publish("m0", "a", 10);
    // While the nack waits for company, and while it is on its way.
    sim.later(ms(150), |sim| sim.server.publish("m1", "a", 10));
    sim.later(ms(350), |sim| sim.server.publish("m2", "a", 10));
    sim.run_until(secs(10));
    let ids: Vec<_> = sim
        .seen
        .handled
        .iter()
        .map(|handled| handled.id.as_str())
        .collect();
    assert_eq!(ids, ["m0", "m0", "m1", "m1", "m2", "m2"]);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_key_goes_on_where_what_it_gave_back_does_not_come_again() {
    let script: Script = Box::new(|_, message, _| match message.message_id.as_str() {
        "m0" => (ms(10), Settlement::Retry),
        _ => (ms(10), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    // The next delivery of the first one would be one too many.
    sim.server.max_attempts = Some(1);
    sim.server.publish("m0", "a", 10);
    sim.later(ms(500), |sim| sim.server.publish("m1", "a", 10));
    sim.later(secs(5), |sim| sim.server.publish("m2", "a", 10));
    sim.run_until(secs(10));
    assert_eq!(sim.server.dead, ["m0"]);
    let second = sim.seen.handlings("m1")[0].at;
    assert!(second >= secs(1) && second <= ms(1_200), "{second:?}");
    assert!(sim.seen.handlings("m2")[0].at <= ms(5_010));
    assert_eq!(
        (sim.server.left(), sim.machine.gauges().ordering_keys),
        (0, 0)
    );
}

#[test]
fn what_came_while_a_dead_letter_was_given_back_is_not_overtaken() {
    let script: Script = Box::new(|_, message, _| match message.message_id.as_str() {
        "m0" => (ms(100), Settlement::Retry),
        _ => (ms(100), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    sim.server.max_attempts = Some(4);
    sim.network = but(What::Nack, |_| Fate::Served(secs(1)));
    sim.server.publish("m0", "a", 10);
    // Its fourth nack, which makes it a dead letter, is on its way from 6.2 to 7.2 s.
    sim.later(ms(6_500), |sim| {
        for number in 1..4 {
            sim.server.publish(&format!("m{number}"), "a", 10);
        }
    });
    // What came meanwhile is given back from 8.2 s on, and arrives at 9.3 s.
    sim.later(ms(8_250), |sim| sim.server.publish("m4", "a", 10));
    sim.run_until(secs(20));
    let ids = sim.seen.handled.iter().map(|handled| handled.id.as_str());
    assert_eq!(
        ids.collect::<Vec<_>>(),
        ["m0", "m0", "m0", "m0", "m1", "m2", "m3", "m4"]
    );
    assert_eq!((sim.server.dead.len(), sim.server.left()), (1, 0));
}

#[test]
fn where_the_subscription_is_not_ordered_nothing_is_taken_along() {
    let script: Script = Box::new(|_, message, times| match message.message_id.as_str() {
        "m3" if times == 0 => (ms(10), Settlement::Retry),
        _ => (ms(10), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    sim.tell_properties();
    keyed(&mut sim, 30);
    sim.run_until(secs(10));
    assert_eq!(sim.seen.ids(What::Nack), 1);
    assert_eq!(sim.seen.handled.len(), 31);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn acks_of_a_key_leave_in_order_one_call_at_a_time() {
    let mut sim = Sim::new(options(), acks_after(ms(10)));
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    // The server drops an ack that overtakes an earlier one of its key.
    let mut calls = 0;
    sim.network = but(What::Ack, move |_| {
        calls += 1;
        match calls % 3 {
            1 => Fate::Fails(ms(700), fails(CallClass::Transient)),
            2 => Fate::Served(ms(500)),
            _ => Fate::Served(ms(5)),
        }
    });
    for number in 0..200 {
        sim.server
            .publish(&format!("m{number}"), ["a", "b"][number % 2], 10);
    }
    sim.run_until(secs(59));
    assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
    assert_eq!(sim.seen.handled.len(), 200);
    let acked = sim
        .server
        .acked
        .iter()
        .map(|id| id[1..].parse::<usize>().unwrap());
    let (even, odd): (Vec<_>, Vec<_>) = acked.partition(|number| number % 2 == 0);
    assert!(even.is_sorted() && odd.is_sorted());
    // They do not go one by one for that.
    assert!(
        sim.seen.of(What::Ack).len() < 40,
        "{}",
        sim.seen.of(What::Ack).len()
    );
}

#[test]
fn what_waits_behind_a_message_whose_lease_was_lost_does_not_overtake_it() {
    let options = options().extension_min(secs(10)).extension_max(secs(10));
    let mut sim = Sim::new(options.handlers(1), acks_after(secs(8)));
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    let failure = fails(CallClass::Transient);
    // The second one cannot be extended while the first is handled.
    sim.network = but(What::Extend, move |sent| {
        match sent.ids.iter().any(|id| id.as_str().starts_with("m1#")) && sent.at < secs(11) {
            true => Fate::Fails(ms(1), failure.clone()),
            false => Fate::Served(ms(1)),
        }
    });
    sim.server.publish("m0", "", 10);
    for number in 1..4 {
        sim.server.publish(&format!("m{number}"), "a", 10);
    }
    sim.script = Box::new(|_, message, _| match message.message_id.as_str() {
        "m0" => (secs(20), Settlement::Ack),
        _ => (ms(10), Settlement::Ack),
    });
    sim.run_until(secs(40));
    let ids: Vec<_> = sim
        .seen
        .handled
        .iter()
        .map(|handled| handled.id.as_str())
        .collect();
    assert_eq!(ids, ["m0", "m1", "m2", "m3"]);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_retry_whose_lease_is_lost_is_not_overtaken_either() {
    let script: Script = Box::new(|_, message, times| match message.message_id.as_str() {
        "m0" if times == 0 => (secs(12), Settlement::Retry),
        _ => (ms(10), Settlement::Ack),
    });
    let options = options().extension_min(secs(10)).extension_max(secs(10));
    let mut sim = Sim::new(options, script);
    (sim.server.ordered, sim.watch.ordered) = (true, true);
    sim.network = but(What::Extend, |sent| {
        match sent.ids.iter().any(|id| id.as_str() == "m0#1") {
            true => Fate::Fails(ms(1), fails(CallClass::Transient)),
            false => Fate::Served(ms(1)),
        }
    });
    // Those behind it come by themselves, so that their extensions have requests of their own.
    for number in 0..5 {
        sim.later(secs(number), move |sim| {
            sim.server.publish(&format!("m{number}"), "a", 10);
        });
    }
    // Nothing comes again before the retry.
    sim.later(ms(4_500), Sim::freeze);
    sim.later(secs(20), |sim| sim.cut(&fails(CallClass::Transient)));
    sim.run_until(secs(60));
    let ids: Vec<_> = sim
        .seen
        .handled
        .iter()
        .map(|handled| handled.id.as_str())
        .collect();
    assert_eq!(ids, ["m0", "m0", "m1", "m2", "m3", "m4"]);
    let (at, _, result) = sim.seen.handled[0].settled.clone().unwrap();
    assert_eq!(at.as_secs(), 12);
    assert!(matches!(result, Err(SettleError::LeaseLost(_))));
    assert_eq!(sim.seen.of(What::Nack)[0].ids.len(), 4);
    assert_eq!(sim.server.left(), 0);
}
