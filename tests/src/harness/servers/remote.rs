//! Servers that run already: those of docker-compose.integration.yml.

use std::env;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Where a server is looked for, and how it is asked.
pub(super) struct Remote {
    /// The variable that names its host:port.
    pub(super) variable: &'static str,
    /// Where it is looked for without; nowhere, where that is empty.
    pub(super) default: &'static str,
    pub(super) health: &'static str,
    /// Empties it: an earlier run used the same names.
    pub(super) reset: &'static str,
}

/// floci-gcp, by its compose service's port.
pub(super) const FLOCI: Remote = Remote {
    variable: "PUBSINK_FLOCI_HOST",
    default: "127.0.0.1:4588",
    health: "/_floci-gcp/health",
    reset: "/_floci-gcp/state/reset",
};

/// Google's emulator where it is not started here.
pub(super) const GOOGLE: Remote = Remote {
    variable: "PUBSINK_GOOGLE_EMULATOR_HOST",
    default: "",
    health: "/",
    reset: "/reset",
};

impl Remote {
    /// Its host:port, where it was asked for at all.
    pub(super) fn host(&self) -> Option<String> {
        let named = env::var(self.variable).ok();
        let host = named.unwrap_or_else(|| self.default.to_owned());
        (!host.is_empty()).then_some(host)
    }

    /// Its endpoint, emptied; or why it cannot be used.
    pub(super) fn open(&self, host: &str) -> Result<String, String> {
        let ask = |method, path| {
            status(host, method, path).map_err(|error| {
                let variable = self.variable;
                format!("nothing answers at {host} ({error}); {variable} names another place")
            })
        };
        for (method, path) in [("GET", self.health), ("POST", self.reset)] {
            let status = ask(method, path)?;
            if !(200..300).contains(&status) {
                return Err(format!(
                    "{method} {path} at {host} is answered with {status}"
                ));
            }
        }
        Ok(format!("http://{host}"))
    }
}

/// The status of an answer, by the plainest of clients.
fn status(host: &str, method: &str, path: &str) -> Result<u16, String> {
    const WAIT: Duration = Duration::from_secs(2);
    let words = |error: std::io::Error| error.to_string();
    let address = host.to_socket_addrs().map_err(words)?.next();
    let address = address.ok_or("it has no address")?;
    let mut stream = TcpStream::connect_timeout(&address, WAIT).map_err(words)?;
    stream.set_read_timeout(Some(WAIT)).map_err(words)?;
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).map_err(words)?;
    // "HTTP/1.1 200"
    let mut line = [0; 12];
    stream.read_exact(&mut line).map_err(words)?;
    let line = String::from_utf8_lossy(&line).into_owned();
    let status = line.get(9..).and_then(|status| status.parse().ok());
    status.ok_or_else(|| format!("{line:?} is no HTTP"))
}
