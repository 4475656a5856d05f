//! Microbenchmarks of the core: `cargo bench -p pubsink-bench`.

use bytes::BytesMut;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pubsink_bench::floor;
use pubsink_bench::load::{BATCH_MAX, Load};
use pubsink_bench::micro::pipeline::Pipeline;
use pubsink_bench::micro::{publish, subscribe};
use pubsink_bench::ours::Payload;
use pubsink_core::options::Wire;
use pubsink_core::publish::PublishRequest;
use pubsink_core::wire::read_reply;

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [100, 1_024, 16_384];

/// Encoding requests, per message. Beside it what it costs at least.
mod encode {
    use super::*;

    #[divan::bench(args = SIZES)]
    fn plain_json(bencher: Bencher<'_, '_>, size: usize) {
        requests(bencher, Wire::Rest, Payload::Raw, size);
    }

    #[divan::bench(args = SIZES)]
    fn plain_json_floor(bencher: Bencher<'_, '_>, size: usize) {
        let load = Load::new(per_request(size), size);
        let mut out = Vec::new();
        bencher
            .counter(ItemsCount::new(load.messages))
            .bench_local(|| {
                out.clear();
                floor::rest::write_body(&mut out, &load, 0..load.messages);
                out.len()
            });
    }

    #[divan::bench(args = SIZES)]
    fn plain_protobuf(bencher: Bencher<'_, '_>, size: usize) {
        requests(bencher, Wire::Grpc, Payload::Raw, size);
    }

    #[divan::bench(args = SIZES)]
    fn plain_protobuf_floor(bencher: Bencher<'_, '_>, size: usize) {
        let load = Load::new(per_request(size), size);
        let mut out = BytesMut::new();
        bencher
            .counter(ItemsCount::new(load.messages))
            .bench_local(|| {
                out.clear();
                floor::grpc::write_frame(&mut out, &load, 0..load.messages);
                out.len()
            });
    }

    /// From the checked hook: its head was written when it was checked.
    #[divan::bench(args = [1_024])]
    fn hook_json(bencher: Bencher<'_, '_>, size: usize) {
        requests(bencher, Wire::Rest, Payload::Hook, size);
    }

    /// From the envelope: the checks, the head, its attributes, and the request.
    #[divan::bench(args = [1_024])]
    fn hook_json_with_checks(bencher: Bencher<'_, '_>, size: usize) {
        let mut bench = bench(Wire::Rest, size);
        bencher.counter(ItemsCount::new(BATCH_MAX)).bench_local(|| {
            let checked = bench.checked(Payload::Hook, BATCH_MAX).expect("hooks");
            let requests = bench.requests(checked).expect("requests");
            requests
                .into_iter()
                .for_each(|request| drop(black_box(request.encode())));
        });
    }

    #[divan::bench(args = [1_024])]
    fn hook_json_pipeline(bencher: Bencher<'_, '_>, size: usize) {
        let load = Load::new(BATCH_MAX, size);
        let mut pipeline = Pipeline::default();
        bencher.counter(ItemsCount::new(BATCH_MAX)).bench_local(|| {
            for number in 0..BATCH_MAX {
                let id = "019ad465-4e4c-7650-a69e-0d37f2a74de4";
                black_box(pipeline.encode(id, load.body(number)));
            }
        });
    }

    fn requests(bencher: Bencher<'_, '_>, wire: Wire, payload: Payload, size: usize) {
        let mut bench = bench(wire, size);
        let count = per_request(size);
        bencher
            .counter(ItemsCount::new(count))
            .with_inputs(|| {
                let checked = bench.checked(payload, count).expect("messages");
                bench.requests(checked).expect("requests")
            })
            .bench_local_values(|requests| {
                let encoded = requests.into_iter().map(PublishRequest::encode);
                encoded.collect::<Vec<_>>()
            });
    }
}

/// Checking, queueing and settling, per message.
mod machine {
    use super::*;

    #[divan::bench]
    fn check(bencher: Bencher<'_, '_>) {
        let bench = bench(Wire::Rest, 1_024);
        bencher.bench_local(|| bench.check(Payload::Raw, 0));
    }

    #[divan::bench]
    fn check_hook(bencher: Bencher<'_, '_>) {
        let bench = bench(Wire::Rest, 1_024);
        bencher.bench_local(|| bench.check(Payload::Hook, 0));
    }

    /// From the checked message to the request, with so many waiting at a time.
    #[divan::bench(args = [1_000, 10_000, 100_000])]
    fn queue(bencher: Bencher<'_, '_>, waiting: usize) {
        let mut bench = bench(Wire::Rest, 100);
        let messages = bench.checked(Payload::Raw, waiting).expect("messages");
        bencher
            .counter(ItemsCount::new(waiting))
            .with_inputs(|| messages.clone())
            .bench_local_values(|messages| bench.requests(messages).expect("requests"));
    }

    /// From the call to the settlement.
    #[divan::bench]
    fn publisher_cycle(bencher: Bencher<'_, '_>) {
        let mut bench = bench(Wire::Rest, 100);
        bencher
            .counter(ItemsCount::new(BATCH_MAX))
            .bench_local(|| bench.cycle(Payload::Raw).expect("settled"));
    }

    /// The same where one of them is refused, with the requests that finding it takes.
    #[divan::bench]
    fn publisher_bisect(bencher: Bencher<'_, '_>) {
        let mut bench = bench(Wire::Rest, 100);
        bencher
            .counter(ItemsCount::new(BATCH_MAX))
            .bench_local(|| bench.bisect().expect("settled"));
    }

    /// From the response of a stream to confirmed acks.
    #[divan::bench]
    fn subscriber_cycle(bencher: Bencher<'_, '_>) {
        let bench = std::cell::RefCell::new(subscribe::Bench::new().expect("a machine"));
        bencher
            .counter(ItemsCount::new(subscribe::MESSAGES))
            .with_inputs(|| bench.borrow_mut().response())
            .bench_local_values(|answer| bench.borrow_mut().cycle(answer).expect("settled"));
    }
}

/// Reading what servers send.
mod read {
    use super::*;

    #[divan::bench]
    fn reply_of_1000(bencher: Bencher<'_, '_>) {
        let reply = publish::confirmed(BATCH_MAX);
        bencher
            .counter(ItemsCount::new(BATCH_MAX))
            .bench_local(|| read_reply(&reply, BATCH_MAX));
    }

    #[divan::bench(args = SIZES)]
    fn stream_frames(bencher: Bencher<'_, '_>, size: usize) {
        let chunks = subscribe::frames(size);
        bencher
            .counter(ItemsCount::new(subscribe::MESSAGES))
            .bench_local(|| subscribe::read_frames(&chunks).expect("messages"));
    }
}

fn bench(wire: Wire, size: usize) -> publish::Bench {
    publish::Bench::new(wire, size).expect("options")
}

fn per_request(size: usize) -> usize {
    Load::new(0, size).batch()
}
