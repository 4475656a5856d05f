//! Messages whose data begins with their tag.

use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::{Admission, Message};

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
