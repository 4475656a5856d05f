//! What never left is handed back: its data may be foreign memory, whose `Drop` is foreign code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use pubsink_core::options::OrderingOnFailure;
use pubsink_core::publish::{Admission, Input, Message, Output, Publisher, Step};
use pubsink_core::testing::replies;

use crate::sim::{ms, options, origin};

/// A machine, and how much of its messages' data was dropped.
struct Rig {
    machine: Publisher<u64>,
    dropped: Arc<AtomicUsize>,
}

struct Owner(Arc<AtomicUsize>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        b"data"
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Rig {
    fn new(authorize: bool) -> Self {
        let options = options(|builder| {
            builder
                .ordering_on_failure(OrderingOnFailure::Hold)
                .batch_queue_max(4)
                .batch_max_inflight(1)
        });
        Self {
            machine: Publisher::new(options, authorize, 1),
            dropped: Arc::default(),
        }
    }

    fn admission(&self, key: &str) -> Admission {
        let message = Message {
            data: Bytes::from_owner(Owner(Arc::clone(&self.dropped))),
            ordering_key: key.to_owned(),
            ..Message::default()
        };
        Admission::message(message, self.machine.options()).unwrap()
    }

    fn admit(&mut self, tag: u64, key: &str) {
        let admission = self.admission(key);
        self.input(Input::Admit { tag, admission });
    }

    fn input(&mut self, input: Input<u64>) {
        self.machine.handle(origin(), input).unwrap();
    }

    /// Everything it wants done.
    fn drain(&mut self, now: Instant) -> Vec<Output<u64>> {
        std::iter::from_fn(|| match self.machine.poll(now) {
            Step::Do(output) => Some(output),
            Step::Wait(..) => None,
        })
        .collect()
    }

    /// How many messages were settled unsent, none of which the machine dropped: `before` says how
    /// many had been dropped.
    fn unsent(&mut self, before: usize) -> usize {
        assert_eq!(self.dropped(), before);
        let unsent = self.machine.take_unsent();
        assert_eq!(self.dropped(), before);
        let count = unsent.len();
        drop(unsent);
        assert_eq!(self.dropped(), before + count);
        count
    }

    fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[test]
fn a_message_that_is_refused_is_given_back() {
    let mut rig = Rig::new(false);
    for tag in 0..6 {
        rig.admit(tag, "");
    }
    // The fifth went with the input of the sixth.
    assert_eq!(rig.unsent(1), 1);
    let admission = rig.admission("");
    let refused = rig.machine.try_admit(origin(), 6, admission).unwrap_err();
    assert_eq!((rig.dropped(), rig.unsent(2)), (2, 0));
    drop(refused);
    assert_eq!(rig.dropped(), 3);
}

#[test]
fn messages_behind_a_stopped_key_are_handed_back() {
    let mut rig = Rig::new(false);
    rig.admit(0, "k");
    let mut outputs = rig.drain(origin() + ms(60));
    let Some(Output::Send(request)) = outputs.pop() else {
        panic!("{outputs:?}");
    };
    rig.admit(1, "k");
    rig.admit(2, "k");
    let (_, sent) = request.encode();
    assert_eq!(
        rig.dropped(),
        1,
        "what was sent is dropped where it is encoded"
    );
    let refused = replies::error(400, "INVALID_ARGUMENT", "no").build();
    rig.input(Input::Response(sent.answered(&refused)));
    assert_eq!(rig.drain(origin()).len(), 3);
    assert_eq!(rig.unsent(1), 2);
}

#[test]
fn messages_whose_token_never_comes_are_handed_back() {
    let mut rig = Rig::new(true);
    rig.admit(0, "");
    rig.admit(1, "");
    let outputs = rig.drain(origin() + ms(60));
    let [Output::Authorize { request, .. }] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    rig.input(Input::Token {
        request: *request,
        token: Err("none".into()),
    });
    assert_eq!(rig.drain(origin()).len(), 2);
    assert_eq!(rig.unsent(0), 2);
}

#[test]
fn what_closing_gives_up_is_handed_back_or_dropped_with_the_next_input() {
    for takes in [true, false] {
        let mut rig = Rig::new(true);
        rig.admit(0, "k");
        // Now it waits for a token.
        rig.drain(origin() + ms(60));
        for (tag, key) in [(1, ""), (2, "k"), (3, "l")] {
            rig.admit(tag, key);
        }
        let deadline = Some(origin());
        rig.input(Input::Close { deadline });
        rig.drain(origin() + ms(60));
        assert!(rig.machine.is_closed());
        if takes {
            assert_eq!(rig.unsent(0), 4);
        } else {
            assert_eq!(rig.dropped(), 0);
            rig.input(Input::ResumeAll);
            assert_eq!(rig.dropped(), 4);
        }
    }
}
