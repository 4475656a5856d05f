//! The server that is published to.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use pubsink_tokio::HttpClient;
use pubsink_tokio::seam::{SendLimits, Transport as _};

use super::measure::status;
use super::traffic::runtime;

/// A server, and its process where it was started here. Dropping it ends that.
pub(crate) struct Server {
    address: String,
    process: Option<Child>,
}

impl Server {
    /// The one at `address`, or one of its own: the `pubsink` that was built beside this program.
    pub(crate) fn find(address: Option<&str>) -> Result<Self, Box<dyn Error + Send + Sync>> {
        if let Some(address) = address {
            let address = address.to_owned();
            return Ok(Self {
                address,
                process: None,
            });
        }
        let here = std::env::current_exe()?;
        let folder = here.parent().and_then(|examples| examples.parent());
        let program = folder.ok_or("this program has no folder")?.join("pubsink");
        let mut process = Command::new(&program)
            .arg("emulator")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let address = line.trim().to_owned();
        Ok(Self {
            address,
            process: Some(process),
        })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Creates a topic and a subscription of that name, anew.
    pub(crate) fn create(&self, name: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let project = format!("http://{}/v1/projects/p", self.address);
        let (topic, subscription) = (
            format!("{project}/topics/{name}"),
            format!("{project}/subscriptions/{name}"),
        );
        let of = format!(r#"{{"topic":"projects/p/topics/{name}","ackDeadlineSeconds":60}}"#);
        let client = HttpClient::new();
        let limits = SendLimits::new(Duration::from_secs(10));
        runtime()?.block_on(async {
            // What an earlier run left would be taken for this one's.
            for gone in [&subscription, &topic] {
                let _ = client
                    .send(Request::delete(gone).body(Bytes::new())?, limits)
                    .await;
            }
            for (url, body) in [(&topic, "{}".to_owned()), (&subscription, of)] {
                let request = Request::put(url).header("content-type", "application/json");
                let answer = client.send(request.body(body.into())?, limits).await?;
                if !answer.status().is_success() {
                    return Err(format!("{url}: {}", answer.status()).into());
                }
            }
            Ok(())
        })
    }

    /// Its memory, where it is known.
    pub(crate) fn rss_mib(&self) -> String {
        let process = self.process.as_ref().map(Child::id);
        let rss = process.and_then(|id| status(&id.to_string(), "VmRSS:").ok());
        rss.map_or_else(|| "unknown".to_owned(), |rss| format!("{rss:.1}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
