//! What the machine counts, and tells of what no handler sees.

use pubsink_core::subscribe::{LeaseLost, Settlement, SubscribeEvent, SubscribeInput, Wire};
use pubsink_core::wire::Reply;
use pubsink_core::wire::subscribe::{Unreadable, rest};

use crate::network::{What, ms, secs};
use crate::sim::{Script, Sim, acks_after, options};

/// Two messages that are none, as a pull brings them.
fn unreadable() -> Vec<Unreadable> {
    let body = r#"{"receivedMessages":[{"ackId":"a1","message":{"messageId":"m1","data":"!"}},7]}"#;
    let reply = Reply {
        status: 200,
        body: body.into(),
        ..Reply::default()
    };
    rest::read_pull(&reply, None).unwrap().unreadable
}

#[test]
fn what_cannot_be_read_is_counted_told_and_left_to_its_lease() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let mut sim = Sim::new(options().wire(wire), acks_after(ms(1)));
        sim.publish("m", 1);
        sim.run_until(secs(1));
        sim.input(SubscribeInput::Unreadable(unreadable()));
        sim.input(SubscribeInput::Unreadable(Vec::new()));
        sim.run_until(secs(120));
        let gauges = sim.machine.gauges();
        assert_eq!((gauges.received, gauges.unreadable), (1, 2));
        let told = sim.seen.events.iter().filter_map(|(_, event)| match event {
            SubscribeEvent::Unreadable(messages) => Some(messages.clone()),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), [unreadable()]);
        // Neither given back nor kept.
        let ids = sim.seen.requests.iter().flat_map(|request| &request.ids);
        assert!(ids.into_iter().all(|id| id.as_str().starts_with("m0#")));
        assert_eq!(sim.seen.of(What::Nack).len(), 0);
    }
}

#[test]
fn what_came_is_counted_each_time_it_did() {
    let script: Script = Box::new(|_, _, times| match times {
        0 => (ms(1), Settlement::Retry),
        _ => (ms(1), Settlement::Ack),
    });
    let mut sim = Sim::new(options(), script);
    sim.publish("m", 10);
    sim.run_until(secs(5));
    let gauges = sim.machine.gauges();
    assert_eq!((gauges.received, gauges.redelivered), (20, 0));
}

#[test]
fn it_is_full_while_it_holds_as_much_as_it_may_and_the_oldest_grows_old() {
    let options = options().max_outstanding(5).handlers(1);
    let mut sim = Sim::new(options, acks_after(secs(10)));
    sim.stream_batch = 5;
    assert_eq!(sim.machine.oldest(), secs(0));
    sim.publish("m", 5);
    sim.run_until(secs(9));
    let came = sim.seen.handled[0].at;
    assert!(sim.machine.gauges().full);
    sim.run_until(secs(20));
    assert!(!sim.machine.gauges().full);
    // The second is the oldest by now, and came with the first.
    let oldest = sim.machine.oldest();
    assert!(oldest <= secs(20) - came && oldest > secs(9), "{oldest:?}");
    sim.run_until(secs(60));
    assert_eq!((sim.server.left(), sim.machine.oldest()), (0, secs(0)));
}

#[test]
fn a_lease_that_ends_before_a_handler_has_its_message_is_told() {
    let options = options().max_lease(secs(20)).handlers(1);
    let mut sim = Sim::new(options, acks_after(secs(30)));
    sim.publish("m", 2);
    sim.run_until(secs(25));
    let told = sim
        .seen
        .events
        .iter()
        .filter_map(|(at, event)| match event {
            SubscribeEvent::LostWaiting { message_id, cause } => {
                Some((at.as_secs(), message_id.to_string(), cause.clone()))
            }
            _ => None,
        });
    let expected = (20, "m1".to_owned(), LeaseLost::MaxLease);
    assert_eq!(told.collect::<Vec<_>>(), [expected]);
    // The other is told to its handler.
    assert_eq!(sim.seen.handled[0].lost.len(), 1);
}
