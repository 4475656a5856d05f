//! Leases are kept for as long as they are needed, with few requests.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use pubsink_core::subscribe::{
    CallClass, LeaseLost, SettleError, Settlement, SubscriberOptionsBuilder, Wire,
};

use crate::network::{Fate, Network, What, but, fails, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

/// Leases of 10 s, however long handlers take.
fn ten_seconds() -> SubscriberOptionsBuilder {
    options().extension_min(secs(10)).extension_max(secs(10))
}

/// 5,000 messages for 10 handlers: 9 of 35 s, 4,989 of nothing, one of 25 s in the last free slot,
/// and one that waits behind it.
fn crowd(network: Network) -> Sim {
    let handler: Script = Box::new(|_, message, _| {
        let takes = match message.message_id.as_str() {
            "m0" | "m1" | "m2" | "m3" | "m4" | "m5" | "m6" | "m7" | "m8" => secs(35),
            "m4998" => secs(25),
            _ => ms(0),
        };
        (takes, Settlement::Ack)
    });
    let options = ten_seconds().max_outstanding(5_000).handlers(10);
    let mut sim = Sim::new(options, handler);
    sim.network = network;
    sim.publish("m", 5_000);
    sim
}

/// Acks are answered one at a time, after 2 s each; extensions after 20 ms, or as `extensions`
/// says.
fn slow_acks(mut extensions: impl FnMut() -> Fate + 'static) -> Network {
    let free = Rc::new(Cell::new(Duration::ZERO));
    Box::new(move |sent| match sent.what {
        What::Ack => {
            let done = free.get().max(sent.at) + secs(2);
            free.set(done);
            Fate::Slow(done - sent.at)
        }
        What::Extend => extensions(),
        _ => Fate::Served(ms(1)),
    })
}

fn check_crowd(sim: &Sim) {
    assert_eq!(sim.server.lapsed.len(), 0);
    assert_eq!(sim.seen.handled.len(), 5_000);
    assert_eq!(sim.server.left(), 0);
    let settled = sim
        .seen
        .handled
        .iter()
        .filter_map(|handled| handled.settled.as_ref());
    assert!(settled.clone().all(|(_, _, result)| result.is_ok()));
    assert_eq!(settled.count(), 5_000);
    for slow in 0..9 {
        assert!(sim.server.extended[&format!("m{slow}")] >= 3);
    }
    let requests = sim.seen.of(What::Extend).len();
    assert!(requests <= 80, "{requests} requests");
}

#[test]
fn acks_that_take_long_hold_up_no_extension() {
    let mut sim = crowd(slow_acks(|| Fate::Served(ms(10))));
    sim.run_until(secs(40));
    check_crowd(&sim);
}

#[test]
fn every_third_extension_may_fail() {
    let mut count = 0;
    let mut sim = crowd(slow_acks(move || {
        count += 1;
        match count % 3 {
            0 => Fate::Fails(ms(20), fails(CallClass::Transient)),
            _ => Fate::Served(ms(10)),
        }
    }));
    sim.run_until(secs(40));
    check_crowd(&sim);
}

#[test]
fn a_lease_is_extended_when_half_of_it_is_left_until_its_handler_is_done() {
    let mut sim = Sim::new(ten_seconds(), acks_after(secs(33)));
    sim.publish("m", 1);
    sim.run_until(secs(60));
    let extensions = sim.seen.of(What::Extend);
    let at: Vec<_> = extensions
        .iter()
        .map(|request| request.at.as_secs())
        .collect();
    assert_eq!(at, [5, 10, 15, 20, 25, 30]);
    assert!(extensions.iter().all(|request| request.seconds == 10));
    assert_eq!(sim.server.acked, ["m0"]);
}

#[test]
fn the_number_of_extensions_follows_leases_by_thousands() {
    let mut sim = Sim::new(options().handlers(10), acks_after(secs(10_000)));
    for number in 0..1_000 {
        sim.later(ms(60 * number), move |sim| {
            sim.server.publish(&format!("m{number}"), "", 10);
        });
    }
    sim.run_until(secs(600));
    assert_eq!(sim.server.lapsed.len(), 0);
    // A minute's arrivals, in companies of those within six seconds, every half minute.
    let requests = sim.seen.of(What::Extend).len();
    assert!((15..=220).contains(&requests), "{requests}");
    assert!(sim.seen.ids(What::Extend) > 15_000);
}

#[test]
fn a_lease_is_kept_for_so_long_and_then_left_to_end() {
    let options = options().extension_min(secs(20)).extension_max(secs(20));
    let options = options.max_lease(secs(45)).max_outstanding(1).handlers(2);
    let script: Script = Box::new(|_, message, _| {
        let slow = message.message_id.as_str() == "m0";
        (if slow { secs(50) } else { ms(5) }, Settlement::Ack)
    });
    let mut sim = Sim::new(options, script);
    sim.stream_batch = 1;
    sim.publish("m", 2);
    sim.run_until(secs(46));
    let lost = &sim.seen.handlings("m0")[0].lost;
    assert!(matches!(lost[..], [(at, LeaseLost::MaxLease)] if at.as_secs() == 45));
    // It counts no more, so that there is room for the next.
    assert_eq!(sim.seen.handlings("m1")[0].at.as_secs(), 45);
    // The last extension is cut to what is left.
    let extensions = sim.seen.of(What::Extend).into_iter();
    let extensions: Vec<_> = extensions.map(|r| (r.at.as_secs(), r.seconds)).collect();
    assert_eq!(extensions, [(10, 20), (20, 20), (30, 15)]);
    // It came again while its handler ran, and that counts.
    sim.run_until(secs(60));
    assert_eq!(sim.seen.handlings("m0").len(), 1);
    let (_, _, result) = sim.seen.handlings("m0")[0].settled.clone().unwrap();
    assert_eq!((result, sim.server.left()), (Ok(()), 0));
}

#[test]
fn a_lease_that_cannot_be_extended_is_lost_and_its_handler_told() {
    let mut sim = Sim::new(ten_seconds(), acks_after(secs(12)));
    let failure = fails(CallClass::Transient);
    sim.network = but(What::Extend, move |_| Fate::Fails(ms(10), failure.clone()));
    sim.publish("m", 1);
    // It does not come again.
    sim.later(secs(1), Sim::freeze);
    sim.run_until(secs(20));
    let handled = &sim.seen.handled[0];
    assert!(matches!(&handled.lost[..], [(at, LeaseLost::Expired)] if at.as_secs() == 10));
    let (at, settlement, result) = handled.settled.clone().unwrap();
    assert_eq!((at.as_secs(), settlement), (12, Settlement::Ack));
    assert!(matches!(result, Err(SettleError::LeaseLost(_))));
    let requests = sim.seen.of(What::Extend).len();
    assert!(
        (5..=20).contains(&requests),
        "{requests} tries in five seconds"
    );
    assert_eq!(sim.seen.of(What::Ack), Vec::<&crate::seen::Request>::new());
    assert_eq!(sim.machine.gauges().outstanding, 0);
}

#[test]
fn a_buffered_message_whose_lease_is_lost_is_dropped_without_a_word() {
    let mut sim = Sim::new(ten_seconds().handlers(1), acks_after(secs(15)));
    let failure = fails(CallClass::Transient);
    sim.network = but(What::Extend, move |sent| {
        match sent.ids.iter().any(|id| id.as_str().starts_with("m1")) {
            true => Fate::Fails(ms(10), failure.clone()),
            false => Fate::Served(ms(1)),
        }
    });
    sim.publish("m", 2);
    sim.later(secs(1), Sim::freeze);
    sim.run_until(secs(14));
    assert_eq!(sim.seen.handled.len(), 1);
    assert_eq!(sim.machine.gauges().outstanding, 0);
}

#[test]
fn a_pause_that_is_asked_for_is_kept_but_not_beyond_the_lease() {
    for (seconds, asked, earliest, latest) in [(60, 5, 35, 36), (10, 30, 7, 9)] {
        let options = options()
            .extension_min(secs(seconds))
            .extension_max(secs(seconds));
        let mut sim = Sim::new(options, acks_after(secs(50)));
        let mut first = true;
        sim.network = but(What::Extend, move |_| match std::mem::take(&mut first) {
            true => Fate::Fails(ms(10), fails(CallClass::Throttled(Some(secs(asked))))),
            false => Fate::Served(ms(1)),
        });
        sim.publish("m", 1);
        sim.run_until(secs(49));
        let second = sim.seen.of(What::Extend)[1].at;
        assert!(
            second >= secs(earliest) && second <= secs(latest),
            "{second:?}"
        );
        assert_eq!(sim.server.lapsed.len(), 0);
    }
}

#[test]
fn an_extension_without_an_answer_leaves_time_for_another() {
    let mut sim = Sim::new(ten_seconds(), acks_after(secs(30)));
    let mut calls = 0;
    sim.network = but(What::Extend, move |_| {
        calls += 1;
        match calls % 3 {
            0 => Fate::Served(ms(10)),
            _ => Fate::Silent(false),
        }
    });
    sim.publish("m", 1);
    sim.run_until(secs(40));
    assert_eq!(sim.server.lapsed.len(), 0);
    assert!(sim.seen.cancelled >= 4);
    assert_eq!(sim.server.acked, ["m0"]);
}

#[test]
fn what_is_pulled_is_extended_at_once_since_its_ack_deadline_is_not_known() {
    let mut sim = Sim::new(options().wire(Wire::Rest), acks_after(secs(20)));
    sim.publish("m", 5);
    sim.run_until(secs(19));
    let first = sim.seen.of(What::Extend)[0];
    assert!(first.at <= ms(20) && first.seconds == 60 && first.ids.len() == 5);
    assert_eq!(sim.seen.of(What::Extend).len(), 1);
}

#[test]
fn on_an_exactly_once_subscription_a_message_is_handed_out_once_its_lease_is_confirmed() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.server.exactly_once = true;
    sim.tell_properties();
    sim.network = but(What::Extend, |_| Fate::Served(ms(300)));
    sim.publish("m", 5);
    sim.run_until(secs(5));
    assert_eq!(sim.seen.handled.len(), 5);
    assert!(sim.seen.handled.iter().all(|handled| handled.at >= ms(600)));
    assert_eq!(sim.seen.of(What::Extend).len(), 1);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_message_that_is_lost_before_its_lease_was_confirmed_comes_again() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.server.exactly_once = true;
    sim.tell_properties();
    sim.publish("m", 3);
    sim.network = but(What::Extend, |_| Fate::Served(ms(50)));
    // Between its delivery and its first extension.
    sim.later(ms(20), |sim| sim.server.lose("m1"));
    sim.run_until(secs(5));
    assert_eq!(sim.seen.handled.len(), 3);
    assert_eq!(sim.seen.handlings("m1")[0].ack_id.as_str(), "m1#4");
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn extensions_follow_how_long_handlers_take() {
    let options = options()
        .extension_min(secs(10))
        .extension_max(secs(100))
        .handlers(1);
    let mut sim = Sim::new(options, acks_after(secs(70)));
    sim.publish("m", 2);
    sim.run_until(secs(100));
    let seconds: Vec<_> = sim
        .seen
        .of(What::Extend)
        .iter()
        .map(|r| r.seconds)
        .collect();
    assert_eq!((seconds.first(), seconds.last()), (Some(&10), Some(&77)));
    // A new stream has it as its ack deadline.
    sim.cut(&fails(CallClass::Transient));
    sim.run_until(secs(110));
    let deadlines: Vec<_> = sim.seen.opened.iter().map(|opened| opened.1).collect();
    assert_eq!(deadlines, [10, 77]);
}

#[test]
fn a_lease_is_not_extended_once_what_settles_it_is_sent_but_while_that_waits() {
    let mut sim = Sim::new(ten_seconds(), acks_after(ms(1)));
    // The first ack fails after eight seconds, the next ones at once, for a while.
    let mut first = true;
    sim.network = but(What::Ack, move |sent| match std::mem::take(&mut first) {
        true => Fate::Fails(secs(8), fails(CallClass::Transient)),
        false if sent.at < secs(30) => Fate::Fails(ms(1), fails(CallClass::Config)),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.run_until(secs(60));
    // The simulation asserts that there is none while it is in flight.
    let first = sim.seen.of(What::Extend)[0].at;
    assert_eq!(first.as_secs(), 8);
    assert_eq!(sim.server.lapsed.len(), 0);
    let (_, _, result) = sim.seen.handled[0].settled.clone().unwrap();
    assert_eq!(result, Ok(()));
}
