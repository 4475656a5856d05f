#![no_main]

#[path = "../targets/envelope_line.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
