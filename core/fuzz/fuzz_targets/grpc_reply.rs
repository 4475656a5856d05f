#![no_main]

#[path = "../targets/grpc_reply.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
