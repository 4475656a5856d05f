//! What handlers say, on its way to Pub/Sub.

use pubsink_core::subscribe::{CallClass, SettleError, Settlement, SubscribeEvent, Wire};
use pubsink_core::token::Token;

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

fn says(settlement: Settlement) -> Script {
    Box::new(move |_, _, _| (ms(1), settlement))
}

#[test]
fn an_ack_leaves_with_its_company_within_a_tenth_of_a_second_and_counts_when_it_is_confirmed() {
    let mut sim = Sim::new(options().handlers(100), acks_after(ms(50)));
    sim.network = but(What::Ack, |_| Fate::Served(ms(20)));
    sim.publish("m", 50);
    sim.run_until(secs(5));
    let acks = sim.seen.of(What::Ack);
    assert_eq!(
        (acks.len(), acks[0].ids.len(), acks[0].at),
        (1, 50, ms(152))
    );
    for handled in &sim.seen.handled {
        assert_eq!(handled.settled, Some((ms(192), Settlement::Ack, Ok(()))));
    }
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn a_full_request_leaves_at_once() {
    let options = options().handlers(5_000).max_outstanding(5_000);
    let mut sim = Sim::new(options, acks_after(ms(50)));
    sim.stream_batch = 2_500;
    sim.publish("m", 2_500);
    sim.run_until(secs(5));
    let acks = sim.seen.of(What::Ack);
    let sent: Vec<_> = acks
        .iter()
        .map(|request| (request.at, request.ids.len()))
        .collect();
    assert_eq!(sent, [(ms(52), 1_000), (ms(52), 1_000), (ms(152), 500)]);
}

#[test]
fn requests_keep_to_their_size() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let options = options().wire(wire).handlers(5_000).max_outstanding(5_000);
        let mut sim = Sim::new(options, acks_after(secs(100)));
        for number in 0..1_000 {
            // The server makes the ack id of the message id.
            let id = format!("m{number}-{}", "x".repeat(1_500));
            sim.server.publish(&id, "", 10);
        }
        sim.stream_batch = 1_000;
        sim.run_until(secs(60));
        // The simulation asserts that none is larger than half a mebibyte.
        let extensions = sim.seen.of(What::Extend);
        assert!(
            extensions[..2]
                .iter()
                .all(|request| (300..350).contains(&request.ids.len()))
        );
        sim.run_until(secs(200));
        assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
        assert!(sim.seen.of(What::Ack).len() <= 4);
    }
}

#[test]
fn a_drop_is_an_ack_but_for_the_last_attempt_that_a_dead_letter_policy_allows() {
    let mut sim = Sim::new(options(), says(Settlement::Drop));
    sim.publish("m", 1);
    sim.run_until(secs(1));
    assert_eq!((sim.seen.ids(What::Ack), sim.seen.ids(What::Nack)), (1, 0));

    let script: Script = Box::new(|_, message, _| match message.delivery_attempt {
        Some(5) => (ms(1), Settlement::Drop),
        _ => (ms(1), Settlement::Retry),
    });
    let mut sim = Sim::new(options().max_delivery_attempts(Some(5)), script);
    sim.server.max_attempts = Some(5);
    sim.publish("m", 1);
    sim.run_until(secs(5));
    assert_eq!((sim.seen.ids(What::Ack), sim.seen.ids(What::Nack)), (0, 5));
    assert_eq!(sim.server.dead, ["m0"]);
    let last = sim.seen.handled.last().unwrap().settled.clone().unwrap();
    assert_eq!((last.1, last.2), (Settlement::Drop, Ok(())));

    // Before that it is acked: the policy never sees it.
    let mut sim = Sim::new(
        options().max_delivery_attempts(Some(5)),
        says(Settlement::Drop),
    );
    sim.server.max_attempts = Some(5);
    sim.publish("m", 1);
    sim.run_until(secs(5));
    assert_eq!((sim.seen.ids(What::Ack), sim.server.dead.len()), (1, 0));
}

#[test]
fn acks_that_fail_are_tried_again_while_their_leases_are_kept() {
    for class in [
        CallClass::Transient,
        CallClass::Config,
        CallClass::Throttled(Some(secs(7))),
    ] {
        let options = options().extension_min(secs(10)).extension_max(secs(10));
        let mut sim = Sim::new(options, acks_after(ms(1)));
        sim.network = but(What::Ack, move |sent| match sent.at < secs(90) {
            true => Fate::Fails(ms(10), fails(class)),
            false => Fate::Served(ms(1)),
        });
        sim.publish("m", 3);
        sim.run_until(secs(150));
        assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
        for handled in &sim.seen.handled {
            assert_eq!(handled.settled.clone().unwrap().2, Ok(()));
        }
        // No tight loop: pauses double to ten seconds, or to thirty.
        let requests = sim.seen.of(What::Ack).len();
        assert!((6..=24).contains(&requests), "{class:?}: {requests}");
    }
}

