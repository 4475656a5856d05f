//! Object stores that others wrote, where `.ci/check-claims` has installed them.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use pubsink_tokio::HttpClient;
use pubsink_tokio::claims::{ClaimStore as _, Claims, open_with};
use pubsink_tokio::core::claim::ClaimError;
use pubsink_tokio::seam::{SendLimits, Transport as _};

use crate::contract::{self, body, claim};

/// The account that everybody's Azurite has, and its key.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// What that key has signed for all of the account until 2099.
const SIGNED: &str = "sv=2021-08-06&ss=b&srt=sco&sp=rwdlc&se=2099-01-01T00%3A00%3A00Z\
    &spr=https%2Chttp&sig=ZN3XyYg4g2SzXjSpI%2F3cp0SB%2F%2Bggw4xBYpYa6u83zlc%3D";

#[tokio::test]
async fn s3_by_moto() {
    let moto = installed("moto", "bin/moto_server", "requirements.txt");
    let Some(server) = moto.and_then(|moto| {
        Server::start(|port| {
            let mut command = Command::new(moto);
            command.args(["-H", "127.0.0.1", "-p", &port]);
            command
        })
    }) else {
        return;
    };
    server.put("/claims").await;
    let open = |bucket: &str, disabled: bool| {
        let conditional = if disabled { "disabled" } else { "etag" };
        server.open(
            bucket,
            &[
                ("AWS_ENDPOINT_URL", server.url("")),
                ("AWS_ALLOW_HTTP", "true".to_owned()),
                ("AWS_ACCESS_KEY_ID", "testing".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "testing".to_owned()),
                ("AWS_CONDITIONAL_PUT", conditional.to_owned()),
            ],
        )
    };
    contract::hold(&open("s3://claims/hooks/eu", false), "acme").await;
    contract::hold(&open("s3://claims/hooks/looked-at", true), "acme").await;
    without_its_bucket(&open("s3://nowhere", false)).await;
}

#[tokio::test]
async fn azure_by_azurite() {
    let script = "node_modules/azurite/dist/src/blob/main.js";
    let azurite = installed("azurite", script, "package.json");
    let Some(server) = azurite.and_then(|azurite| {
        Server::start(|port| {
            let mut command = Command::new("node");
            command
                .arg(azurite)
                .args(["--blobPort", &port, "--blobHost", "127.0.0.1"]);
            command.args(["--inMemoryPersistence", "--silent", "--disableTelemetry"]);
            command
        })
    }) else {
        return;
    };
    server
        .put(&format!("/{ACCOUNT}/claims?restype=container&{SIGNED}"))
        .await;
    let open = |url: &str, credential: (&str, &str)| {
        server.open(
            url,
            &[
                ("AZURE_STORAGE_ENDPOINT", server.url(&format!("/{ACCOUNT}"))),
                ("AZURE_ALLOW_HTTP", "true".to_owned()),
                ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT.to_owned()),
                (credential.0, credential.1.to_owned()),
            ],
        )
    };
    let key = ("AZURE_STORAGE_ACCOUNT_KEY", KEY);
    contract::hold(&open("az://claims/hooks", key), "acme").await;
    let signed = open("abfss://claims", ("AZURE_STORAGE_SAS_TOKEN", SIGNED));
    contract::hold(&signed, "acme").await;
    without_its_bucket(&open("az://nowhere", key)).await;
    let refused = open("az://claims", ("AZURE_STORAGE_ACCOUNT_KEY", "aHVudGVyMg=="));
    let said = unavailable(refused.check_in(&claim("acme", "no"), body("no", 9)).await);
    assert!(said.starts_with("403 Forbidden: "), "{said}");
    // A signature in a query stays there.
    let forged = SIGNED.replace("sig=ZN3X", "sig=ZN3Y");
    let refused = open("az://claims", ("AZURE_STORAGE_SAS_TOKEN", &forged));
    let said = unavailable(refused.fetch(&claim("acme", "no"), 9).await);
    assert!(said.starts_with("403 ") && !said.contains("ZN3Y"), "{said}");
}

/// It is the bucket that is missing, not the claim.
async fn without_its_bucket(store: &Claims) {
    let claim = claim("acme", "one");
    unavailable(store.check_in(&claim, body("one", 9)).await);
    unavailable(store.fetch(&claim, 9).await);
    unavailable(store.size(&claim).await);
}

fn unavailable<T: std::fmt::Debug>(result: Result<T, ClaimError>) -> String {
    match result {
        Err(ClaimError::Unavailable { detail }) => detail.to_string(),
        other => panic!("{other:?}"),
    }
}

/// What `.ci/check-claims` has installed of a server, where it is what `asked` asks for.
fn installed(name: &str, program: &str, asked: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("claims")
        .join(name);
    let asked = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/claims")
        .join(asked);
    // A copy that is made once the installation is complete.
    let found = std::fs::read(folder.join(".installed"));
    if found.is_ok_and(|found| found == std::fs::read(asked).unwrap()) {
        return Some(folder.join(program));
    }
    eprintln!("NOT RUN: claim stores against {name}: .ci/check-claims has not installed it");
    None
}

/// A server that is stopped with its test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(command: impl FnOnce(String) -> Command) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = command(port.to_string());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("NOT RUN: claim stores against {command:?}: {error}");
                return None;
            }
        };
        let mut server = Self { child, port };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.child.try_wait().unwrap();
            assert!(ended.is_none(), "{command:?} ended: {ended:?}");
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{command:?} is stuck"
            );
            thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn open(&self, url: &str, settings: &[(&str, String)]) -> Claims {
        let owned = settings
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()));
        open_with(url, owned).unwrap()
    }

    /// Makes a bucket.
    async fn put(&self, path: &str) {
        let request = Request::put(self.url(path));
        let request = request
            .header("content-length", "0")
            .body(Bytes::new())
            .unwrap();
        let limits = SendLimits::new(Duration::from_secs(30));
        let response = HttpClient::new().send(request, limits).await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
