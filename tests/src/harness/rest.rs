//! The REST calls the harness makes itself.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use pubsink_runtime::seam::{SendLimits, Transport as _};
use serde_json::Value;

use super::env::Env;
use super::host::Client;

/// The most bytes of a pull's reply.
const REPLY_MAX: usize = 64 * 1024 * 1024;

/// A resource's name as a path, escaped a segment at a time.
pub(super) fn path_of(name: &str) -> String {
    let mut path = String::from("/v1");
    for segment in name.split('/') {
        path.push('/');
        for byte in segment.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    path
}

impl Env {
    /// Sends a request to the server and reads the answer's JSON.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint()))
            .header("content-type", "application/json")
            .body(Bytes::from(body.to_string()))
            .expect("the harness makes no bad request");
        let mut limits = SendLimits::new(Duration::from_secs(20));
        limits.body_max = REPLY_MAX;
        let client = self.host().transport(&Client::Default);
        let reply = client
            .send(request, limits)
            .await
            .expect("the server answers");
        let json = serde_json::from_slice(reply.body());
        (reply.status().as_u16(), json.unwrap_or(Value::Null))
    }
}
