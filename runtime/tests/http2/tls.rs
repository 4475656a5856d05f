//! TLS: who vouches for a server, and what it speaks.

use std::sync::Arc;

use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::http2::rustls::pki_types::PrivateKeyDer;
use pubsink_runtime::http2::rustls::{RootCertStore, ServerConfig, crypto};
use pubsink_runtime::http2::{Client, Connector};
use tokio_rustls::TlsAcceptor;

use super::server::Server;
use super::support::{assert_is, call};

/// A server that vouches for itself, and those who trust it.
fn server(protocols: &[&str]) -> (Server, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let server = Server::builder()
        .tls(TlsAcceptor::from(Arc::new(config)))
        .start(|mut call| async move { call.answer("secret") });
    (server, roots)
}

fn trusting<C: Connector + Default>(roots: RootCertStore) -> Client<C> {
    Client::builder().roots(roots).build()
}

pub(crate) async fn http2_over_tls<C: Connector + Default>() {
    let (server, roots) = server(&["http/1.1", "h2"]);
    let client = trusting::<C>(roots);
    for _ in 0..3 {
        assert_eq!(call(&client, &server, "/").await.unwrap().body, "secret");
    }
    assert_eq!(server.connections(), 1);
}

pub(crate) async fn a_certificate_that_nobody_vouches_for<C: Connector + Default>() {
    let (server, _) = server(&["h2"]);
    let error = call(&Client::<C>::new(), &server, "/").await.unwrap_err();
    assert_is(&error, TransportKind::Connect, "UnknownIssuer");
    assert!(error.detail.contains(&server.authority()), "{error}");
}

pub(crate) async fn a_server_without_alpn<C: Connector + Default>() {
    let (server, roots) = server(&[]);
    let error = call(&trusting::<C>(roots), &server, "/").await.unwrap_err();
    assert_is(&error, TransportKind::Connect, "does not speak HTTP/2");
}

pub(crate) async fn a_server_that_chooses_another_protocol<C: Connector + Default>() {
    let (server, roots) = server(&["http/1.1"]);
    let error = call(&trusting::<C>(roots), &server, "/").await.unwrap_err();
    assert_is(&error, TransportKind::Connect, "NoApplicationProtocol");
}
