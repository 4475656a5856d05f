#![no_main]

#[path = "../targets/reply.rs"]
mod target;
#[path = "../targets/verdict.rs"]
mod verdict;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
