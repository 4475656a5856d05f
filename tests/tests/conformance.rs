//! Every conformance case on every runtime and server: see the crate's documentation.

use std::process::ExitCode;

fn main() -> ExitCode {
    pubsink_tests::run()
}
