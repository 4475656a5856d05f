//! Who takes part.

/// A client, or a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    name: &'static str,
    title: &'static str,
    /// The floor of its wire.
    floor: &'static str,
    ours: bool,
}

impl Client {
    /// All of them, as they stand in the tables.
    pub(crate) const ALL: [Self; 20] = [
        Self::new(FLOOR_REST, "floor, REST", FLOOR_REST, true),
        Self::new("floor-hyper", "the same over hyper", FLOOR_REST, true),
        Self::new(FLOOR_GRPC, "floor, gRPC", FLOOR_GRPC, true),
        Self::new("tokio", "pubsink, tokio, REST", FLOOR_REST, true),
        Self::new("smol", "pubsink, smol, REST", FLOOR_REST, true),
        Self::new(
            "tokio-small",
            "pubsink, tokio, REST, requests of 500 kB",
            FLOOR_REST,
            true,
        ),
        Self::new("tokio-grpc", "pubsink, tokio, gRPC", FLOOR_GRPC, true),
        Self::new("smol-grpc", "pubsink, smol, gRPC", FLOOR_GRPC, true),
        Self::new(
            "tokio-vectors",
            "pubsink, tokio, REST, vectors",
            FLOOR_REST,
            true,
        ),
        Self::new(
            "tokio-vectors-small",
            "pubsink, tokio, REST, vectors, requests of 500 kB",
            FLOOR_REST,
            true,
        ),
        Self::new(
            "tokio-vectors-grpc",
            "pubsink, tokio, gRPC, vectors",
            FLOOR_GRPC,
            true,
        ),
        Self::new(
            "tokio-hook",
            "pubsink, tokio, REST, hooks",
            FLOOR_REST,
            true,
        ),
        Self::new(FLOOR_PULL, "floor, StreamingPull", FLOOR_PULL, true),
        Self::new(
            "tokio-pull",
            "pubsink, tokio, StreamingPull",
            FLOOR_PULL,
            true,
        ),
        Self::new(
            "smol-pull",
            "pubsink, smol, StreamingPull",
            FLOOR_PULL,
            true,
        ),
        Self::new(GOOGLE, "google-cloud-pubsub 1.7, gRPC", FLOOR_GRPC, false),
        Self::new(
            GOOGLE_PULL,
            "google-cloud-pubsub 1.7, StreamingPull",
            FLOOR_PULL,
            false,
        ),
        Self::new("gcloud", "gcloud-pubsub 1.8, gRPC", FLOOR_GRPC, false),
        Self::new(
            "gcloud-vectors",
            "gcloud-pubsub 1.8, ready-made vectors, gRPC",
            FLOOR_GRPC,
            false,
        ),
        Self::new(
            "pub-sub-client",
            "pub-sub-client 0.13, REST",
            FLOOR_REST,
            false,
        ),
    ];

    const fn new(name: &'static str, title: &'static str, floor: &'static str, ours: bool) -> Self {
        Self {
            name,
            title,
            floor,
            ours,
        }
    }

    /// Its name as a flag.
    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// Its name in a table.
    pub(crate) fn title(self) -> &'static str {
        self.title
    }

    /// The name of its wire's floor.
    pub(crate) fn floor(self) -> &'static str {
        self.floor
    }

    /// The name of the other client that does the same, which it is compared with.
    pub(crate) fn reference(self) -> &'static str {
        match self.floor {
            FLOOR_PULL => GOOGLE_PULL,
            _ => GOOGLE,
        }
    }

    /// Whether it is in this workspace.
    pub(crate) fn is_ours(self) -> bool {
        self.ours
    }
}

const FLOOR_REST: &str = "floor-rest";
const FLOOR_GRPC: &str = "floor-grpc";
const FLOOR_PULL: &str = "floor-pull";
const GOOGLE: &str = "google";
const GOOGLE_PULL: &str = "google-pull";
