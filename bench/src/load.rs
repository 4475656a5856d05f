//! The messages that are published: the same for every client.

use bytes::Bytes;

/// The most messages that are not confirmed at a time.
pub const UNCONFIRMED_MAX: usize = 10_000;
/// The most bytes of their bodies.
pub const UNCONFIRMED_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The most messages of one request.
pub const BATCH_MAX: usize = 1_000;
/// The most bytes of bodies of one request.
pub const BATCH_MAX_BYTES: usize = 7_500_000;

/// Six attributes, 140 bytes of names and values, shaped like a hook's.
pub const ATTRIBUTES: [(&str, &str); 6] = [
    ("ankusa_id", "019ad465-4e4c-7650-a69e-0d37f2a74de4"),
    ("ankusa_source_id", "git"),
    ("ankusa_tenant_id", "acme"),
    ("ankusa_message_version", "1"),
    ("content_type", "application/json"),
    ("zone", "b"),
];

/// How many different bodies there are: enough that nothing can be cached by accident.
const BODIES: usize = 256;

/// So many messages of one size.
#[derive(Debug, Clone)]
pub struct Load {
    /// How many messages.
    pub messages: usize,
    /// How large each body is.
    pub size: usize,
    /// [`ATTRIBUTES`], as whoever publishes has them: not known before.
    pub attributes: Vec<(String, String)>,
    bodies: Vec<Bytes>,
}

impl Load {
    /// Random bodies; the same in every run.
    #[must_use]
    pub fn new(messages: usize, size: usize) -> Self {
        let mut random = vec![0; BODIES * size];
        fastrand::Rng::with_seed(1).fill(&mut random);
        let random = Bytes::from(random);
        let starts = (0..BODIES).map(|index| index * size);
        let bodies = starts.map(|start| random.slice(start..start + size));
        Self::of(messages, bodies.collect())
    }

    /// These bodies, in turn. As their size counts the largest.
    pub fn of(messages: usize, bodies: Vec<Bytes>) -> Self {
        let attributes = ATTRIBUTES.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            messages,
            size: bodies.iter().map(Bytes::len).max().unwrap_or_default(),
            attributes: attributes.into(),
            bodies,
        }
    }

    /// The body of a message, shared.
    #[must_use]
    pub fn body(&self, number: usize) -> &Bytes {
        &self.bodies[number % self.bodies.len()]
    }

    /// How many messages may be unconfirmed at a time.
    #[must_use]
    pub fn window(&self) -> usize {
        (UNCONFIRMED_MAX_BYTES / self.size.max(1)).clamp(1, UNCONFIRMED_MAX)
    }

    /// How many messages a full request has.
    #[must_use]
    pub fn batch(&self) -> usize {
        (BATCH_MAX_BYTES / self.size.max(1)).clamp(1, BATCH_MAX)
    }
}
