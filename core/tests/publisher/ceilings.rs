//! What a publisher holds at most.

use std::sync::Arc;
use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::publish::{Admission, Input, Publisher};
use pubsink_core::reason::{Ceiling, Reason};

use crate::sim::answers::Answer;
use crate::sim::messages::{message, of_tenant, sized};
use crate::sim::{Sim, defaults, ms, options};

/// The pause and the ceiling `tag` was refused with, nothing sent.
fn refusal(sim: &Sim, tag: u64) -> (Duration, Ceiling, usize) {
    let failure = sim.failure(tag);
    assert!(!failure.may_have_been_stored);
    match (failure.class, &*failure.reason) {
        (Class::RetryAfter(pause), Reason::BatchQueueFull { ceiling, max }) => {
            (pause, *ceiling, *max)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_default_ceiling_of_a_tenant_is_1024_messages() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit_all(1..=1_025);
    sim.admit(2_000, of_tenant(2_000, "another"));
    sim.drain();
    let (pause, ceiling, max) = refusal(&sim, 1_025);
    assert_eq!((ceiling, max), (Ceiling::Tenant, 1_024));
    assert!((ms(1)..=ms(500)).contains(&pause));
    assert_eq!(sim.settled().len(), 1);
    sim.run();
    assert_eq!(sim.deliveries(), 1_025);
    sim.assert_quiescent();
}

#[test]
fn the_default_ceiling_of_all_is_4096_messages() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    for tag in 1..=4_097 {
        sim.admit(tag, of_tenant(tag, &format!("tenant {}", tag % 5)));
    }
    sim.drain();
    assert_eq!(sim.settled().len(), 1);
    let (_, ceiling, max) = refusal(&sim, 4_097);
    assert_eq!((ceiling, max), (Ceiling::Entries, 4_096));
}

#[test]
fn the_default_ceiling_of_bytes_is_128_mib() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    for tag in 1..=17 {
        sim.admit(tag, sized(tag, 7_800_000));
    }
    let room = 134_217_728 - 17 * 7_800_000;
    sim.admit(18, sized(18, room + 1));
    sim.admit(19, sized(19, room));
    sim.drain();
    assert_eq!(sim.machine().gauges().bytes, 134_217_728);
    let (_, ceiling, max) = refusal(&sim, 18);
    assert_eq!((ceiling, max), (Ceiling::Bytes, 134_217_728));
    assert_eq!(sim.settled().len(), 1);
}

#[test]
fn a_settled_message_makes_room_for_another() {
    let mut sim = Sim::new(&options(|b| b.batch_queue_max(2)), |_| Answer::stored());
    sim.admit_all(1..=3);
    assert_eq!(sim.machine().gauges().messages, 2);
    // In flight is held too.
    sim.run_until(ms(69));
    sim.admit(4, message(4));
    sim.run_until(ms(70));
    sim.admit_all(5..=7);
    sim.run();
    let refused: Vec<_> = sim
        .settled()
        .into_values()
        .filter(|settled| settled.outcome.is_err())
        .map(|settled| settled.tag)
        .collect();
    assert_eq!(refused, [3, 4, 7]);
    sim.assert_quiescent();
}

#[test]
fn the_pause_of_a_refusal_grows_with_the_attempt() {
    let mut sim = Sim::new(&options(|b| b.batch_queue_max(1)), |_| Answer::stored());
    sim.admit(0, message(0));
    let mut longest = [Duration::ZERO; 2];
    for tag in 1..=400 {
        let attempt = if tag % 2 == 0 { 1 } else { 20 };
        let options = sim.machine().options().clone();
        let admission = Admission::message(message(tag), &options)
            .unwrap()
            .with_attempt(attempt);
        sim.handle(Input::Admit { tag, admission }).unwrap();
        sim.drain();
        let (pause, ..) = refusal(&sim, tag);
        let most = &mut longest[usize::from(attempt == 20)];
        *most = pause.max(*most);
        assert!(pause >= ms(1));
    }
    // Uniform draws of a known seed: the longest of 200 comes close to the window's end.
    assert!((ms(450)..=ms(500)).contains(&longest[0]), "{longest:?}");
    assert!(
        (ms(27_000)..=ms(30_000)).contains(&longest[1]),
        "{longest:?}"
    );
}

#[test]
fn try_admit_gives_the_message_back_at_once() {
    let options = options(|b| b.batch_queue_max(1));
    let mut machine = Publisher::new(Arc::clone(&options), false, 1);
    let mut admit = |tag| {
        let admission = Admission::message(message(tag), &options).unwrap();
        machine.try_admit(crate::sim::origin(), tag, admission)
    };
    assert_eq!(admit(1), Ok(()));
    let refused = admit(2).unwrap_err();
    assert_eq!(refused.tag, 2);
    assert_eq!(refused.failure.reason.kind(), "batch_queue_full");
    let whole = Admission::message(message(2), &options).unwrap();
    assert_eq!(refused.admission, whole);
    assert_eq!(machine.gauges().messages, 1);
}

#[test]
fn a_bisected_message_is_held_until_its_own_outcome() {
    let server = |request: &crate::sim::Recorded| match request.messages.len() {
        1 => Answer::stored(),
        _ => Answer::refused(),
    };
    let mut sim = Sim::new(
        &options(|b| b.batch_max_entries(4).batch_max_inflight(1)),
        server,
    );
    sim.admit_all(1..=4);
    let mut held = Vec::new();
    for at in (0..=400).step_by(50) {
        sim.run_until(ms(at));
        held.push(sim.machine().gauges().messages);
    }
    // 4 | 1 2 | 1 | 2 | 3 4 | 3 | 4
    assert_eq!(held, [4, 4, 4, 3, 2, 2, 1, 0, 0]);
}
