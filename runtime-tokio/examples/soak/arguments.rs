//! What is asked for.

use std::fmt;

use pubsink_tokio::core::subscribe::Wire;

/// A message's number, in bytes.
pub(crate) const NUMBER: usize = size_of::<u64>();

pub(crate) struct Arguments {
    pub(crate) seconds: u64,
    pub(crate) mode: Mode,
    pub(crate) wire: Wire,
    /// The data of a message, in bytes: its number at least.
    pub(crate) size: usize,
    pub(crate) address: Option<String>,
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, String> {
        let mut asked = Self {
            seconds: 60,
            mode: Mode::Consume,
            wire: Wire::Grpc,
            size: 1_024,
            address: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(name) = words.next() {
            let value = words.next().unwrap_or_default();
            let wrong = || format!("{name} {value}: see the head of the example");
            match (name.as_str(), value.as_str()) {
                ("--seconds", number) => asked.seconds = number.parse().map_err(|_| wrong())?,
                ("--size", number) => asked.size = number.parse().map_err(|_| wrong())?,
                ("--address", address) => asked.address = Some(address.to_owned()),
                ("--mode", "consume") => asked.mode = Mode::Consume,
                ("--mode", "answer") => asked.mode = Mode::Answer,
                ("--wire", "grpc") => asked.wire = Wire::Grpc,
                ("--wire", "rest") => asked.wire = Wire::Rest,
                _ => return Err(wrong()),
            }
        }
        asked.size = asked.size.max(NUMBER);
        Ok(asked)
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            mode, wire, size, ..
        } = self;
        write!(f, "{mode:?} {wire:?} {size} B")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Consume,
    Answer,
}
