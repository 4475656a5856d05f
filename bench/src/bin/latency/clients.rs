//! Who takes part: on each runtime and wire the bare client, the same as a transport, and all of
//! pubsink over it.

use clap::ValueEnum;
use pubsink_core::options::Wire;

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) runtime: RuntimeName,
    pub(crate) wire: Wire,
    pub(crate) layer: Layer,
    /// Its name in the table.
    pub(crate) title: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeName {
    Tokio,
    Smol,
}

impl RuntimeName {
    /// Its name as an argument.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tokio => "tokio",
            Self::Smol => "smol",
        }
    }
}

/// How much of pubsink there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// None: the HTTP client sends requests that were encoded before.
    Bare,
    /// Its transport sends them: a pool and timeouts.
    Transport,
    /// All: checked, queued, encoded, sent, and its reply read.
    Publisher,
}

impl Client {
    /// All of them, as they stand in the table: behind a bare client what is compared with it.
    pub(crate) const ALL: [Self; 12] = {
        use Layer::{Bare, Publisher, Transport};
        use RuntimeName::{Smol, Tokio};
        use Wire::{Grpc, Rest};
        [
            Self::new(Tokio, Rest, Bare, "hyper, a connection a caller"),
            Self::new(Tokio, Rest, Transport, "its transport (hyper, pooled)"),
            Self::new(Tokio, Rest, Publisher, "pubsink, tokio, REST"),
            Self::new(Tokio, Grpc, Bare, "h2 on tokio"),
            Self::new(Tokio, Grpc, Transport, "its transport (h2, pooled)"),
            Self::new(Tokio, Grpc, Publisher, "pubsink, tokio, gRPC"),
            Self::new(Smol, Rest, Bare, "isahc"),
            Self::new(Smol, Rest, Transport, "its transport (isahc)"),
            Self::new(Smol, Rest, Publisher, "pubsink, smol, REST"),
            Self::new(Smol, Grpc, Bare, "h2 on smol"),
            Self::new(Smol, Grpc, Transport, "its transport (h2, pooled)"),
            Self::new(Smol, Grpc, Publisher, "pubsink, smol, gRPC"),
        ]
    };

    const fn new(runtime: RuntimeName, wire: Wire, layer: Layer, title: &'static str) -> Self {
        Self {
            runtime,
            wire,
            layer,
            title,
        }
    }

    /// Its name as an argument.
    pub(crate) fn name(self) -> String {
        let runtime = self.runtime.name();
        let wire = match self.wire {
            Wire::Rest => "rest",
            Wire::Grpc => "grpc",
        };
        let layer = match self.layer {
            Layer::Bare => "bare",
            Layer::Transport => "transport",
            Layer::Publisher => "publisher",
        };
        format!("{runtime}-{wire}-{layer}")
    }

    /// The client with that name.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|client| client.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there are {names}")
        })
    }

    /// Whether it is the bare client of the same runtime and wire.
    pub(crate) fn is_floor_of(self, other: Self) -> bool {
        self.layer == Layer::Bare && (self.runtime, self.wire) == (other.runtime, other.wire)
    }
}
