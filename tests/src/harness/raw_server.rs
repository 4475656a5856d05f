//! A server that knows no HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

/// Answers the first connection with these bytes, then says nothing more.
pub(crate) fn raw_server(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let answer = answer.into();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 16_384];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(&answer);
        // Until the client hangs up.
        while stream.read(&mut request).is_ok_and(|read| read > 0) {}
    });
    addr
}
