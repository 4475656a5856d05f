//! A key goes on when its caller says so.

use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::publish::{Admission, Input, Message};
use pubsink_core::testing::Simulation;

use super::{assert_stopped_by, failing, options};
use crate::sim::answers::Answer;
use crate::sim::messages::{keyed, message};
use crate::sim::{Sim, ms, origin};

fn one_by_one() -> Sim {
    let options = options(|b| b.batch_max_entries(1).batch_queue_max(4));
    Sim::new(&options, failing(&[1], Answer::error(500, "INTERNAL")))
}

/// The next message of its key by the caller's own order.
fn admit_next(sim: &mut Sim, tag: u64, message: Message) {
    let admission = Admission::message(message, sim.machine().options()).unwrap();
    let admission = admission.resuming_key();
    sim.handle(Input::Admit { tag, admission }).unwrap();
}

#[test]
fn a_resumed_key_goes_on_with_what_is_admitted_from_then_on() {
    let mut sim = one_by_one();
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.run();
    sim.resume("k");
    assert_eq!(sim.machine().gauges().stopped_keys, 0);
    sim.admit(11, keyed(11, "k"));
    sim.admit(12, keyed(12, "k"));
    sim.run();
    assert_eq!(sim.stored_tags(), [11, 12]);
    assert_stopped_by(&sim, 1, [2]);
}

#[test]
fn resuming_a_key_that_is_not_stopped_changes_nothing() {
    let mut sim = one_by_one();
    sim.resume("k");
    sim.resume_all();
    sim.admit(1, keyed(1, "k"));
    sim.admit(2, keyed(2, "k"));
    sim.resume("k");
    sim.resume("other");
    sim.run();
    assert_stopped_by(&sim, 1, [2]);
    sim.resume("other");
    sim.admit(3, keyed(3, "k"));
    sim.run();
    assert_stopped_by(&sim, 1, [3]);
}

#[test]
fn a_key_may_be_stopped_again_for_another_reason() {
    let mut sim = Sim::new(
        &options(|b| b.batch_max_entries(1)),
        failing(&[1, 2], Answer::error(500, "INTERNAL")),
    );
    sim.admit(1, keyed(1, "k"));
    sim.run();
    sim.resume("k");
    sim.admit(2, keyed(2, "k"));
    sim.run();
    sim.admit(3, keyed(3, "k"));
    sim.run();
    assert_stopped_by(&sim, 2, [3]);
}

#[test]
fn a_message_can_resume_its_own_key_which_then_goes_on() {
    let mut sim = one_by_one();
    sim.admit(1, keyed(1, "k"));
    sim.run();
    sim.admit(2, keyed(2, "k"));
    admit_next(&mut sim, 11, keyed(11, "k"));
    sim.admit(12, keyed(12, "k"));
    // Of a key that was not stopped it is a message like any other.
    admit_next(&mut sim, 13, keyed(13, "l"));
    sim.run();
    assert_stopped_by(&sim, 1, [2]);
    let mut stored = sim.stored_tags();
    stored.sort_unstable();
    assert_eq!(stored, [11, 12, 13]);
    assert_eq!(sim.machine().gauges().stopped_keys, 0);
}

#[test]
fn a_message_that_is_refused_for_a_ceiling_does_not_resume_its_key() {
    let mut sim = one_by_one();
    sim.admit(1, keyed(1, "k"));
    sim.run();
    sim.admit_all(21..=24);
    admit_next(&mut sim, 11, keyed(11, "k"));
    assert_eq!(sim.machine().gauges().stopped_keys, 1);
    sim.run();
    assert_eq!(sim.failure(11).reason.kind(), "batch_queue_full");
    // Or else this one would pass it.
    sim.admit(12, keyed(12, "k"));
    sim.run();
    assert_stopped_by(&sim, 1, [12]);
}

#[test]
fn a_message_behind_a_request_that_fails_is_stopped_although_it_resumes() {
    let mut sim = one_by_one();
    sim.admit(1, keyed(1, "k"));
    sim.run_until(ms(10));
    admit_next(&mut sim, 2, keyed(2, "k"));
    sim.run();
    assert_stopped_by(&sim, 1, [2]);
}

#[test]
fn a_hook_says_it_in_its_context() {
    let options = options(|b| b.ordering_key("k").batch_max_entries(1));
    let mut requests = 0;
    let mut sim = Simulation::new(options, origin(), move |_| {
        requests += 1;
        match requests {
            1 => Answer::refused(),
            _ => Answer::stored(),
        }
    });
    let hook = Envelope::new("h", "s", 0, "{}");
    let next = DeliveryContext {
        resume_key: true,
        ..DeliveryContext::batched()
    };
    for (tag, context) in [
        ("fails", &DeliveryContext::batched()),
        ("is stopped", &DeliveryContext::batched()),
        ("is next", &next),
        ("comes after", &DeliveryContext::batched()),
    ] {
        sim.deliver(tag, &hook, context);
        sim.run();
    }
    let kinds = ["fails", "is stopped", "is next", "comes after"].map(|tag| {
        let failure = sim.outcome(&tag)?.as_ref().err()?;
        Some(failure.reason.kind())
    });
    assert_eq!(kinds, [Some("pubsub"), Some("key_stopped"), None, None]);
}

#[test]
fn closed_it_resumes_keys_and_takes_nothing_all_the_same() {
    let mut sim = one_by_one();
    sim.admit(1, keyed(1, "k"));
    sim.run();
    sim.close(None);
    sim.resume("k");
    admit_next(&mut sim, 2, keyed(2, "k"));
    sim.admit(3, message(3));
    sim.run();
    for tag in [2, 3] {
        assert_eq!(sim.failure(tag).reason.kind(), "transport");
    }
}
