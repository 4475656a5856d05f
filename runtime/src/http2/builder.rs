//! How a client is made.

use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};

use super::{Client, Connector, tls};

/// How long an idle connection is kept: below the minutes after which servers and what is in
/// between close theirs, above the pauses of a client that polls.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// One that is just made has to be found.
const IDLE_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// 1,600 streams.
const CONNECTIONS: usize = 16;

/// Settings of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientBuilder<C> {
    connector: C,
    tls: Option<ClientConfig>,
    idle_timeout: Duration,
    connections: usize,
}

impl<C: Connector> ClientBuilder<C> {
    pub(super) fn new(connector: C) -> Self {
        Self {
            connector,
            tls: None,
            idle_timeout: IDLE_TIMEOUT,
            connections: CONNECTIONS,
        }
    }

    /// Connects by `connector`.
    #[must_use]
    pub fn connector(mut self, connector: C) -> Self {
        self.connector = connector;
        self
    }

    /// Trusts the servers that `roots` vouch for, and no others. Default: Mozilla's roots.
    #[must_use]
    pub fn roots(self, roots: RootCertStore) -> Self {
        self.tls(tls::trusting(roots))
    }

    /// A TLS configuration of your own, with client certificates for instance. Its protocols (ALPN)
    /// are replaced by `h2`.
    #[must_use]
    pub fn tls(mut self, tls: ClientConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// How long a connection is kept that nothing is on, to twice that. Default 60 s, at least 1 s;
    /// keep it below the limits of the server and of what is in between.
    #[must_use]
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout.max(IDLE_TIMEOUT_MIN);
        self
    }

    /// The most connections to one server, each for at most 100 calls and streams at once. What
    /// finds no room waits for it, within its time to connect. Default 16, at least 1.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// The client.
    #[must_use]
    pub fn build(self) -> Client<C> {
        let tls = tls::for_http2(self.tls.unwrap_or_else(tls::mozilla));
        Client::from_parts(self.connector, tls, self.idle_timeout, self.connections)
    }
}
