//! Answers that tell of each ack id, or that do not say which one is at fault.

use std::collections::BTreeMap;

use pubsink_core::subscribe::{
    AckId, CallClass, IdFailure, LeaseLost, SettleError, SubscribeEvent,
};

use crate::network::{Fate, What, but, fails, ms, secs};
use crate::server::per_id;
use crate::sim::{Sim, acks_after, options};

fn permanent(ids: &mut BTreeMap<AckId, IdFailure>, id: &str) {
    let why = "PERMANENT_FAILURE_INVALID_ACK_ID".into();
    ids.insert(id.into(), IdFailure::Permanent(why));
}

fn transient(ids: &mut BTreeMap<AckId, IdFailure>, id: &str) {
    let why = "TRANSIENT_FAILURE_INTERNAL".into();
    ids.insert(id.into(), IdFailure::Transient(why));
}

/// Four messages on an exactly-once subscription, handlers of 12 s, leases of 10 s.
fn four() -> Sim {
    let options = options().extension_min(secs(10)).extension_max(secs(10));
    let mut sim = Sim::new(options, acks_after(secs(12)));
    sim.server.exactly_once = true;
    sim.tell_properties();
    sim.publish("m", 4);
    sim
}

#[test]
fn each_id_has_its_own_fate() {
    let mut sim = four();
    let (mut extensions, mut acks) = (0, 0);
    sim.network = Box::new(move |sent| {
        let mut ids = BTreeMap::new();
        match sent.what {
            What::Extend => {
                extensions += 1;
                // The first one is that of their receipt.
                if extensions == 2 {
                    permanent(&mut ids, "m0#1");
                    transient(&mut ids, "m2#3");
                    return Fate::ServedButFails(ms(10), per_id(ids));
                }
            }
            What::Ack => {
                acks += 1;
                if acks == 1 {
                    permanent(&mut ids, "m3#4");
                    return Fate::ServedButFails(ms(10), per_id(ids));
                }
            }
            _ => {}
        }
        Fate::Served(ms(1))
    });
    // It comes again while its handler runs.
    sim.later(secs(6), |sim| sim.server.lose("m0"));
    sim.run_until(secs(30));

    let extensions = sim.seen.of(What::Extend);
    let failed = extensions[1].at;
    assert_eq!(extensions[1].ids.len(), 4);
    let later = sim
        .seen
        .requests
        .iter()
        .filter(|request| request.at > failed);
    assert!(
        later
            .clone()
            .all(|request| !request.ids.contains(&"m0#1".into()))
    );
    let handled = sim.seen.handlings("m0");
    assert_eq!(handled.len(), 1, "handled once at a time");
    assert!(matches!(
        &handled[0].lost[..],
        [(at, LeaseLost::Refused(_))] if *at <= failed + secs(1)
    ));
    // The third alone goes again, within two seconds; the others at their time.
    assert_eq!(extensions[2].ids, ["m2#3".into()]);
    assert!(extensions[2].at <= failed + secs(2));
    let next = extensions[3..]
        .iter()
        .find(|request| request.ids.contains(&"m1#2".into()));
    assert!(next.unwrap().at >= failed + secs(4));

    // The ack has the new id, and counts.
    let acks = sim.seen.of(What::Ack);
    assert!(acks[0].ids.contains(&"m0#5".into()), "{acks:?}");
    let results: Vec<_> = ["m0", "m1", "m2", "m3"]
        .map(|id| {
            let handled = sim.seen.handlings(id)[0];
            handled.settled.clone().unwrap().2
        })
        .into();
    assert_eq!(results[..3], [Ok(()), Ok(()), Ok(())]);
    assert!(matches!(results[3], Err(SettleError::LeaseLost(_))));
}

