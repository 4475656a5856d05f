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
pub(crate) mod pull;
pub(crate) mod raw_server;
pub(crate) mod recorder;
pub(crate) mod relay;
mod rest;
pub(crate) mod retrying;
mod runner;
pub(crate) mod runtimes;
pub(crate) mod servers;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Trial};

use crate::cases::all_cases;
use case::Case;
use matrix::{Matrix, Result};
use runtimes::RuntimeEntry;
use servers::ServerEntry;

/// Cases at a time: most of their time they wait.
const AT_A_TIME: usize = 6;

/// Runs every case on every runtime and server, as the arguments ask, and prints the matrix.
#[must_use]
pub fn run() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_A_TIME);
    panics::watch();
    logs::watch();
    let matrix = Arc::new(Matrix::default());
    let servers = servers::all(!arguments.list && !child::is_child());
    let mut trials = Vec::new();
    for case in all_cases() {
        for runtime in runtimes::all() {
            for server in &servers {
                trials.push(trial(case, runtime, server, &matrix));
            }
        }
    }
    let listing = arguments.list;
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listing && !child::is_child() {
        matrix.print();
    }
    // Ends what the servers' entries started.
    drop(servers);
    conclusion.exit_code()
}

fn trial(
    case: &'static Case,
    runtime: RuntimeEntry,
    server: &Arc<ServerEntry>,
    matrix: &Arc<Matrix>,
) -> Trial {
    let name = format!("{} / {} / {}", runtime.name, server.name, case.name);
    let place = matrix.add(case.name, runtime.name, server.name);
    let (server, matrix) = (Arc::clone(server), Arc::clone(matrix));
    let full_name = name.clone();
    Trial::ignorable_test(name, move || {
        if let Err(reason) = server.can(case.needs) {
            matrix.set(place, Result::NotAvailable(reason.clone()));
            return Ok(Completion::ignored_with(reason));
        }
        let done = if case.own_process && !child::is_child() {
            child::run(&full_name, case)
        } else {
            runner::run(case, runtime, &server)
        };
        matrix.set(place, Result::of(&done));
        done.map(|()| Completion::Completed).map_err(Into::into)
    })
}
