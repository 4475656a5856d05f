//! A driver of its own around a tapped machine: what it records, a replay repeats.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Input, Message, Output, Step};
use pubsink_core::testing::replies;
use pubsink_core::testing::trace::{Tapped, replay};

/// A mark with nothing but `Debug`, used again and again as a driver's slots are.
#[derive(Clone, Copy)]
struct Slot(usize);

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", self.0)
    }
}

fn options() -> Arc<PublisherOptions> {
    let options = PublisherOptions::builder("p", "hooks").batch_queue_max(2);
    Arc::new(options.build().unwrap())
}

#[test]
fn a_driver_that_refuses_at_once_and_polls_late_is_repeated_exactly() {
    let options = options();
    let mut machine = Tapped::new(Arc::clone(&options), false, 9);
    let (sender, receiver) = mpsc::channel();
    machine.record(move |line| sender.send(format!("{line}\n")).unwrap());
    let start = Instant::now();
    let mut refused = 0;
    let mut delivered = 0;
    for round in 0..5 {
        let now = start + Duration::from_millis(1_000 * round);
        for slot in 0..3 {
            let admission = Admission::message(Message::new("m"), &options).unwrap();
            // Some calls take the time before they wait for the lock: it goes back.
            let now = now - Duration::from_micros(7 * slot * round);
            let slot = Slot(usize::try_from(slot).unwrap());
            refused += usize::from(machine.try_admit(now, slot, admission).is_err());
        }
        assert!(matches!(machine.poll(now), Step::Wait(Some(_), _)));
        // The timer is late by more than a linger.
        let now = now + Duration::from_millis(47);
        while let Step::Do(output) = machine.poll(now) {
            match output {
                Output::Send(request) => {
                    let (_, sent) = request.encode();
                    let response = sent.answered(&replies::ids(["1", "2"]));
                    machine.handle(now, Input::Response(response)).unwrap();
                }
                Output::Settled { outcome, .. } => delivered += usize::from(outcome.is_ok()),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!((refused, delivered), (5, 10));
    assert_eq!(machine.gauges().messages, 0);
    let trace: String = receiver.try_iter().collect();
    assert!(
        trace.contains(r#""out":"refused","tag":"Slot(2)""#),
        "{trace}"
    );
    let replay = replay(&trace, Instant::now()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replay.requests.len(), replay.outcomes.len()), (5, 15));
}

#[test]
fn a_machine_that_records_nothing_does_the_same() {
    let mut machine = Tapped::new(options(), false, 9);
    let now = Instant::now();
    machine.handle(now, Input::Flush { tag: Slot(1) }).unwrap();
    assert!(matches!(
        machine.poll(now),
        Step::Do(Output::Flushed { .. })
    ));
}

#[test]
#[should_panic(expected = "a trace starts before the machine is used")]
fn half_a_trace_is_refused() {
    let mut machine: Tapped<u8> = Tapped::new(options(), false, 9);
    assert!(matches!(machine.poll(Instant::now()), Step::Wait(None, _)));
    machine.record(|_| {});
}