#[test]
fn ids_that_may_pass_are_sent_again_alone_until_they_do() {
    let mut sim = four();
    let mut acks = 0;
    sim.network = but(What::Ack, move |_| {
        acks += 1;
        let mut ids = BTreeMap::new();
        transient(&mut ids, "m1#2");
        match acks {
            1..=3 => Fate::ServedButFails(ms(10), per_id(ids)),
            _ => Fate::Served(ms(1)),
        }
    });
    sim.server.exactly_once = false;
    sim.watch.exactly_once = false;
    sim.run_until(secs(30));
    let sent: Vec<_> = sim
        .seen
        .of(What::Ack)
        .iter()
        .map(|request| request.ids.len())
        .collect();
    assert_eq!(sent, [4, 1, 1, 1]);
    for pair in sim.seen.of(What::Ack).windows(2) {
        assert!(pair[1].at - pair[0].at <= secs(2));
    }
    let settled = sim
        .seen
        .handled
        .iter()
        .filter_map(|handled| handled.settled.clone());
    assert!(settled.clone().all(|(_, _, result)| result.is_ok()));
    assert_eq!(settled.count(), 4);
}

#[test]
fn a_refusal_without_a_word_on_the_id_is_tried_three_times_and_is_a_loss_then() {
    let mut sim = four();
    let mut extensions = 0;
    sim.network = but(What::Extend, move |_| {
        extensions += 1;
        match extensions {
            1 => Fate::Served(ms(1)),
            _ => Fate::Fails(ms(10), fails(CallClass::Invalid)),
        }
    });
    sim.later(secs(1), Sim::freeze);
    sim.run_until(secs(20));
    assert_eq!(sim.seen.of(What::Extend).len(), 4);
    for handled in &sim.seen.handled {
        assert!(matches!(&handled.lost[..], [(at, LeaseLost::Refused(_))] if *at < secs(7)));
        let (_, _, result) = handled.settled.clone().unwrap();
        assert!(matches!(result, Err(SettleError::LeaseLost(_))));
    }
}

#[test]
fn an_ack_that_is_refused_without_a_word_is_tried_three_times() {
    let mut sim = four();
    sim.network = but(What::Ack, |_| {
        Fate::Fails(ms(10), fails(CallClass::Invalid))
    });
    sim.run_until(secs(17));
    assert_eq!(sim.seen.of(What::Ack).len(), 3);
    for handled in &sim.seen.handled {
        let (_, _, result) = handled.settled.clone().unwrap();
        assert!(matches!(result, Err(SettleError::LeaseLost(_))));
    }
    let failed = |event: &SubscribeEvent| {
        matches!(
            event,
            SubscribeEvent::CallFailed {
                what: "acknowledge",
                ids: 4,
                ..
            }
        )
    };
    assert_eq!(
        sim.seen
            .events
            .iter()
            .filter(|(_, event)| failed(event))
            .count(),
        3
    );
}

#[test]
fn an_extension_that_is_refused_because_its_message_was_just_acked_harms_nobody() {
    // The extension is under way for a second; meanwhile the message is acked.
    let options = options().extension_min(secs(10)).extension_max(secs(10));
    let mut sim = Sim::new(options, acks_after(ms(5_500)));
    sim.server.exactly_once = true;
    sim.tell_properties();
    sim.publish("m", 1);
    let mut extensions = 0;
    sim.network = Box::new(move |sent| match sent.what {
        What::Extend => {
            extensions += 1;
            Fate::Served(if extensions == 1 { ms(1) } else { secs(1) })
        }
        // The ack arrives at once, and its answer takes longer than the other.
        What::Ack => Fate::Slow(secs(3)),
        _ => Fate::Served(ms(1)),
    });
    sim.run_until(secs(20));
    assert_eq!(sim.seen.of(What::Extend).len(), 2);
    let handled = &sim.seen.handled[0];
    assert_eq!(handled.lost, []);
    assert_eq!(handled.settled.clone().unwrap().2, Ok(()));
    assert_eq!(sim.seen.handled.len(), 1);
}
