//! No more is asked for than there is room for.

use pubsink_core::subscribe::Wire;

use crate::network::{Fate, What, but, ms, secs};
use crate::sim::{Sim, acks_after, options};

#[test]
fn nothing_is_read_while_as_many_messages_are_out_as_may_be() {
    let options = options().max_outstanding(25).handlers(5);
    let mut sim = Sim::new(options, acks_after(secs(1)));
    sim.stream_batch = 10;
    sim.publish("m", 100);
    sim.run_until(secs(60));
    // What one response brings beyond the limit is kept.
    assert_eq!(sim.seen.most_outstanding, 30);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn nothing_is_read_while_as_many_bytes_are_out_as_may_be() {
    let options = options().max_outstanding_bytes(10_000).handlers(1);
    let mut sim = Sim::new(options, acks_after(secs(1)));
    sim.stream_batch = 1;
    for number in 0..20 {
        sim.server.publish(&format!("m{number}"), "", 4_000);
    }
    sim.run_until(secs(60));
    assert_eq!(sim.seen.most_outstanding, 3);
    assert_eq!(sim.server.left(), 0);
}

#[test]
fn nothing_is_asked_for_while_too_many_settlements_are_unconfirmed() {
    let mut sim = Sim::new(options(), acks_after(ms(0)));
    sim.network = but(What::Ack, |_| Fate::Silent(false));
    sim.publish("m", 15_000);
    sim.run_until(secs(5));
    assert_eq!(sim.machine.gauges().unconfirmed, 10_000);
    assert_eq!(sim.machine.gauges().outstanding, 0);
    // Four calls of a thousand each, and nobody answers.
    assert_eq!(sim.seen.ids(What::Ack), 4_000);
}

#[test]
fn a_message_that_is_larger_than_all_the_room_is_taken_when_nothing_else_is_out() {
    for wire in [Wire::Grpc, Wire::Rest] {
        let options = options().wire(wire).max_outstanding_bytes(100);
        let mut sim = Sim::new(options, acks_after(secs(1)));
        for number in 0..3 {
            sim.server.publish(&format!("m{number}"), "", 5_000);
        }
        sim.run_until(secs(20));
        assert_eq!(sim.server.left(), 0);
    }
}
