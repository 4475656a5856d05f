//! What became of every case, runtime, server and wire.

use std::fmt;
use std::io::Write as _;
use std::sync::Mutex;

/// One line for each case, runtime, server and wire.
#[derive(Debug, Default)]
pub(super) struct Matrix(Mutex<Vec<Line>>);

#[derive(Debug)]
struct Line {
    case: &'static str,
    runtime: &'static str,
    server: &'static str,
    wire: &'static str,
    result: Result,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Result {
    /// The arguments left it out.
    NotAsked,
    Passed,
    Failed,
    NotAvailable(String),
}

impl Result {
    pub(super) fn of<E>(done: &std::result::Result<(), E>) -> Self {
        if done.is_ok() {
            Self::Passed
        } else {
            Self::Failed
        }
    }
}

impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not asked for"),
            Self::Passed => f.write_str("passed"),
            Self::Failed => f.write_str("FAILED"),
            Self::NotAvailable(reason) => write!(f, "not available: {reason}"),
        }
    }
}

impl Matrix {
    /// Adds a line; answers its place.
    pub(super) fn add(
        &self,
        case: &'static str,
        runtime: &'static str,
        server: &'static str,
        wire: &'static str,
    ) -> usize {
        let mut lines = self.0.lock().unwrap();
        lines.push(Line {
            case,
            runtime,
            server,
            wire,
            result: Result::NotAsked,
        });
        lines.len() - 1
    }

    pub(super) fn set(&self, place: usize, result: Result) {
        self.0.lock().unwrap()[place].result = result;
    }

    /// Prints every line that was asked for, and the sums.
    pub(super) fn print(&self) {
        let lines = self.0.lock().unwrap();
        let asked: Vec<_> = lines
            .iter()
            .filter(|line| line.result != Result::NotAsked)
            .collect();
        let width =
            |of: fn(&Line) -> &str| asked.iter().map(|line| of(line).len()).max().unwrap_or(0);
        let (case, runtime) = (width(|line| line.case), width(|line| line.runtime));
        let server = width(|line| line.server);
        let mut out = std::io::stderr().lock();
        let _ = writeln!(
            out,
            "{:case$} | {:runtime$} | {:server$} | wire | result",
            "case", "runtime", "server"
        );
        for line in &asked {
            let Line {
                case: name,
                runtime: on,
                server: against,
                wire,
                result,
            } = line;
            let _ = writeln!(
                out,
                "{name:case$} | {on:runtime$} | {against:server$} | {wire:4} | {result}"
            );
        }
        let count = |is: fn(&Result) -> bool| asked.iter().filter(|line| is(&line.result)).count();
        let _ = writeln!(
            out,
            "{} passed, {} failed, {} not available",
            count(|result| *result == Result::Passed),
            count(|result| *result == Result::Failed),
            count(|result| matches!(result, Result::NotAvailable(_))),
        );
    }
}
