//! Pieces of subscribing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use pubsink_core::failure::MessageId;
use pubsink_core::publish::Step;
use pubsink_core::subscribe::{
    AckId, ReceivedMessage, Settlement, StreamAnswer, StreamId, SubscribeInput, SubscribeOutput,
    Subscriber, SubscriberOptions,
};
use pubsink_core::wire::grpc::{FrameReader, MESSAGE_MAX_BYTES};
use pubsink_core::wire::subscribe::grpc::read_stream_message;

use crate::Error;
use crate::load::{ATTRIBUTES, Load};
use crate::protobuf::field;

/// How many messages one response of a stream has.
pub const MESSAGES: usize = 100;

/// A subscriber machine with an open stream.
#[derive(Debug)]
pub struct Bench {
    machine: Subscriber,
    stream: StreamId,
    now: Instant,
    serial: u64,
}

impl Bench {
    /// A machine whose stream is open.
    ///
    /// # Errors
    ///
    /// The options are wrong, or no stream is opened.
    pub fn new() -> Result<Self, Error> {
        let options = SubscriberOptions::builder("p", "hooks")
            .handlers(MESSAGES)
            .build()?;
        let now = Instant::now();
        let mut machine = Subscriber::new(Arc::new(options), now, 1);
        loop {
            match machine.poll(now) {
                Step::Do(SubscribeOutput::OpenStream { stream, .. }) => {
                    return Ok(Self {
                        machine,
                        stream,
                        now,
                        serial: 0,
                    });
                }
                Step::Do(_) => {}
                Step::Wait(..) => return Err("no stream is opened".into()),
            }
        }
    }

    /// A response with messages that were not seen before. Their ids are slices of one buffer, as
    /// those of a stream are.
    pub fn response(&mut self) -> StreamAnswer {
        let mut answer = StreamAnswer::default();
        let mut ids = BytesMut::with_capacity(MESSAGES * ACK_ID_BYTES);
        for _ in 0..MESSAGES {
            self.serial += 1;
            ids.put_bytes(b'a', ACK_ID_BYTES - ID_BYTES);
            ids.put_slice(&id_digits(8_140_743_286_000_000 + self.serial));
        }
        let mut ids = ids.freeze();
        answer.messages.extend((0..MESSAGES).filter_map(|_| {
            let ack_id = ids.split_to(ACK_ID_BYTES);
            let id = ack_id.slice(ACK_ID_BYTES - ID_BYTES..);
            let (ack_id, id) = (AckId::from_utf8(ack_id)?, MessageId::from_utf8(id)?);
            let data = Bytes::from_static(b"data");
            Some(ReceivedMessage::new(ack_id, id, data))
        }));
        answer
    }

    /// Takes a response: every message is handled, acked and confirmed.
    ///
    /// # Errors
    ///
    /// The machine refuses an input, or a message is not settled.
    pub fn cycle(&mut self, answer: StreamAnswer) -> Result<(), Error> {
        let stream = self.stream;
        self.handle(SubscribeInput::Streamed { stream, answer })?;
        let mut settled = self.drain()?;
        // Past the linger of acks.
        self.now += Duration::from_millis(150);
        settled += self.drain()?;
        if settled != MESSAGES {
            return Err(format!("{settled} of {MESSAGES} messages were settled").into());
        }
        Ok(())
    }

    /// Does what the machine says until it waits; how many deliveries were settled.
    fn drain(&mut self) -> Result<usize, Error> {
        let mut settled = 0;
        loop {
            match self.machine.poll(self.now) {
                Step::Do(SubscribeOutput::Deliver { delivery, .. }) => {
                    self.handle(SubscribeInput::Settle {
                        delivery,
                        settlement: Settlement::Ack,
                    })?;
                }
                Step::Do(
                    SubscribeOutput::Acknowledge { call, .. }
                    | SubscribeOutput::ModifyDeadline { call, .. },
                ) => self.handle(SubscribeInput::Answered {
                    call,
                    result: Ok(()),
                })?,
                Step::Do(SubscribeOutput::Settled { result, .. }) => {
                    result?;
                    settled += 1;
                }
                Step::Do(_) => {}
                Step::Wait(..) => return Ok(settled),
            }
        }
    }

    fn handle(&mut self, input: SubscribeInput) -> Result<(), Error> {
        Ok(self.machine.handle(self.now, input)?)
    }
}

/// The bytes of one response of a stream, in chunks as HTTP/2 brings them.
#[must_use]
pub fn frames(size: usize) -> Vec<Bytes> {
    const CHUNK: usize = 16_384;
    let mut frame = response_frame(&Load::new(MESSAGES, size)).freeze();
    let mut chunks = Vec::new();
    while !frame.is_empty() {
        chunks.push(frame.split_to(CHUNK.min(frame.len())));
    }
    chunks
}

/// Reads such chunks; how many messages there are.
///
/// # Errors
///
/// They are not what was written.
pub fn read_frames(chunks: &[Bytes]) -> Result<usize, Error> {
    let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
    let mut messages = 0;
    for chunk in chunks {
        let mut chunk = chunk.clone();
        while let Some(message) = reader.next_message(&mut chunk)? {
            let streamed =
                read_stream_message(message).map_err(|failure| format!("{failure:?}"))?;
            messages += streamed.answer.messages.len();
        }
    }
    Ok(messages)
}

/// A response of a stream with a message for each body, framed. The ack ids are 176 letters, as long
/// as Pub/Sub's are, and all the same.
#[must_use]
pub fn response_frame(load: &Load) -> BytesMut {
    let mut frame = BytesMut::new();
    frame.put_bytes(0, 5);
    for number in 0..load.messages {
        let mut message = BytesMut::new();
        field(&mut message, 0x0A, load.body(number));
        for (name, value) in ATTRIBUTES {
            let mut attribute = BytesMut::new();
            field(&mut attribute, 0x0A, name.as_bytes());
            field(&mut attribute, 0x12, value.as_bytes());
            field(&mut message, 0x12, &attribute);
        }
        field(
            &mut message,
            0x1A,
            &id_digits(8_140_743_286_000_000 + number as u64),
        );
        // The publish time: its seconds.
        field(&mut message, 0x22, &[0x08, 0x80, 0xBC, 0xB4, 0xC9, 0x06]);
        let mut received = BytesMut::new();
        field(&mut received, 0x0A, &[b'a'; ACK_ID_BYTES]);
        field(&mut received, 0x12, &message);
        field(&mut frame, 0x0A, &received);
    }
    let length = u32::try_from(frame.len() - 5).unwrap_or(u32::MAX);
    frame[1..5].copy_from_slice(&length.to_be_bytes());
    frame
}

/// How long the ack ids of such a response are.
pub const ACK_ID_BYTES: usize = 176;
/// How long the ids of its messages are.
pub const ID_BYTES: usize = 16;

/// A number as the digits of a message's id.
#[must_use]
pub fn id_digits(mut number: u64) -> [u8; ID_BYTES] {
    let mut digits = [b'0'; ID_BYTES];
    for digit in digits.iter_mut().rev() {
        let [low, ..] = (number % 10).to_le_bytes();
        *digit += low;
        number /= 10;
    }
    digits
}
