//! Runs the cases, and says what became of each.

pub(crate) mod any;
pub(crate) mod case;
pub(crate) mod child;
pub(crate) mod claims;
mod dir;
pub(crate) mod dispatching;
pub(crate) mod env;
pub(crate) mod gateway;
pub(crate) mod heard;
pub(crate) mod host;
pub(crate) mod journals;
pub(crate) mod logs;
mod matrix;
pub(crate) mod memory;
pub(crate) mod panics;
mod places;
pub(crate) mod pull;
pub(crate) mod raw_server;
pub(crate) mod recorder;
pub(crate) mod relay;
mod rest;
pub(crate) mod retrying;
mod runner;
pub(crate) mod runtimes;
pub(crate) mod servers;
pub(crate) mod subscribing;

use std::cmp::Reverse;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Trial};
use pubsink_core::subscribe::Wire;

use crate::cases::all_cases;
use case::Case;
use matrix::{Matrix, Result};
use places::Places;
use runtimes::RuntimeEntry;
use servers::ServerEntry;

/// Runs every case on every runtime and server, as the arguments ask, and prints the matrix.
#[must_use]
pub fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    panics::watch();
    logs::watch();
    let matrix = Arc::new(Matrix::default());
    let servers = servers::all(!arguments.list && !child::is_child());
    let places = Arc::default();
    let (mut waiting, mut working) = (Vec::new(), Vec::new());
    for case in all_cases() {
        for runtime in runtimes::all() {
            for server in &servers {
                for wire in case.wires {
                    let run = Run {
                        case,
                        runtime,
                        server: Arc::clone(server),
                        wire: *wire,
                    };
                    let trial = run.trial(&matrix, &places);
                    match case.waits {
                        true => waiting.push((case.limit, trial)),
                        false => working.push(trial),
                    }
                }
            }
        }
    }
    waiting.retain(|(_, trial)| !arguments.is_filtered_out(trial));
    let threads = Places::threads(waiting.len());
    arguments.test_threads.get_or_insert(threads);
    // The longest first: what comes later runs beside them.
    waiting.sort_by_key(|(limit, _)| Reverse(*limit));
    let waiting = waiting.into_iter().map(|(_, trial)| trial);
    let trials = waiting.chain(working).collect();
    let listing = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listing && !child::is_child() {
        matrix.print();
    }
    // Ends what the servers' entries started.
    drop(servers);
    conclusion.exit_code()
}

/// A case, and where it runs.
struct Run {
    case: &'static Case,
    runtime: RuntimeEntry,
    server: Arc<ServerEntry>,
    wire: Wire,
}

impl Run {
    /// Its name says the wire where there is more than one.
    fn name(&self) -> String {
        let (runtime, server, case) = (self.runtime.name, self.server.name, self.case.name);
        match self.case.wires {
            [_] => format!("{runtime} / {server} / {case}"),
            _ => format!("{runtime} / {server} / {} / {case}", name_of(self.wire)),
        }
    }

    fn trial(self, matrix: &Arc<Matrix>, places: &Arc<Places>) -> Trial {
        let name = self.name();
        let (runtime, server) = (self.runtime.name, self.server.name);
        let line = matrix.add(self.case.name, runtime, server, name_of(self.wire));
        let (matrix, places) = (Arc::clone(matrix), Arc::clone(places));
        Trial::ignorable_test(name, move || {
            if let Err(reason) = self.server.can(self.case.needs) {
                matrix.set(line, Result::NotAvailable(reason.clone()));
                return Ok(Completion::ignored_with(reason));
            }
            let place = places.take(self.case.waits);
            let done = if self.case.own_process && !child::is_child() {
                child::run(&self.name(), self.case)
            } else {
                runner::run(self.case, self.runtime, &self.server, self.wire)
            };
            drop(place);
            matrix.set(line, Result::of(&done));
            done.map(|()| Completion::Completed).map_err(Into::into)
        })
    }
}

fn name_of(wire: Wire) -> &'static str {
    match wire {
        Wire::Grpc => "grpc",
        Wire::Rest => "rest",
    }
}
