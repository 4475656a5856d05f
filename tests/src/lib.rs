//! One list of conformance cases for the publishing library, each run on every runtime against
//! every server.
//!
//! - A [case](harness::case) is an async function over an [`Env`](harness::env::Env): a topic and
//!   a subscription of its own, a publisher factory, the pulled-back messages, the fault script.
//!   It knows no runtime: it sleeps, spawns and sends through the environment.
//! - [Runtimes](harness::runtimes) and [servers](harness::servers) are lists with one entry each.
//!   Adding an entry runs every case on it.
//! - Where a server cannot do what a case needs, the matrix at the end says so, and why.
//!
//! ```text
//! cargo test -p pubsink-tests                  # everything
//! cargo test -p pubsink-tests -- 'R10'         # the cases whose name has R10 in it
//! cargo test -p pubsink-tests -- --list
//! ```
//!
//! Everything stays on loopback. Google's emulator is started where it is installed.

// A case fails by a panic: that is what it is for.
#![allow(clippy::panic, clippy::unwrap_used)]

mod cases;
mod harness;

pub use harness::run;
