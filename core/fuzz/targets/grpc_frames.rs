//! However the bytes of a stream are cut, the same messages come of them, and the same end.

use bytes::Bytes;
use pubsink_core::wire::grpc::{FrameError, FrameReader};

pub(crate) fn run(data: &[u8]) {
    let [max, step, rest @ ..] = data else {
        return;
    };
    let max = usize::from(*max);
    let whole = Bytes::copy_from_slice(rest);
    let (messages, end) = read(max, &whole, whole.len().max(1));
    assert_eq!(
        read(max, &whole, usize::from(*step).max(1)),
        (messages.clone(), end)
    );
    for message in &messages {
        assert!(message.len() <= max);
        // Of one chunk, each is a slice of it.
        let (whole, message) = (whole.as_ptr_range(), message.as_ptr_range());
        assert!(whole.start <= message.start && message.end <= whole.end);
    }
    if end.is_ok() {
        let frames = messages.iter().map(|message| message.len() + 5);
        assert_eq!(frames.sum::<usize>(), whole.len());
    }
}

fn read(max: usize, whole: &Bytes, step: usize) -> (Vec<Bytes>, Result<(), FrameError>) {
    let mut reader = FrameReader::new(max);
    let mut messages = Vec::new();
    for at in (0..whole.len()).step_by(step) {
        let mut chunk = whole.slice(at..whole.len().min(at + step));
        loop {
            match reader.next_message(&mut chunk) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
        assert!(chunk.is_empty());
    }
    let end = reader.end();
    (messages, end)
}
