#![no_main]

#[path = "../targets/claim_ref.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