#[test]
fn an_ack_that_cannot_be_told_before_its_lease_ends_is_unconfirmed() {
    let options = options().max_lease(secs(40)).extension_min(secs(10));
    let mut sim = Sim::new(options, acks_after(ms(1)));
    sim.network = but(What::Ack, |_| {
        Fate::Fails(ms(10), fails(CallClass::Transient))
    });
    sim.publish("m", 3);
    sim.later(secs(1), Sim::freeze);
    sim.run_until(secs(60));
    for handled in &sim.seen.handled {
        let (at, _, result) = handled.settled.clone().unwrap();
        assert!(at >= secs(30) && at <= secs(52), "{at:?}");
        let Err(SettleError::Unconfirmed(reason)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(reason.kind(), "status");
    }
    assert_eq!(sim.machine.gauges().unconfirmed, 0);
}

#[test]
fn one_batch_that_never_passes_holds_up_no_other() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    let failure = fails(CallClass::Transient);
    sim.network = but(What::Ack, move |sent| {
        match sent.ids.iter().any(|id| id.as_str().starts_with("bad")) {
            true => Fate::Fails(ms(10), failure.clone()),
            false => Fate::Served(ms(10)),
        }
    });
    for number in 0..20 {
        sim.later(secs(number), move |sim| {
            sim.server.publish(&format!("bad{number}"), "", 10);
        });
        for good in 0..4 {
            sim.later(secs(number) + ms(200 * (good + 1)), move |sim| {
                sim.server.publish(&format!("good{number}-{good}"), "", 10);
            });
        }
    }
    sim.run_until(secs(40));
    let mut slowest = ms(0);
    for handled in sim
        .seen
        .handled
        .iter()
        .filter(|handled| handled.id.starts_with("good"))
    {
        let (at, _, result) = handled.settled.clone().unwrap();
        assert_eq!(result, Ok(()));
        slowest = slowest.max(at - handled.at);
    }
    assert!(slowest <= secs(1), "{slowest:?}");
}

#[test]
fn a_call_that_is_never_answered_is_given_up_and_tried_again() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    let mut first = true;
    sim.network = but(What::Ack, move |_| match std::mem::take(&mut first) {
        true => Fate::Silent(false),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 1);
    sim.run_until(secs(20));
    // Connecting and answering have five seconds each, and the machine a second more.
    let acks: Vec<_> = sim
        .seen
        .of(What::Ack)
        .iter()
        .map(|request| request.at.as_millis())
        .collect();
    assert_eq!(acks.len(), 2);
    assert!((11_103..=11_400).contains(&acks[1]), "{acks:?}");
    assert_eq!((sim.seen.cancelled, sim.server.left()), (1, 0));
}

#[test]
fn acks_that_hang_hold_up_neither_nacks_nor_extensions() {
    let script: Script = Box::new(|_, message, times| match message.message_id.as_str() {
        id if id.starts_with("retry") && times == 0 => (ms(1), Settlement::Retry),
        id if id.starts_with("slow") => (secs(90), Settlement::Ack),
        _ => (ms(1), Settlement::Ack),
    });
    let mut sim = Sim::new(options().handlers(50), script);
    sim.network = but(What::Ack, |sent| match sent.at < secs(25) {
        true => Fate::Silent(false),
        false => Fate::Served(ms(1)),
    });
    sim.publish("fast", 10);
    sim.publish("slow", 10);
    sim.publish("retry", 10);
    sim.run_until(secs(120));
    assert!(sim.seen.of(What::Nack)[0].at <= ms(200));
    assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
}

#[test]
fn a_refused_token_is_replaced_once_and_the_same_ids_go_at_once() {
    for what in [What::Ack, What::Nack, What::Extend] {
        let script: Script = Box::new(|_, _, times| match times {
            0 => (secs(40), Settlement::Retry),
            _ => (ms(1), Settlement::Ack),
        });
        let mut sim = Sim::new(options(), script);
        let mut failure = fails(CallClass::Unauthenticated);
        failure.refused = Some(Token::new("stale-token").unwrap());
        let mut calls = 0;
        sim.network = but(what, move |sent| {
            calls += 1;
            match (calls, sent.renewed) {
                (_, true) => Fate::Served(ms(1)),
                (1, false) => Fate::Fails(ms(1), failure.clone()),
                _ => Fate::Served(ms(1)),
            }
        });
        sim.publish("m", 2);
        sim.run_until(secs(90));
        let requests = sim.seen.of(what);
        assert_eq!((requests[0].renewed, requests[1].renewed), (false, true));
        assert_eq!(requests[0].ids, requests[1].ids);
        assert_eq!(requests[1].at, requests[0].at + ms(1));
        assert_eq!((sim.server.left(), sim.server.lapsed.len()), (0, 0));
    }
}

#[test]
fn failures_are_told() {
    let mut sim = Sim::new(options(), acks_after(ms(1)));
    let mut first = true;
    sim.network = but(What::Ack, move |_| match std::mem::take(&mut first) {
        true => Fate::Fails(ms(1), fails(CallClass::Transient)),
        false => Fate::Served(ms(1)),
    });
    sim.publish("m", 3);
    sim.run_until(secs(5));
    let told = sim.seen.events.iter().filter_map(|(_, event)| match event {
        SubscribeEvent::CallFailed { what, ids, failure } => Some((*what, *ids, failure.class)),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [("acknowledge", 3, CallClass::Transient)]
    );
}
