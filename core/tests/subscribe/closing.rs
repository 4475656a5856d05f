//! The end of a subscriber.

use std::time::Duration;

use pubsink_core::subscribe::{
    CallClass, LeaseLost, SettleError, Settlement, SubscribeInput, SubscribeWait,
    SubscriberOptionsBuilder, Wire,
};

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

fn two_handlers() -> SubscriberOptionsBuilder {
    options()
        .handlers(2)
        .extension_min(secs(10))
        .extension_max(secs(10))
}

#[test]
fn what_no_handler_has_goes_back_at_once_and_acks_are_confirmed_before_it_ends() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let mut sim = Sim::new(two_handlers().wire(wire), acks_after(secs(2)));
        sim.network = but(What::Ack, |_| Fate::Served(ms(150)));
        sim.publish("m", 10);
        sim.run_until(ms(500));
        sim.close(None);
        assert_eq!(sim.run_until(secs(1)), SubscribeWait::Lease);
        let nacked = sim.seen.of(What::Nack);
        assert_eq!((nacked[0].ids.len(), nacked[0].at), (8, ms(500)));
        // A pull that waits gets them again, and they go back again.
        assert_eq!(nacked.len(), if wire == Wire::Rest { 2 } else { 1 });
        assert_eq!(sim.run(), SubscribeWait::Closed);
        let closed = sim.closed.unwrap();
        assert!(closed >= ms(2_300) && closed <= ms(3_200), "{closed:?}");
        assert_eq!((sim.server.acked.len(), sim.server.left()), (2, 8));
        assert_eq!(sim.seen.handled.len(), 2);
        let asked = sim.seen.pulls.iter().map(|pull| pull.0);
        let asked = asked.chain(sim.seen.opened.iter().map(|opened| opened.0));
        assert!(asked.into_iter().all(|at| at <= ms(500)));
        assert_eq!(sim.seen.dropped, []);
    }
}

#[test]
fn leases_are_kept_while_handlers_end() {
    let mut sim = Sim::new(two_handlers(), acks_after(secs(15)));
    sim.publish("m", 2);
    sim.run_until(ms(500));
    sim.close(Some(secs(30)));
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!((sim.server.lapsed.len(), sim.server.acked.len()), (0, 2));
    assert_eq!(sim.machine.gauges().redelivered, 0);
    assert_eq!(sim.closed.unwrap().as_secs(), 15);
}

#[test]
fn at_its_deadline_handlers_are_given_up_and_their_messages_go_back() {
    let mut sim = Sim::new(two_handlers(), acks_after(secs(60)));
    sim.publish("m", 2);
    sim.run_until(ms(500));
    sim.close(Some(ms(1_500)));
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert!(sim.closed.unwrap() <= ms(2_500));
    assert_eq!((sim.seen.ids(What::Nack), sim.server.left()), (2, 2));
    for handled in &sim.seen.handled {
        assert!(matches!(handled.lost[..], [(at, LeaseLost::Closed)] if at == ms(1_500)));
        let expected = (ms(1_500), Settlement::Retry, Err(SettleError::Closed));
        assert_eq!(handled.settled, Some(expected));
    }
    // The handlers end later, and nobody minds; the server may say what it likes.
    sim.publish("late", 5);
    assert_eq!(sim.run_until(secs(100)), SubscribeWait::Closed);
    let delivery = sim.seen.handled[0].delivery;
    let settlement = Settlement::Ack;
    let again = SubscribeInput::Settle {
        delivery,
        settlement,
    };
    sim.misuse(again);
}

#[test]
fn what_is_given_up_is_not_brought_to_a_pull_that_is_over() {
    for closes_in in [1_000, 60_000] {
        let mut sim = Sim::new(two_handlers().wire(Wire::Rest), acks_after(secs(120)));
        sim.publish("m", 2);
        sim.run_until(ms(500));
        sim.close(Some(ms(500 + closes_in)));
        sim.run_until(ms(500 + 800));
        assert_eq!(sim.seen.cancelled, 1);
        assert_eq!(sim.run(), SubscribeWait::Closed);
        assert_eq!((sim.seen.ids(What::Nack), sim.server.left()), (2, 2));
        assert!(sim.server.has_messages() && sim.server.leased() == 0);
    }
}

#[test]
fn what_a_pull_in_flight_brings_goes_back() {
    let mut sim = Sim::new(two_handlers().wire(Wire::Rest), acks_after(secs(2)));
    sim.publish("m", 2);
    sim.run_until(secs(1));
    sim.close(None);
    sim.publish("late", 5);
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!(sim.server.acked.len(), 2);
    assert_eq!((sim.seen.ids(What::Nack), sim.server.left()), (5, 5));
    assert_eq!(sim.seen.handled.len(), 2);
    assert_eq!(sim.server.lapsed.len(), 0);
}

