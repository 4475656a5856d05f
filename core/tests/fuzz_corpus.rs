//! The committed fuzz corpus, through the same checks as the fuzzer's, on every build.
//! `core/fuzz` holds the targets; `cargo +nightly fuzz run TARGET` grows the corpus.

// A target tells what it found by panicking.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "../fuzz/targets/claim_endpoint.rs"]
mod claim_endpoint;
#[path = "../fuzz/targets/claim_ref.rs"]
mod claim_ref;
#[path = "../fuzz/targets/envelope_line.rs"]
mod envelope_line;
#[path = "../fuzz/targets/error_document.rs"]
mod error_document;
#[path = "../fuzz/targets/grpc_frames.rs"]
mod grpc_frames;
#[path = "../fuzz/targets/grpc_reply.rs"]
mod grpc_reply;
#[path = "../fuzz/targets/grpc_status.rs"]
mod grpc_status;
#[path = "../fuzz/targets/message_decode.rs"]
mod message_decode;
#[path = "../fuzz/targets/publisher.rs"]
mod publisher;
#[path = "../fuzz/targets/pull_reply.rs"]
mod pull_reply;
#[path = "../fuzz/targets/reply.rs"]
mod reply;
#[path = "../fuzz/targets/stream_message.rs"]
mod stream_message;
#[path = "../fuzz/targets/verdict.rs"]
mod verdict;

use std::fs;
use std::path::Path;

/// Runs every input of a target's corpus; there have to be some.
fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let inputs = fs::read_dir(corpus.join(target)).unwrap();
    let mut count = 0;
    for input in inputs {
        let path = input.unwrap().path();
        let data = fs::read(&path).unwrap();
        // Shown where the check fails.
        println!("{}", path.display());
        run(&data);
        count += 1;
    }
    assert!(count >= 5, "{target} has {count} inputs");
}

#[test]
fn claim_endpoint_requests() {
    replay("claim_endpoint", claim_endpoint::run);
}

#[test]
fn claim_refs() {
    replay("claim_ref", claim_ref::run);
}

#[test]
fn envelope_lines() {
    replay("envelope_line", envelope_line::run);
}

#[test]
fn error_documents() {
    replay("error_document", error_document::run);
}

#[test]
fn hook_messages() {
    replay("message_decode", message_decode::run);
}

#[test]
fn replies() {
    replay("reply", reply::run);
}

#[test]
fn the_publisher_machine() {
    replay("publisher", publisher::run);
}

#[test]
fn grpc_frames_however_they_are_cut() {
    replay("grpc_frames", grpc_frames::run);
}

#[test]
fn grpc_replies() {
    replay("grpc_reply", grpc_reply::run);
}

#[test]
fn grpc_statuses() {
    replay("grpc_status", grpc_status::run);
}

#[test]
fn pull_replies() {
    replay("pull_reply", pull_reply::run);
}

#[test]
fn messages_of_a_stream() {
    replay("stream_message", stream_message::run);
}
