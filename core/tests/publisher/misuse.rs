//! Inputs that do not fit are errors of their own, and change nothing.

use std::sync::Arc;

use pubsink_core::publish::{
    Admission, Input, Misuse, Output, PublishRequest, Publisher, RequestId, Response, Step,
};
use pubsink_core::token::Token;

use crate::sim::answers::ids;
use crate::sim::messages::message;
use crate::sim::{defaults, origin};

type Machine = Publisher<u64>;

/// A machine whose batch of `count` messages is about to leave.
fn machine(count: u64, authorize: bool) -> Machine {
    let options = defaults();
    let mut machine = Publisher::new(Arc::clone(&options), authorize, 1);
    for tag in 0..count {
        let admission = Admission::message(message(tag), &options).unwrap();
        machine
            .handle(origin(), Input::Admit { tag, admission })
            .unwrap();
    }
    machine.handle(origin(), Input::Flush { tag: 99 }).unwrap();
    machine
}

fn next(machine: &mut Machine) -> Output<u64> {
    match machine.poll(origin()) {
        Step::Do(output) => output,
        wait => panic!("{wait:?}"),
    }
}

fn sent(machine: &mut Machine) -> PublishRequest {
    match next(machine) {
        Output::Send(request) => request,
        other => panic!("{other:?}"),
    }
}

fn asked(machine: &mut Machine) -> RequestId {
    match next(machine) {
        Output::Authorize { request, .. } => request,
        other => panic!("{other:?}"),
    }
}

/// A reply with an id for each message.
fn answer(request: PublishRequest) -> Response {
    let names: Vec<_> = (0..request.len()).map(|n| n.to_string()).collect();
    let (_, sent) = request.encode();
    sent.answered(&ids(names.iter().map(String::as_str)))
}

fn handle(machine: &mut Machine, input: Input<u64>) -> Result<(), Misuse> {
    let held = machine.gauges();
    let result = machine.handle(origin(), input);
    if result.is_err() {
        assert_eq!(machine.gauges(), held, "a misuse changes nothing");
    }
    result
}

fn token(request: RequestId) -> Input<u64> {
    let token = Ok(Token::new("t").unwrap());
    Input::Token { request, token }
}

fn lost(request: RequestId) -> Input<u64> {
    let detail = "gone".into();
    Input::Lost { request, detail }
}

/// The machine is none the worse: its request is answered and settled.
fn assert_settles(mut machine: Machine, answer: Response, count: usize) {
    machine.handle(origin(), Input::Response(answer)).unwrap();
    for _ in 0..count {
        assert!(matches!(
            next(&mut machine),
            Output::Settled { outcome: Ok(_), .. }
        ));
    }
    assert!(matches!(next(&mut machine), Output::Flushed { tag: 99 }));
}

#[test]
fn a_request_that_was_never_handed_out_is_unknown() {
    let mut other = machine(1, false);
    let strange = sent(&mut other);
    let id = strange.id();
    let mut idle = machine(0, false);
    assert_eq!(
        handle(&mut idle, token(id)),
        Err(Misuse::UnknownRequest(id))
    );
    assert_eq!(handle(&mut idle, lost(id)), Err(Misuse::UnknownRequest(id)));
    let response = Input::Response(answer(strange));
    assert_eq!(handle(&mut idle, response), Err(Misuse::UnknownRequest(id)));
}

#[test]
fn a_token_for_a_request_that_was_sent_is_not_wanted() {
    let mut machine = machine(2, false);
    let request = sent(&mut machine);
    let id = request.id();
    assert_eq!(
        handle(&mut machine, token(id)),
        Err(Misuse::NoTokenWanted(id))
    );
    assert_settles(machine, answer(request), 2);
}

#[test]
fn a_second_token_is_not_wanted() {
    let mut machine = machine(2, true);
    let id = asked(&mut machine);
    handle(&mut machine, token(id)).unwrap();
    let request = sent(&mut machine);
    assert_eq!(
        handle(&mut machine, token(id)),
        Err(Misuse::NoTokenWanted(id))
    );
    assert_settles(machine, answer(request), 2);
}

#[test]
fn a_response_to_a_request_that_waits_for_its_token_was_not_sent() {
    let mut machine = machine(2, true);
    let id = asked(&mut machine);
    let mut twin = self::machine(2, false);
    let early = sent(&mut twin);
    assert_eq!(early.id(), id);
    let response = Input::Response(answer(early));
    assert_eq!(handle(&mut machine, response), Err(Misuse::NotSent(id)));
    handle(&mut machine, token(id)).unwrap();
    let request = sent(&mut machine);
    assert_settles(machine, answer(request), 2);
}

#[test]
fn a_response_to_another_machines_request_is_foreign() {
    let mut machine = machine(2, false);
    let request = sent(&mut machine);
    let id = request.id();
    let mut other = self::machine(3, false);
    let strange = sent(&mut other);
    assert_eq!(strange.id(), id);
    let response = Input::Response(answer(strange));
    assert_eq!(
        handle(&mut machine, response),
        Err(Misuse::ForeignResponse(id))
    );
    assert_settles(machine, answer(request), 2);
}

#[test]
fn what_comes_twice_is_too_late_and_no_misuse() {
    let mut machine = machine(1, false);
    let request = sent(&mut machine);
    let id = request.id();
    handle(&mut machine, lost(id)).unwrap();
    handle(&mut machine, lost(id)).unwrap();
    handle(&mut machine, token(id)).unwrap();
    handle(&mut machine, Input::Response(answer(request))).unwrap();
    assert!(matches!(
        next(&mut machine),
        Output::Settled {
            tag: 0,
            outcome: Err(_)
        }
    ));
    assert!(matches!(next(&mut machine), Output::Flushed { tag: 99 }));
    assert!(matches!(machine.poll(origin()), Step::Wait(None, _)));
}

#[test]
fn a_misuse_reads_well() {
    let mut machine = machine(1, false);
    let id = sent(&mut machine).id();
    let number = id.number();
    let text = Misuse::NoTokenWanted(id).to_string();
    assert_eq!(text, format!("request {number} waits for no token"));
}
