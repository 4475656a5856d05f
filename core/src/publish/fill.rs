//! How full a batch is, by each of its limits.

use crate::limits::{REQUEST_MAX_BODY_BYTES, REQUEST_MAX_PROTOBUF_BYTES};
use crate::options::{PublisherOptions, Wire};
use crate::wire::size::{Sizes, body_len, protobuf_len};

/// What one request may hold.
#[derive(Debug, Clone)]
pub(super) struct BatchLimits {
    entries: usize,
    data: usize,
    /// Of the body as JSON; over gRPC there is none.
    body: usize,
    /// Of the messages' protobuf, beside the topic's name.
    protobuf: usize,
}

impl BatchLimits {
    pub(super) fn batched(options: &PublisherOptions) -> Self {
        Self {
            entries: options.batch_max_entries(),
            data: options.batch_max_bytes(),
            body: match options.wire() {
                Wire::Rest => REQUEST_MAX_BODY_BYTES,
                Wire::Grpc => usize::MAX,
            },
            protobuf: REQUEST_MAX_PROTOBUF_BYTES - protobuf_len(options.topic_name(), 0),
        }
    }

    /// How many of `messages` may be in one request.
    pub(super) fn room(&self, messages: usize) -> usize {
        self.entries.min(messages)
    }

    /// One message a request.
    pub(super) fn direct(options: &PublisherOptions) -> Self {
        Self {
            entries: 1,
            ..Self::batched(options)
        }
    }
}

/// The sizes of some messages, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fill {
    entries: usize,
    data: usize,
    json: usize,
    protobuf: usize,
}

impl Fill {
    pub(super) fn add(&mut self, sizes: &Sizes) {
        self.entries += 1;
        self.data += sizes.data;
        self.json += sizes.json;
        self.protobuf += sizes.protobuf;
    }

    /// Takes off what is in `other`.
    pub(super) fn remove(&mut self, other: &Self) {
        self.entries -= other.entries;
        self.data -= other.data;
        self.json -= other.json;
        self.protobuf -= other.protobuf;
    }

    /// How many messages these are.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Adds one more message, unless it does not fit. The first always does: alone it was checked at
    /// admission.
    pub(super) fn add_if_it_takes(&mut self, sizes: &Sizes, limits: &BatchLimits) -> bool {
        let mut with = *self;
        with.add(sizes);
        let takes = self.entries == 0 || !with.is_over(limits);
        if takes {
            *self = with;
        }
        takes
    }

    /// Whether there is at least one full batch in these messages.
    pub(super) fn is_full(&self, limits: &BatchLimits) -> bool {
        self.entries >= limits.entries || self.data >= limits.data || self.is_over(limits)
    }

    fn is_over(&self, limits: &BatchLimits) -> bool {
        self.entries > limits.entries
            || self.data > limits.data
            || body_len(self.json) > limits.body
            || self.protobuf > limits.protobuf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(wire: Wire) -> BatchLimits {
        let options = PublisherOptions::builder("p", "hooks").wire(wire);
        BatchLimits::batched(&options.batch_max_entries(3).build().unwrap())
    }

    fn of(data: usize, json: usize, protobuf: usize) -> Sizes {
        Sizes {
            data,
            message: data,
            json,
            protobuf,
            plain: true,
        }
    }

    /// Fills with `sizes` until one does not fit; how many did.
    fn fitting(sizes: Sizes) -> usize {
        fitting_over(Wire::Rest, sizes)
    }

    fn fitting_over(wire: Wire, sizes: Sizes) -> usize {
        let (mut fill, limits) = (Fill::default(), limits(wire));
        let mut before = fill;
        while fill.add_if_it_takes(&sizes, &limits) {
            assert!(!before.is_full(&limits) || before.entries == 0);
            before = fill;
        }
        assert_eq!(fill, before);
        assert!({
            fill.add(&sizes);
            fill.is_full(&limits)
        });
        fill.entries - 1
    }

    #[test]
    fn each_limit_closes_a_batch() {
        assert_eq!(fitting(of(1, 10, 5)), 3, "entries");
        assert_eq!(fitting(of(3_750_000, 10, 5)), 2, "data, just full");
        assert_eq!(fitting(of(3_750_001, 10, 5)), 1, "data");
        assert_eq!(fitting(of(1, 5_000_000, 5)), 2, "body");
        assert_eq!(fitting(of(1, 5_242_880, 5)), 1, "body, punctuation counted");
        assert_eq!(fitting(of(1, 10, 5_000_000)), 1, "protobuf, topic counted");
    }

    #[test]
    fn over_grpc_no_json_is_counted() {
        let over = |sizes| fitting_over(Wire::Grpc, sizes);
        assert_eq!(over(of(1, 10_000_000, 5)), 3, "body");
        assert_eq!(over(of(1, 10, 5_000_000)), 1, "protobuf");
        assert_eq!(over(of(3_750_001, 10, 5)), 1, "data");
    }

    #[test]
    fn a_message_over_the_byte_limit_leaves_alone() {
        assert_eq!(fitting(of(7_600_000, 10_200_000, 7_600_100)), 1);
    }

    #[test]
    fn what_leaves_is_taken_off_by_every_measure() {
        let (one, other) = (of(1, 20, 300), of(4_000, 50_000, 600_000));
        let mut fill = Fill::default();
        fill.add(&one);
        let alone = fill;
        fill.add(&other);
        let mut left = Fill::default();
        left.add(&other);
        fill.remove(&left);
        assert_eq!(fill, alone);
        fill.remove(&alone);
        assert_eq!(fill, Fill::default());
    }
}
