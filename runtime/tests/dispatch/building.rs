//! What a dispatcher cannot be made of is said when it is built.

use pubsink_runtime::core::delivery::DeliveryContext;
use pubsink_runtime::core::dispatch::DispatchOptions;
use pubsink_runtime::core::envelope::Envelope;
use pubsink_runtime::core::failure::Failure;
use pubsink_runtime::core::sink::{Receipt, Subject};
use pubsink_runtime::dispatch::{DispatchBuilder, StartError};
use pubsink_runtime::journal::MemoryJournal;
use pubsink_runtime::sink::{LogSink, Sink};

use crate::support::{Heard, Threads, hook, start, within};

fn builder() -> DispatchBuilder {
    DispatchBuilder::new(MemoryJournal::default())
}

fn refused(builder: DispatchBuilder) -> StartError {
    builder.connect(Threads, 1).unwrap_err()
}

#[test]
fn sinks_have_names_of_their_own() {
    assert_eq!(refused(builder()), StartError::NoSink);
    let nameless = builder().sink("", LogSink);
    assert_eq!(refused(nameless), StartError::NamelessSink);
    let twice = builder().sink("log", LogSink).sink("log", LogSink);
    let error = refused(twice);
    assert_eq!(error, StartError::SinkTwice("log".into()));
    assert_eq!(error.to_string(), "there are two sinks \"log\"");
}

#[test]
fn options_are_checked() {
    let options = DispatchOptions {
        concurrency: 0,
        ..DispatchOptions::default()
    };
    let StartError::Option(error) = refused(builder().sink("log", LogSink).options(options)) else {
        panic!("another error");
    };
    assert_eq!(error.option, "concurrency");
}

/// Answers no question as it should.
struct Rude {
    inline_max_bytes: fn() -> Option<usize>,
}

impl Sink for Rude {
    async fn deliver(&self, _: &Envelope, _: &DeliveryContext) -> Result<Receipt, Failure> {
        Ok(Receipt::new())
    }

    fn batched(&self) -> bool {
        panic!("batched")
    }

    fn durable(&self) -> bool {
        panic!("durable")
    }

    fn ordered(&self) -> bool {
        true
    }

    fn ordering_key(&self, _: &Envelope) -> Option<String> {
        panic!("ordering_key")
    }

    fn inline_max_bytes(&self) -> Option<usize> {
        (self.inline_max_bytes)()
    }

    fn describe(&self, _: &Subject) -> Option<pubsink_runtime::core::sink::Description> {
        panic!("describe")
    }
}

#[test]
fn a_threshold_that_is_none_is_refused_and_names_its_sink() {
    for bad in [|| Some(0), || panic!("inline_max_bytes")] {
        let rude = Rude {
            inline_max_bytes: bad,
        };
        let error = refused(builder().sink("log", LogSink).sink("rude", rude));
        assert_eq!(error, StartError::InlineMaxBytes("rude".into()));
        assert!(error.to_string().contains("\"rude\""), "{error}");
    }
}

#[test]
fn a_sink_that_panics_when_asked_has_the_defaults() {
    let heard = Heard::default();
    let rude = |max| Rude {
        inline_max_bytes: max,
    };
    let dispatch = builder()
        .sink("rude", rude(|| Some(7)))
        .sink("rude too", rude(|| None))
        .on_event(heard.observer());
    let dispatch = start(dispatch).unwrap();
    assert_eq!(dispatch.inline_max_bytes(), Some(7));
    let subject = Subject {
        source_id: "github".to_owned(),
        tenant_id: None,
    };
    assert_eq!(dispatch.describe(&subject), []);
    within(dispatch.enqueue(hook("1"))).unwrap();
    for settled in heard.wait_settled(2) {
        assert!(settled.outcome.is_ok());
        assert_eq!(settled.row.lane.key, None);
    }
}

#[test]
fn what_it_is_made_of_can_be_looked_at() {
    let builder = builder().sink("log", LogSink);
    assert!(format!("{builder:?}").contains("log"));
    let dispatch = start(builder).unwrap();
    assert!(format!("{dispatch:?}").contains("gauges"));
}