#[test]
fn a_pull_that_is_about_to_be_answered_is_waited_for() {
    let mut sim = Sim::new(two_handlers().wire(Wire::Rest), acks_after(secs(2)));
    sim.network = but(What::Pull, |_| Fate::Served(ms(400)));
    sim.publish("m", 5);
    sim.run_until(ms(10));
    sim.close(None);
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!((sim.seen.ids(What::Nack), sim.server.left()), (5, 5));
    assert_eq!((sim.seen.cancelled, sim.server.lapsed.len()), (0, 0));
}

#[test]
fn what_the_tail_of_a_stream_brings_goes_back() {
    let mut sim = Sim::new(two_handlers().max_outstanding(2), acks_after(secs(2)));
    sim.latency = ms(200);
    sim.stream_batch = 2;
    sim.publish("m", 6);
    // The server learns only after 200 ms that the stream is to end.
    sim.run_until(ms(250));
    sim.close(None);
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!(sim.seen.handled.len(), 2);
    assert!(sim.seen.ids(What::Nack) >= 2);
    assert_eq!((sim.server.left(), sim.server.lapsed.len()), (4, 0));
}

#[test]
fn acks_that_fail_are_tried_again_while_it_closes() {
    let mut sim = Sim::new(two_handlers(), acks_after(secs(2)));
    let mut calls = 0;
    sim.network = but(What::Ack, move |_| {
        calls += 1;
        match calls {
            1 | 2 => Fate::Fails(ms(10), fails(CallClass::Transient)),
            _ => Fate::Served(ms(1)),
        }
    });
    sim.publish("m", 2);
    sim.run_until(ms(500));
    sim.close(Some(secs(10)));
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!(sim.server.acked.len(), 2);
    assert!(sim.closed.unwrap() <= secs(4));
}

#[test]
fn what_is_on_its_way_at_the_deadline_has_a_second() {
    for (answers, result) in [(900, Ok(())), (1_100, Err(SettleError::Closed))] {
        let mut sim = Sim::new(two_handlers(), acks_after(secs(2)));
        sim.network = but(What::Ack, move |_| Fate::Slow(ms(answers)));
        sim.publish("m", 2);
        sim.run_until(secs(1));
        // The handlers end at 2 s, just before it.
        sim.close(Some(ms(2_005)));
        assert_eq!(sim.run(), SubscribeWait::Closed);
        assert!(sim.closed.unwrap() <= ms(3_005));
        for handled in &sim.seen.handled {
            assert_eq!(handled.settled.clone().unwrap().2, result);
        }
    }
}

#[test]
fn closed_twice_the_sooner_deadline_counts() {
    for (first, second) in [
        (Some(50), Some(5)),
        (Some(5), Some(50)),
        (None, Some(5)),
        (Some(5), None),
    ] {
        let mut sim = Sim::new(two_handlers(), acks_after(secs(100)));
        sim.publish("m", 2);
        sim.run_until(secs(1));
        sim.close(first.map(secs));
        sim.close(second.map(secs));
        assert_eq!(sim.run(), SubscribeWait::Closed);
        let closed = sim.closed.unwrap();
        assert!(closed >= secs(5) && closed <= secs(6), "{closed:?}");
    }
}

#[test]
fn an_idle_one_closes_at_once() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let mut sim = Sim::new(options().wire(wire), acks_after(ms(1)));
        sim.run_until(secs(10));
        sim.close(None);
        sim.run();
        assert!(sim.closed.unwrap() <= secs(11));
    }
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    sim.close(None);
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!((sim.at(), sim.seen.opened.len()), (Duration::ZERO, 0));
}

#[test]
fn a_stream_that_does_not_end_is_dropped() {
    let mut sim = Sim::new(two_handlers(), acks_after(secs(2)));
    sim.ends = false;
    sim.publish("m", 2);
    sim.run_until(secs(1));
    sim.close(None);
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert_eq!((sim.seen.half_closed.len(), sim.seen.dropped.len()), (1, 1));
    let closed = sim.closed.unwrap();
    assert!(closed >= secs(4) && closed <= secs(5), "{closed:?}");
}

#[test]
fn a_service_that_says_no_to_everything_holds_it_up_for_no_longer_than_the_leases() {
    let script: Script = Box::new(|_, _, _| (secs(2), Settlement::Retry));
    let mut sim = Sim::new(two_handlers(), script);
    sim.network = Box::new(|sent| match sent.what {
        What::Stream => Fate::Served(ms(1)),
        _ => Fate::Fails(ms(10), fails(CallClass::Transient)),
    });
    sim.publish("m", 10);
    sim.run_until(secs(1));
    sim.close(None);
    assert_eq!(sim.run(), SubscribeWait::Closed);
    assert!(sim.closed.unwrap() <= secs(11));
    assert!(sim.seen.requests.len() < 60);
    for handled in &sim.seen.handled {
        let (_, settlement, result) = handled.settled.clone().unwrap();
        assert_eq!(settlement, Settlement::Retry);
        assert!(
            matches!(result, Err(SettleError::Unconfirmed(_))),
            "{result:?}"
        );
    }
}
