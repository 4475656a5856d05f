//! Why a replay stops.

/// Why a trace was not replayed to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A line is none of a trace.
    #[error("line {line} of the trace: {detail}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        detail: String,
    },
    /// The machine does something else than it did when the trace was recorded.
    #[error("line {line} of the trace: recorded\n  {recorded}\nreplayed\n  {replayed}")]
    Differs {
        /// The line, from 1.
        line: usize,
        /// What was recorded; empty past the end.
        recorded: String,
        /// What the machine does now; empty where that is nothing.
        replayed: String,
    },
}
