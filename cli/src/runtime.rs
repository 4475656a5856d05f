//! The runtimes that commands run on.

use std::future::Future;

use tokio::runtime::Builder;

use crate::exit::CommandError;

/// Runs `work` with everything on this thread: the least overhead.
pub(crate) fn on_one_thread<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    run(Builder::new_current_thread(), work)
}

/// Runs `work` on this thread and what it spawns on another: whatever `work` blocks on, such as
/// a reader of its output, the requests in flight go on and do not time out.
pub(crate) fn on_two_threads<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    run(builder, work)
}

fn run<T>(
    mut builder: Builder,
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::new("cannot start the runtime", error))?;
    let done = runtime.block_on(work);
    // A host name that is still being looked up must not hold up the end.
    runtime.shutdown_background();
    done
}
