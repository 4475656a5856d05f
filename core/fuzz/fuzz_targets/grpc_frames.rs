#![no_main]

#[path = "../targets/grpc_frames.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
