//! The seam is enough for a runtime nobody here has thought of: the example is one, and runs.

#[path = "../examples/threads.rs"]
mod threads;

#[test]
fn a_runtime_of_threads_publishes() {
    threads::main().unwrap();
}
