//! Any message of a stream is read or refused, the same way each time; ack ids and data are slices
//! of it.

use bytes::Bytes;
use pubsink_core::subscribe::{Confirmations, IdFailure};
use pubsink_core::wire::subscribe::grpc::read_stream_message;

pub(crate) fn run(data: &[u8]) {
    let message = Bytes::copy_from_slice(data);
    let result = read_stream_message(message.clone());
    assert_eq!(result, read_stream_message(message.clone()));
    let Ok(streamed) = result else {
        return;
    };
    let within = |bytes: &[u8]| {
        let (message, bytes) = (message.as_ptr_range(), bytes.as_ptr_range());
        let inside = message.start <= bytes.start && bytes.end <= message.end;
        assert!(inside || bytes.is_empty());
    };
    let mut read = 0;
    for message in &streamed.answer.messages {
        assert!(!message.ack_id.as_str().is_empty());
        assert!(!message.message_id.as_str().is_empty());
        assert_ne!(message.delivery_attempt, Some(0));
        within(message.ack_id.as_str().as_bytes());
        within(&message.data);
        read += message.bytes();
    }
    assert!(read <= data.len());
    confirmed(&streamed.answer.acks);
    confirmed(&streamed.answer.deadlines);
    for unreadable in &streamed.unreadable {
        assert!(!unreadable.problem.to_string().is_empty());
    }
}

fn confirmed(confirmations: &Confirmations) {
    for (_, failure) in &confirmations.failed {
        let (IdFailure::Permanent(word) | IdFailure::Transient(word)) = failure else {
            panic!("a failure this target does not know");
        };
        assert!(!word.is_empty());
    }
}
