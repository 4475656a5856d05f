//! Plans by chance: small limits, so that each of them is met.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use pubsink_core::options::Wire;

use super::faults::{Fault, TokenFault};
use super::{Act, Arrival, Limits, Plan};

pub(crate) fn plans() -> impl Strategy<Value = Plan> {
    let gap = prop_oneof![3 => Just(0), 2 => 0..5_u64, 1 => 0..60_u64];
    let acts = vec((gap, act()), 1..70);
    let faults = vec(fault(), 1..12);
    let tokens = vec(token(), 1..8);
    let wire = select(&[Wire::Rest, Wire::Grpc][..]);
    (limits(), any::<bool>(), wire, acts, faults, tokens).prop_map(
        |(limits, authorize, wire, acts, faults, tokens)| Plan {
            limits,
            authorize,
            wire,
            acts,
            faults,
            tokens,
        },
    )
}

fn limits() -> impl Strategy<Value = Limits> {
    let batch = (
        1..30_u64,
        1..150_u64,
        1..9_usize,
        prop_oneof![1..100_usize, Just(7_500_000)],
    );
    let queue = (
        1..40_usize,
        prop_oneof![1..600_usize, Just(1_000_000)],
        1..20_usize,
    );
    let hold = proptest::option::of(1..5_usize);
    (batch, queue, 1..4_usize, 1..4_usize, hold).prop_map(
        |(
            (linger, timeout, entries, data),
            (queue, queue_bytes, queue_tenant),
            inflight,
            concurrency,
            hold,
        )| Limits {
            linger,
            timeout,
            entries,
            data,
            queue,
            queue_bytes,
            queue_tenant,
            inflight,
            concurrency,
            hold,
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        40 => arrival().prop_map(Act::Admit),
        3 => Just(Act::Flush),
        4 => (0..4_u8).prop_map(|key| Act::Resume(Some(key))),
        1 => Just(Act::Resume(None)),
        1 => proptest::option::of(0..400_u64).prop_map(Act::Close),
    ]
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let tenant = proptest::option::of(0..3_u8);
    let direct = prop::bool::weighted(0.25);
    let poisoned = prop::bool::weighted(0.06);
    let resumes_key = prop::bool::weighted(0.1);
    let how = (direct, poisoned, resumes_key);
    (tenant, 0..4_u8, 0..40_usize, how, 1..90_u32).prop_map(
        |(tenant, key, size, (direct, poisoned, resumes_key), attempt)| Arrival {
            tenant,
            key,
            size,
            direct,
            poisoned,
            attempt,
            resumes_key,
        },
    )
}

fn fault() -> impl Strategy<Value = (Fault, u64)> {
    let fault = prop_oneof![
        2 => Just(Fault::None),
        1 => Just(Fault::Refused),
        3 => select(&Fault::ALL[..]),
    ];
    (fault, 0..120_u64).prop_map(|(fault, after)| (fault, after + fault.delay()))
}

fn token() -> impl Strategy<Value = (TokenFault, u64)> {
    let fault = prop_oneof![
        3 => Just(TokenFault::A),
        3 => Just(TokenFault::B),
        2 => select(&TokenFault::ALL[..]),
    ];
    (fault, 0..20_u64).prop_map(|(fault, after)| (fault, after + fault.delay()))
}
