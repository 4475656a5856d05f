//! Files on tokio's threads for what blocks.

use pubsink_runtime::claims::Unblock;
use tokio::runtime::Handle;

/// The threads for blocking work of the tokio runtime in which a call is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioPool;

impl Unblock for TokioPool {
    async fn unblock<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let runtime = Handle::try_current().ok()?;
        runtime.spawn_blocking(work).await.ok()
    }
}
