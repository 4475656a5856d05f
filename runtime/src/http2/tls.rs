//! The TLS of a client.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// The protocol's name in TLS.
pub(super) const HTTP2: &[u8] = b"h2";

/// A configuration that trusts `roots`.
pub(super) fn trusting(roots: RootCertStore) -> ClientConfig {
    // Named, since another crate of the program may bring a second provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A configuration that trusts Mozilla's roots.
pub(super) fn mozilla() -> ClientConfig {
    trusting(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect())
}

/// The same for HTTP/2 only.
pub(super) fn for_http2(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Arc::new(config)
}
