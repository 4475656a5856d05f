//! Messages that are to come again: held for their pause, or given back at once.

use pubsink_core::subscribe::{SettleError, Settlement, SubscribeWait, Wire};

use crate::network::{Fate, What, ms, secs};
use crate::sim::{Script, Sim, options};

/// Poisoned messages are retried after these pauses, and dropped in the end; good ones take no
/// time.
fn poison(pauses: &'static [u64]) -> Script {
    Box::new(move |_, message, times| {
        let good = message.message_id.as_str().starts_with("good");
        let settlement = match pauses.get(times) {
            _ if good => Settlement::Ack,
            Some(pause) => Settlement::RetryAfter(secs(*pause)),
            None => Settlement::Drop,
        };
        (ms(0), settlement)
    })
}

#[test]
fn a_message_that_waits_for_its_retry_takes_no_handler_from_others() {
    let mut sim = Sim::new(options().handlers(2), poison(&[1, 2, 4]));
    sim.server.nacked_first = true;
    sim.publish("poison", 2);
    sim.publish("good", 20);
    sim.run_until(secs(20));
    for number in 0..20 {
        assert!(sim.seen.handlings(&format!("good{number}"))[0].at < secs(2));
    }
    for id in ["poison0", "poison1"] {
        let at = sim.seen.handlings(id).into_iter().map(|handled| handled.at);
        let at: Vec<_> = at.map(|at| at.as_secs_f64()).collect();
        assert_eq!(at.len(), 4, "{at:?}");
        for (at, expected) in at.iter().zip([0.0, 1.0, 3.0, 7.0]) {
            assert!((at - expected).abs() <= expected * 0.3 + 0.05, "{at} s");
        }
    }
    assert!(sim.seen.of(What::Nack).len() <= 8);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn the_lease_of_a_held_message_is_kept() {
    let options = options()
        .handlers(2)
        .extension_min(secs(10))
        .extension_max(secs(10));
    let mut sim = Sim::new(options, poison(&[15, 15]));
    sim.publish("poison", 2);
    sim.publish("good", 2);
    sim.run_until(secs(40));
    assert_eq!(sim.server.lapsed.len(), 0);
    assert_eq!(sim.machine.gauges().redelivered, 0);
    assert_eq!(sim.seen.handlings("poison0").len(), 3);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn held_messages_are_bounded_and_what_is_beyond_goes_back_at_once() {
    let options = options().handlers(2).max_held(100);
    let script: Script = Box::new(|_, message, _| match message.message_id.as_str() {
        id if id.starts_with("good") => (ms(0), Settlement::Ack),
        _ => (ms(0), Settlement::RetryAfter(secs(600))),
    });
    let mut sim = Sim::new(options, script);
    // There and back in a fifth of a second.
    sim.network = Box::new(|_| Fate::Served(ms(50)));
    (sim.latency, sim.stream_batch) = (ms(50), 5_000);
    sim.publish("poison", 5_000);
    for number in 0..15 {
        sim.later(ms(100 * number), move |sim| {
            sim.server.publish(&format!("good{number}"), "", 10);
        });
    }
    sim.run_until(secs(2));
    for number in 0..15u64 {
        let handled = sim.seen.handlings(&format!("good{number}"))[0].at;
        assert!(
            handled <= ms(100 * number) + secs(1),
            "{number}: {handled:?}"
        );
    }
    assert_eq!(sim.seen.most_held, 100);
    assert!(sim.seen.most_outstanding <= 5_100);
    assert!(sim.seen.most_unconfirmed <= 10_100);
}

#[test]
fn held_messages_go_back_at_once_when_it_closes() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let mut sim = Sim::new(options().wire(wire).handlers(2), poison(&[60]));
        sim.publish("poison", 5);
        sim.run_until(secs(5));
        assert_eq!(sim.machine.gauges().held, 5);
        sim.close(None);
        assert_eq!(sim.run(), SubscribeWait::Closed);
        assert!(sim.at() <= secs(6), "{:?}", sim.at());
        // A pull that waits gets them again, and they go back again.
        assert_eq!(sim.seen.of(What::Nack)[0].ids.len(), 5);
        assert_eq!((sim.server.left(), sim.server.lapsed.len()), (5, 0));
        let settled = sim
            .seen
            .handled
            .iter()
            .filter_map(|handled| handled.settled.clone());
        assert!(settled.clone().all(|(_, _, result)| result.is_ok()));
        assert_eq!(settled.count(), 5);
    }
}

#[test]
fn a_pause_that_is_longer_than_a_lease_may_be_is_refused_and_the_message_goes_back() {
    let options = options().max_lease(secs(100));
    let script: Script = Box::new(|_, _, times| match times {
        0 => (secs(30), Settlement::RetryAfter(secs(69))),
        1 => (secs(30), Settlement::RetryAfter(secs(68))),
        _ => (ms(0), Settlement::Ack),
    });
    let mut sim = Sim::new(options, script);
    sim.publish("m", 1);
    sim.run_until(secs(200));
    let handled = sim.seen.handlings("m0");
    let (asked, max) = (secs(69), secs(68));
    let result = handled[0].settled.clone().unwrap().2;
    assert_eq!(result, Err(SettleError::RetryTooLate { asked, max }));
    let result = result.unwrap_err().to_string();
    assert_eq!(result, "a retry after 69 s is over the limit of 68 s");
    assert!(handled[1].at <= secs(31));
    assert_eq!(handled[1].settled.clone().unwrap().2, Ok(()));
    assert_eq!((handled.len(), sim.server.left()), (3, 0));
}

#[test]
fn a_nack_asks_for_a_deadline_of_nothing_and_the_message_comes_again() {
    let script: Script = Box::new(|_, _, times| match times {
        0 => (ms(10), Settlement::Retry),
        _ => (ms(10), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    sim.publish("m", 10);
    sim.run_until(secs(5));
    let nacks = sim.seen.of(What::Nack);
    assert_eq!(
        (nacks.len(), nacks[0].ids.len(), nacks[0].seconds),
        (1, 10, 0)
    );
    assert_eq!((sim.seen.handled.len(), sim.server.left()), (20, 0));
    // It was asked for, so it is no redelivery to speak of.
    assert_eq!(sim.machine.gauges().redelivered, 0);
}

#[test]
fn the_longest_pause_is_known_before_it_is_asked_for() {
    let options = options().max_lease(secs(100));
    let mut sim = Sim::new(options, Box::new(|_, _, _| (secs(90), Settlement::Ack)));
    sim.publish("m", 1);
    sim.run_until(secs(30));
    let (handled, now) = (sim.seen.handled[0].clone(), sim.now());
    let left = |sim: &Sim, later| sim.machine.longest_pause(now + later, handled.delivery);
    // It came after two milliseconds, and two seconds are for giving it back.
    assert_eq!(left(&sim, secs(0)), Some(secs(68) + handled.at));
    assert_eq!(left(&sim, secs(60)), Some(secs(8) + handled.at));
    assert_eq!(left(&sim, secs(70)), Some(secs(0)));
    sim.run_until(secs(91));
    assert_eq!(left(&sim, secs(0)), None);
}

#[test]
fn of_a_lost_lease_no_pause_is_known() {
    let options = options().max_lease(secs(10));
    let mut sim = Sim::new(options, Box::new(|_, _, _| (secs(60), Settlement::Ack)));
    sim.publish("m", 1);
    // It does not come again.
    sim.later(secs(1), Sim::freeze);
    sim.run_until(secs(20));
    let delivery = sim.seen.handled[0].delivery;
    assert_eq!(sim.machine.longest_pause(sim.now(), delivery), None);
}
