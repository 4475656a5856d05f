//! Bodies that are too large to travel: checked in when they are published, and handed out.

mod get;
mod publish;
mod serve;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use ankusa::{ClaimCheckClient, ClaimCheckError, ClientBuilder};
use bytes::Bytes;
use nix::sys::signal::Signal;
use pubsink_core::claim::ClaimRef;
use pubsink_core::message::{self, DecodedMessage};
use pubsink_fixtures::server::Server;

use super::support::{Done, Running, Scratch, TOPIC, pubsink};

/// Tokens of consumers, which no output may show.
const ACME: &str = "hunter2-acme-0123456789";
const OTHER: &str = "hunter2-other-0123456789";

/// A body of 3 MiB, no two parts of which are the same.
fn large() -> String {
    let mut body: String = (0..3 * 1024 * 1024 / 8)
        .map(|n| format!("{n:07} "))
        .collect();
    body.truncate(3 * 1024 * 1024);
    body
}

/// A hook with that body.
fn large_hook(id: &str) -> String {
    let body = large();
    format!(
        "{{\"id\":\"{id}\",\"tenant_id\":\"acme\",\"received_at\":1764500000332,\"body\":\"{body}\"}}\n"
    )
}

/// What was published, decoded.
fn published(server: &Server) -> Vec<DecodedMessage> {
    let messages = server.stored(TOPIC);
    let decode = |data: &Bytes| message::decode(data).unwrap();
    messages
        .iter()
        .map(|one| decode(&one.message.data))
        .collect()
}

/// The files of all claims in a directory.
fn objects(dir: &str) -> Vec<PathBuf> {
    let entries = |dir: &Path| {
        let entries = fs::read_dir(dir).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let tenants = entries(Path::new(dir));
    tenants.iter().flat_map(|tenant| entries(tenant)).collect()
}

/// A claim in a directory, put there by hand.
fn put(dir: &str, name: &str, body: impl AsRef<[u8]>) -> ClaimRef {
    let claim = ClaimRef::derive(Some("acme"), 1_764_500_000_332, name).unwrap();
    fs::create_dir_all(Path::new(dir).join("acme")).unwrap();
    fs::write(Path::new(dir).join("acme").join(claim.id()), body).unwrap();
    claim
}

/// Changes one byte of a claim.
fn flip(dir: &str) {
    let objects = objects(dir);
    let mut body = fs::read(&objects[0]).unwrap();
    let middle = body.len() / 2;
    body[middle] ^= 1;
    fs::write(&objects[0], body).unwrap();
}

/// `claims serve`, under way.
struct Serving {
    running: Running,
    addr: String,
}

impl Serving {
    /// Serves a directory to [`ACME`], which opens the tenant acme, and to [`OTHER`].
    fn start(scratch: &Scratch, dir: &str) -> Self {
        let tokens = format!("# consumers\n{ACME} acme,acme-eu\n\n{OTHER} globex\n");
        let tokens = scratch.file("tokens", tokens);
        Self::with(dir, &["--token-file", &tokens])
    }

    fn with(dir: &str, arguments: &[&str]) -> Self {
        let serve = [
            "claims",
            "serve",
            "--claims",
            dir,
            "--listen",
            "127.0.0.1:0",
        ];
        let run = pubsink(&serve).arguments(arguments);
        let running = run.env("PUBSINK_LOG", "pubsink=debug").start();
        let said = running.said(&format!("pubsink: the claims of {dir} at http://"));
        let addr = said.strip_suffix("; Ctrl-C ends it").unwrap().to_owned();
        Self { running, addr }
    }

    /// The format's own consumer, with a token.
    fn client(&self, token: &str) -> ClaimCheckClient {
        let builder = ClientBuilder::new(format!("http://{}", self.addr));
        let builder = builder.header("authorization", &format!("Bearer {token}"));
        builder.claim_check().unwrap()
    }

    fn redeem(&self, token: &str, claim: &str, sha256: &str) -> Result<Bytes, ClaimCheckError> {
        let client = self.client(token);
        block_on(client.redeem(claim, sha256))
    }

    /// Sends the head of a request, the last one of its connection.
    fn send(&self, method: &str, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.addr).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: claims\r\nconnection: close\r\n\
             authorization: Bearer {ACME}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Ends it, and sees that no token was shown.
    fn end(self) -> Done {
        self.running.signal(Signal::SIGTERM);
        let done = self.running.wait().exits(0);
        assert_eq!(done.stdout, format!("{}\n", self.addr));
        assert!(!done.stderr.contains("hunter2"), "{}", done.stderr);
        done
    }
}

/// An answer's head, lowercased, and its body.
fn received(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    (head.to_ascii_lowercase(), all[end + 4..].to_vec())
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(work)
}
