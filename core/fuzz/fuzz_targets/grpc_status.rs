#![no_main]

#[path = "../targets/grpc_status.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
