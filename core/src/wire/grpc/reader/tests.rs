use proptest::prelude::*;

use super::super::write_frame;
use super::*;

fn frames(messages: &[&[u8]]) -> Bytes {
    let mut out = BytesMut::new();
    for message in messages {
        write_frame(&mut out, |out| out.extend_from_slice(message)).unwrap();
    }
    out.freeze()
}

/// All messages of the chunks, and the state afterwards.
fn read(max: usize, chunks: impl IntoIterator<Item = Bytes>) -> (Vec<Bytes>, FrameReader) {
    let mut reader = FrameReader::new(max);
    let mut messages = Vec::new();
    for mut chunk in chunks {
        while let Some(message) = reader.next_message(&mut chunk).unwrap() {
            messages.push(message);
        }
        assert!(chunk.is_empty());
    }
    (messages, reader)
}

fn is_within(message: &Bytes, chunk: &Bytes) -> bool {
    let (message, chunk) = (message.as_ptr_range(), chunk.as_ptr_range());
    chunk.start <= message.start && message.end <= chunk.end
}

#[test]
fn split_at_every_byte_messages_come_out_whole() {
    let messages: [&[u8]; 5] = [b"", b"one", b"", b"four and more", b"5"];
    let whole = frames(&messages);
    for first in 0..=whole.len() {
        for second in first..=whole.len() {
            let chunks = [0..first, first..second, second..whole.len()];
            let chunks = chunks.map(|range| whole.slice(range));
            let (read, reader) = read(100, chunks);
            assert_eq!(read, messages, "{first}, {second}");
            reader.end().unwrap();
        }
    }
    let bytes = (0..whole.len()).map(|at| whole.slice(at..=at));
    assert_eq!(read(100, bytes).0, messages);
}

#[test]
fn a_message_within_one_chunk_is_a_slice_of_it() {
    let whole = frames(&[b"first", b"second"]);
    for message in read(100, [whole.clone()]).0 {
        assert!(is_within(&message, &whole));
    }
    // Its prefix may lie before.
    let (head, rest) = (whole.slice(..3), whole.slice(3..));
    for message in read(100, [head, rest.clone()]).0 {
        assert!(is_within(&message, &rest));
    }
    // Only the one that spans chunks is copied.
    let (head, rest) = (whole.slice(..7), whole.slice(7..));
    let (messages, _) = read(100, [head, rest.clone()]);
    assert_eq!(messages, [&b"first"[..], b"second"]);
    assert!(!is_within(&messages[0], &whole));
    assert!(is_within(&messages[1], &rest));
}

#[test]
fn the_limit_is_the_last_size_that_passes() {
    let mut whole = frames(&[&[7; 10]]);
    assert_eq!(read(10, [whole.clone()]).0.len(), 1);
    let mut reader = FrameReader::new(9);
    let too_large = FrameError::TooLarge { size: 10, max: 9 };
    assert_eq!(reader.next_message(&mut whole), Err(too_large));
    assert_eq!(
        too_large.to_string(),
        "a gRPC message of 10 bytes is over the limit of 9"
    );
}

#[test]
fn what_is_no_frame_stays_refused() {
    for (bytes, error) in [
        (&b"\x01\0\0\0\0"[..], FrameError::Compressed),
        (b"<html>", FrameError::NoFrame(b'<')),
        (
            b"\0\xFF\xFF\xFF\xFF",
            FrameError::TooLarge {
                size: 0xFFFF_FFFF,
                max: MESSAGE_MAX_BYTES,
            },
        ),
    ] {
        let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
        assert_eq!(
            reader.next_message(&mut Bytes::from_static(bytes)),
            Err(error)
        );
        assert_eq!(reader.next_message(&mut frames(&[b"good"])), Err(error));
        assert_eq!(reader.end(), Err(error));
    }
}

#[test]
fn an_end_inside_a_frame_is_told() {
    let whole = frames(&[b"first", b"second"]);
    for at in 0..=whole.len() {
        let (_, reader) = read(100, [whole.slice(..at)]);
        let between = [0, 10, whole.len()].contains(&at);
        assert_eq!(reader.end().is_ok(), between, "{at}");
    }
}

#[test]
fn a_prefix_that_promises_much_takes_no_memory() {
    let mut reader = FrameReader::new(usize::MAX);
    let mut chunk = Bytes::from_static(b"\0\xFF\xFF\xFF\xFFx");
    assert_eq!(reader.next_message(&mut chunk), Ok(None));
    assert!(reader.message.capacity() < 1_024);
    // Nor is there ever room for more than the message.
    let message = vec![7; 100_000];
    let (messages, _) = read(
        100_000,
        frames(&[&message])
            .chunks(9_999)
            .map(Bytes::copy_from_slice),
    );
    let room = messages[0]
        .clone()
        .try_into_mut()
        .map_or(0, |room| room.capacity());
    assert!(room <= 100_000, "{room}");
}

#[test]
fn bytes_are_not_shown() {
    let (_, reader) = read(100, [frames(&[b"secret"]).slice(..9)]);
    let shown = format!("{reader:?}");
    assert!(
        shown.contains("held: 9") && !shown.contains("sec"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn any_chunks_give_the_same_messages(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let messages: Vec<_> = messages.iter().map(Vec::as_slice).collect();
        let whole = frames(&messages);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let chunks: Vec<_> = cuts.windows(2).map(|cut| whole.slice(cut[0]..cut[1])).collect();
        let (read, reader) = read(300, chunks);
        prop_assert_eq!(read, messages);
        prop_assert_eq!(reader.end(), Ok(()));
    }
}
