#![no_main]

#[path = "../targets/publisher.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
