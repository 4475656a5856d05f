//! What the library gives its users to test with.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests fail like tests; simulated time has to begin somewhere"
)]

#[path = "testing/chance.rs"]
mod chance;
#[path = "testing/simulation.rs"]
mod simulation;
#[path = "../examples/snapshot_outcomes.rs"]
mod snapshot_outcomes;
#[path = "testing/tapped.rs"]
mod tapped;
#[path = "testing/traces.rs"]
mod traces;

#[test]
fn the_example_of_snapshots_holds() {
    snapshot_outcomes::main();
}
