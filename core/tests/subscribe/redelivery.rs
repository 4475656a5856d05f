//! A message comes again while it is in hand.

use pubsink_core::subscribe::{CallClass, LeaseLost, SettleError, Settlement, SubscribeEvent};

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

fn redelivered(sim: &Sim) -> usize {
    let events = sim.seen.events.iter();
    let told = events.filter(|(_, event)| matches!(event, SubscribeEvent::Redelivered { .. }));
    let told = told.count();
    assert_eq!(sim.machine.gauges().redelivered, told as u64);
    told
}

#[test]
fn of_a_buffered_message_the_newest_lease_counts() {
    let mut sim = Sim::new(options().handlers(1), acks_after(secs(2)));
    sim.publish("m", 2);
    sim.later(secs(1), |sim| sim.server.lose("m1"));
    sim.run_until(secs(10));
    assert_eq!(redelivered(&sim), 1);
    assert_eq!(sim.seen.handled.len(), 2);
    // The handler gets what came last.
    assert_eq!(sim.seen.handled[1].ack_id.as_str(), "m1#3");
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_message_with_a_handler_is_not_handled_twice_at_a_time() {
    let mut sim = Sim::new(options(), acks_after(secs(5)));
    sim.publish("m", 1);
    sim.later(secs(1), |sim| sim.server.lose("m0"));
    sim.later(secs(2), |sim| sim.server.lose("m0"));
    sim.run_until(secs(20));
    assert_eq!((redelivered(&sim), sim.seen.handled.len()), (2, 1));
    assert_eq!(sim.seen.of(What::Ack)[0].ids, ["m0#3".into()]);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn after_its_lease_was_lost_a_settlement_counts_again_once_the_message_is_back() {
    let options = options().extension_min(secs(10)).extension_max(secs(10));
    let mut sim = Sim::new(options, acks_after(secs(13)));
    // Nothing can be extended for 11 s: the lease ends after ten.
    sim.network = but(What::Extend, |sent| match sent.at < secs(11) {
        true => Fate::Fails(ms(1), fails(CallClass::Transient)),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.run_until(secs(30));
    let handled = &sim.seen.handled[0];
    assert!(matches!(handled.lost[..], [(_, LeaseLost::Expired)]));
    assert_eq!(handled.settled.clone().unwrap().2, Ok(()));
    assert_eq!((sim.seen.handled.len(), sim.server.left()), (1, 0));
    assert_eq!(sim.seen.of(What::Ack)[0].ids, ["m0#2".into()]);
}

#[test]
fn a_settlement_without_a_lease_does_not_count() {
    let options = options().extension_min(secs(10)).extension_max(secs(10));
    for settlement in [
        Settlement::Ack,
        Settlement::Retry,
        Settlement::RetryAfter(secs(5)),
    ] {
        let script: Script = Box::new(move |_, _, times| match times {
            0 => (secs(13), settlement),
            _ => (ms(1), Settlement::Ack),
        });
        let mut sim = Sim::new(options.clone(), script);
        sim.network = but(What::Extend, |_| {
            Fate::Fails(ms(1), fails(CallClass::Transient))
        });
        sim.publish("m", 1);
        sim.later(secs(1), Sim::freeze);
        sim.later(secs(15), |sim| sim.cut(&fails(CallClass::Transient)));
        sim.run_until(secs(30));
        let handled = &sim.seen.handled;
        let lost = handled[0].settled.clone().unwrap();
        assert!(matches!(lost.2, Err(SettleError::LeaseLost(_))));
        assert_eq!((handled.len(), sim.seen.ids(What::Nack)), (2, 0));
        assert_eq!(sim.server.left(), 0);
    }
}

#[test]
fn a_held_message_stays_held() {
    let script: Script = Box::new(|_, _, times| match times {
        0 => (ms(1), Settlement::RetryAfter(secs(10))),
        _ => (ms(1), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    sim.publish("m", 1);
    sim.later(secs(5), |sim| sim.server.lose("m0"));
    sim.run_until(secs(20));
    assert_eq!((redelivered(&sim), sim.seen.handled.len()), (1, 2));
    assert_eq!(sim.seen.of(What::Nack)[0].ids, ["m0#2".into()]);
    assert!(sim.seen.handled[1].at >= secs(10));
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn an_ack_that_is_not_confirmed_is_sent_again_for_the_new_lease() {
    // It waits for its retry, or is in flight, when the message comes again.
    for answers in [ms(1), secs(3)] {
        let mut sim = Sim::new(options(), acks_after(ms(1)));
        let mut first = true;
        sim.network = but(What::Ack, move |_| match std::mem::take(&mut first) {
            true => Fate::Fails(answers, fails(CallClass::Config)),
            false => Fate::Served(ms(1)),
        });
        sim.publish("m", 1);
        sim.later(ms(500), |sim| sim.server.lose("m0"));
        sim.run_until(secs(20));
        let acks = sim.seen.of(What::Ack);
        let ids: Vec<_> = acks.iter().map(|ack| ack.ids[0].as_str()).collect();
        assert_eq!(ids, ["m0#1", "m0#2"]);
        assert_eq!((redelivered(&sim), sim.seen.handled.len()), (1, 1));
        assert_eq!(sim.seen.handled[0].settled.clone().unwrap().2, Ok(()));
        assert_eq!(sim.server.left(), 0);
    }
}

#[test]
fn an_ack_of_an_old_lease_that_is_answered_well_does_not_count() {
    // On the way there the message comes again; the server takes the old id and does nothing.
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    let mut first = true;
    sim.network = but(What::Ack, move |_| match std::mem::take(&mut first) {
        true => Fate::Served(secs(1)),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.later(ms(500), |sim| sim.server.lose("m0"));
    sim.run_until(secs(20));
    assert_eq!(sim.seen.of(What::Ack).len(), 2);
    assert_eq!((sim.seen.handled.len(), sim.server.left()), (1, 0));
    let (at, _, result) = sim.seen.handled[0].settled.clone().unwrap();
    assert!(result.is_ok() && at < secs(1), "{at:?}");
}

#[test]
fn a_nacked_message_that_is_back_before_the_answer_is_handled_again() {
    let script: Script = Box::new(|_, _, times| match times {
        0 => (ms(1), Settlement::Retry),
        _ => (ms(1), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    sim.network = but(What::Nack, |_| Fate::Slow(secs(3)));
    sim.publish("m", 1);
    sim.run_until(secs(2));
    assert_eq!(sim.seen.handled.len(), 2);
    assert_eq!(sim.seen.handled[0].settled.clone().unwrap().2, Ok(()));
    assert_eq!((sim.server.left(), redelivered(&sim)), (0, 0));
}
