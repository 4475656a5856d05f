//! `pubsink claims get`: one body out of a store.

use std::path::PathBuf;

use bytes::Bytes;
use clap::Args;
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_tokio::claims::{ClaimStore as _, Claims, redeem};
use tokio::runtime::Builder;

use super::store::caught;
use super::{StoreFlag, output};
use crate::exit::{CommandError, Exit};
use crate::say::say;

/// Get the body of one claim from its store.
///
/// With --sha256 and --size, which the message says beside its claim, nothing is written unless
/// the body is the one that was checked in.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 written; 1 there is no such body, another one, or the store \
                        is unavailable; 2 bad usage or configuration"
)]
pub(super) struct Arguments {
    /// The claim's ref, urn:ankusa:claim:v1:TENANT:ID
    // Not parsed by clap, which would repeat the signature of one it refuses.
    #[arg(value_name = "REF")]
    claim: String,
    #[command(flatten)]
    store: StoreFlag,
    /// The body's SHA-256
    #[arg(long, value_name = "HEX", requires = "size", value_parser = sha256)]
    sha256: Option<String>,
    /// The body's size in bytes
    #[arg(long, value_name = "N", requires = "sha256")]
    size: Option<u64>,
    /// The largest body to get: all of it is in memory at once
    #[arg(long, value_name = "BYTES", default_value_t = 256 * 1024 * 1024)]
    max_bytes: u64,
    /// Write it to FILE; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let claim = ClaimRef::parse(&arguments.claim);
    let claim = claim.map_err(|error| CommandError(error.to_string()))?;
    let store = arguments.store.open()?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new("cannot start the runtime", error))?;
    let body = runtime.block_on(caught(arguments.body(&store, &claim)));
    runtime.shutdown_background();
    let body = match body {
        Ok(body) => body,
        Err(error) => {
            say(format_args!("pubsink: {error}"));
            return Ok(Exit::Failed);
        }
    };
    if let Err(error) = output::write(&arguments.output, &body) {
        let output = arguments.output.display();
        say(format_args!(
            "pubsink: cannot write --output {output}: {error}"
        ));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Delivered)
}

impl Arguments {
    async fn body(&self, store: &Claims, claim: &ClaimRef) -> Result<Bytes, ClaimError> {
        match (self.size, &self.sha256) {
            (Some(size), Some(sha256)) => redeem(store, claim, size, sha256, self.max_bytes).await,
            _ => store.fetch(claim, self.max_bytes).await,
        }
    }
}

fn sha256(text: &str) -> Result<String, String> {
    match text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("it has to be 64 hex digits".to_owned()),
    }
}
