//! Runs one piece of work so many times, for `bench/instructions` to count what it takes.

use clap::{Parser, ValueEnum};
use pubsink_bench::Error;
use pubsink_bench::load::BATCH_MAX;
use pubsink_bench::micro::{publish, subscribe};
use pubsink_bench::ours::Payload;
use pubsink_core::options::Wire;
use pubsink_core::wire::{Verdict, read_reply};

/// Does the same work so many times.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(value_enum)]
    workload: Workload,
    times: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Workload {
    /// 1,000 messages of 1 KiB: checks, queue, JSON
    #[value(name = "encode_plain_1k")]
    EncodePlain1k,
    /// The same as protobuf
    #[value(name = "encode_grpc_1k")]
    EncodeGrpc1k,
    /// 1,000 hooks of 1 KiB: checks, queue, digest, message, JSON
    #[value(name = "encode_hook_1k")]
    EncodeHook1k,
    /// A reply with 1,000 ids
    ParseReply,
    /// 1,000 messages of 100 bytes from the call to the settlement
    PublisherMachine,
    /// The same where one is refused
    PublisherBisect,
    /// 100 messages from a stream's response to confirmed acks
    SubscriberMachine,
    /// The bytes of 100 messages of 1 KiB
    Frames,
}

fn main() -> Result<(), Error> {
    let Arguments { workload, times } = Arguments::parse();
    match workload {
        Workload::EncodePlain1k => encode(Wire::Rest, Payload::Raw, times),
        Workload::EncodeGrpc1k => encode(Wire::Grpc, Payload::Raw, times),
        Workload::EncodeHook1k => encode(Wire::Rest, Payload::Hook, times),
        Workload::ParseReply => {
            let reply = publish::confirmed(BATCH_MAX);
            repeat(times, || match read_reply(&reply, BATCH_MAX) {
                Verdict::Delivered(_) => Ok(()),
                verdict => Err(format!("{verdict:?}").into()),
            })
        }
        Workload::PublisherMachine => {
            let mut bench = publish::Bench::new(Wire::Rest, 100)?;
            repeat(times, || bench.cycle(Payload::Raw))
        }
        Workload::PublisherBisect => {
            let mut bench = publish::Bench::new(Wire::Rest, 100)?;
            repeat(times, || bench.bisect())
        }
        Workload::SubscriberMachine => {
            let mut bench = subscribe::Bench::new()?;
            repeat(times, || {
                let answer = bench.response();
                bench.cycle(answer)
            })
        }
        Workload::Frames => {
            let chunks = subscribe::frames(1_024);
            repeat(times, || subscribe::read_frames(&chunks).map(drop))
        }
    }
}

fn encode(wire: Wire, payload: Payload, times: usize) -> Result<(), Error> {
    let mut bench = publish::Bench::new(wire, 1_024)?;
    repeat(times, || {
        let checked = bench.checked(payload, BATCH_MAX)?;
        for request in bench.requests(checked)? {
            std::hint::black_box(request.encode());
        }
        Ok(())
    })
}

fn repeat(times: usize, mut work: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    (0..times).try_for_each(|_| work())
}
