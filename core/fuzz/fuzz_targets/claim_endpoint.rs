#![no_main]

#[path = "../targets/claim_endpoint.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
