//! Messages whose data begins with their tag.

use std::sync::Arc;

use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Input, Message, Output, PublishRequest, Publisher, Step};
use pubsink_core::token::Token;

/// A message of its tag alone.
pub(crate) fn message(tag: u64) -> Message {
    Message::new(tag.to_string())
}

/// A message of `size` bytes of data.
pub(crate) fn sized(tag: u64, size: usize) -> Message {
    let mut data = format!("{tag} ").into_bytes();
    assert!(data.len() <= size);
    data.resize(size, b'.');
    Message::new(data)
}

pub(crate) fn keyed(tag: u64, key: &str) -> Message {
    Message {
        ordering_key: key.to_owned(),
        ..message(tag)
    }
}

pub(crate) fn of_tenant(tag: u64, tenant: &str) -> Message {
    Message {
        tenant: Some(tenant.to_owned()),
        ..message(tag)
    }
}

/// A message that is sent in a request of its own.
pub(crate) fn direct(message: Message) -> Admission {
    let options = PublisherOptions::builder("proj", "hooks").batch(false);
    Admission::message(message, &options.build().unwrap()).unwrap()
}

/// A request of one message, authorized with `token`.
pub(crate) fn authorized_request(token: &str) -> PublishRequest {
    let options = super::defaults();
    let mut machine = Publisher::new(options.clone(), true, 1);
    let admission = Admission::message(message(1), &options).unwrap();
    let now = super::origin();
    machine
        .handle(now, Input::Admit { tag: 1, admission })
        .unwrap();
    machine.handle(now, Input::Flush { tag: 2 }).unwrap();
    let Step::Do(Output::Authorize { request, .. }) = machine.poll(now) else {
        panic!("it asks for no token");
    };
    let token = Ok(Token::new(token).unwrap());
    machine
        .handle(now, Input::Token { request, token })
        .unwrap();
    match machine.poll(now) {
        Step::Do(Output::Send(request)) => request,
        other => panic!("{other:?}"),
    }
}

/// The one request these messages leave in.
pub(crate) fn request_of(
    options: &Arc<PublisherOptions>,
    messages: impl IntoIterator<Item = Admission>,
) -> PublishRequest {
    let mut machine = Publisher::new(Arc::clone(options), false, 1);
    let now = super::origin();
    for (tag, admission) in (1..).zip(messages) {
        machine
            .handle(now, Input::Admit { tag, admission })
            .unwrap();
    }
    machine
        .handle(now, Input::Close { deadline: None })
        .unwrap();
    let Step::Do(Output::Send(request)) = machine.poll(now) else {
        panic!("nothing is sent");
    };
    assert!(
        matches!(machine.poll(now), Step::Wait(..)),
        "there are several requests"
    );
    request
}
