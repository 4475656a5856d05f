//! What happens in a simulation, one thing at a time.

use crate::publish::{Gauges, Input, Output};

use super::SentRequest;

/// One thing that happens in a simulation, for a [watcher](super::SimulationBuilder::watch).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a, T> {
    /// The machine is about to be given this.
    Input(&'a Input<T>),
    /// It was, and this is what it holds now.
    Handled(Gauges),
    /// The machine wants this done.
    Output(&'a Output<T>),
    /// The server is about to be asked this.
    Request(&'a SentRequest),
}
