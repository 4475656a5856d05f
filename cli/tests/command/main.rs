//! The command as a user meets it: the real binary against a server of the test's own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what cannot be set up is a failed test"
)]

mod bench;
mod claims;
mod closed_output;
mod credentials;
mod dead_letters;
mod demo;
mod describe;
mod emulator;
mod failures;
mod gzip;
mod headers;
mod help;
mod input;
mod journal;
mod journal_ends;
mod journal_letters;
mod kill;
mod memory;
mod metrics;
mod options;
mod outcomes;
mod real_hooks;
mod replay;
mod replay_refused;
mod retries;
mod signals;
mod stalled_output;
mod subscribe;
mod support;
mod trace_context;
mod wires;
