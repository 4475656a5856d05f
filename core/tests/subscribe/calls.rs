//! Inputs that do not fit, and inputs that are late.

use std::sync::Arc;
use std::time::Instant;

use pubsink_core::publish::Step;
use pubsink_core::subscribe::{
    CallId, DeliveryId, Settlement, StreamAnswer, StreamEnd, StreamId, SubscribeInput,
    SubscribeMisuse, SubscribeOutput, SubscribeWait, Subscriber, SubscriberOptionsBuilder, Wire,
};

use crate::network::secs;
use crate::sim::options;

fn start(options: SubscriberOptionsBuilder) -> (Subscriber, Instant) {
    #[allow(clippy::disallowed_methods, reason = "any instant will do")]
    let now = Instant::now();
    let options = Arc::new(options.build().unwrap());
    (Subscriber::new(options, now, 1), now)
}

fn opened(machine: &mut Subscriber, now: Instant) -> StreamId {
    match machine.poll(now) {
        Step::Do(SubscribeOutput::OpenStream { stream, .. }) => stream,
        other => panic!("{other:?}"),
    }
}

fn pulled(machine: &mut Subscriber, now: Instant) -> CallId {
    match machine.poll(now) {
        Step::Do(SubscribeOutput::Pull { call, .. }) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_does_not_fit_is_told_and_changes_nothing() {
    let (mut grpc, now) = start(options());
    let (mut rest, _) = start(options().wire(Wire::Rest));
    let stream = opened(&mut grpc, now);
    let call = pulled(&mut rest, now);
    let answer = StreamAnswer::default();
    let streamed = SubscribeInput::Streamed { stream, answer };
    let unknown = SubscribeMisuse::UnknownStream(stream);
    assert_eq!(rest.handle(now, streamed), Err(unknown));
    assert_eq!(unknown.to_string(), "stream 1 was never opened");
    let end = StreamEnd::Done;
    let ended = SubscribeInput::Ended { stream, end };
    assert_eq!(rest.handle(now, ended), Err(unknown));
    let result = Ok(Vec::new());
    let unknown = SubscribeMisuse::UnknownCall(call);
    let input = SubscribeInput::Pulled { call, result };
    assert_eq!(grpc.handle(now, input), Err(unknown));
    // A pull is not answered like an acknowledge.
    let result = Ok(());
    let input = SubscribeInput::Answered { call, result };
    assert_eq!(rest.handle(now, input), Err(unknown));
    let delivery = DeliveryId::new(1);
    let settlement = Settlement::Ack;
    let input = SubscribeInput::Settle {
        delivery,
        settlement,
    };
    let unknown = SubscribeMisuse::UnknownDelivery(delivery);
    assert_eq!(grpc.handle(now, input), Err(unknown));
    assert_eq!(unknown.to_string(), "delivery 1 waits for no settlement");

    assert!(grpc.reads(stream) && !rest.reads(stream));
    assert_eq!((grpc.gauges().streams, rest.gauges().calls), (1, 1));
}

#[test]
fn what_comes_late_is_no_misuse() {
    let (mut grpc, now) = start(options());
    let stream = opened(&mut grpc, now);
    for _ in 0..2 {
        let end = StreamEnd::Done;
        let ended = SubscribeInput::Ended { stream, end };
        assert_eq!(grpc.handle(now, ended), Ok(()));
    }
    let answer = StreamAnswer::default();
    let streamed = SubscribeInput::Streamed { stream, answer };
    assert_eq!(grpc.handle(now, streamed), Ok(()));
    assert!(!grpc.reads(stream));

    let (mut rest, now) = start(options().wire(Wire::Rest));
    let call = pulled(&mut rest, now);
    for _ in 0..2 {
        let result = Ok(Vec::new());
        assert_eq!(
            rest.handle(now, SubscribeInput::Pulled { call, result }),
            Ok(())
        );
    }
    let result = Ok(());
    assert_eq!(
        rest.handle(now, SubscribeInput::Answered { call, result }),
        Ok(())
    );
}

#[test]
fn time_does_not_go_back() {
    let (mut machine, now) = start(options());
    let stream = opened(&mut machine, now + secs(10));
    let Step::Wait(Some(due), SubscribeWait::Stream) = machine.poll(now) else {
        panic!("nothing is due");
    };
    assert_eq!(due, now + secs(40));
    let Step::Do(SubscribeOutput::Ping(pinged)) = machine.poll(due) else {
        panic!("a ping is due");
    };
    assert_eq!(pinged, stream);
}

#[test]
fn once_closed_it_stays_so_whatever_comes() {
    let (mut machine, now) = start(options().wire(Wire::Rest));
    let call = pulled(&mut machine, now);
    let deadline = Some(now);
    machine
        .handle(now, SubscribeInput::Close { deadline })
        .unwrap();
    let Step::Do(SubscribeOutput::Cancel(cancelled)) = machine.poll(now) else {
        panic!("the pull is to be cancelled");
    };
    assert_eq!(cancelled, call);
    for after in 0..100 {
        let now = now + secs(after);
        let Step::Wait(None, SubscribeWait::Closed) = machine.poll(now) else {
            panic!("it is closed");
        };
        let message = crate::sim::message(&format!("late{after}"));
        let result = Ok(vec![message]);
        machine
            .handle(now, SubscribeInput::Pulled { call, result })
            .unwrap();
        let deadline = None;
        machine
            .handle(now, SubscribeInput::Close { deadline })
            .unwrap();
        assert!(machine.is_closed());
        assert_eq!(machine.gauges(), Default::default());
    }
}

#[test]
fn messages_without_an_id_are_like_no_other() {
    let (mut machine, now) = start(options());
    let stream = opened(&mut machine, now);
    let mut answer = StreamAnswer::default();
    answer.messages = vec![crate::sim::message(""), crate::sim::message("")];
    machine
        .handle(now, SubscribeInput::Streamed { stream, answer })
        .unwrap();
    assert_eq!(
        (machine.gauges().outstanding, machine.gauges().redelivered),
        (2, 0)
    );
}
