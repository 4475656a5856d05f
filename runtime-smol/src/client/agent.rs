//! The curl thread of a client: started by the first request, stopped without blocking anyone.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use isahc::config::{Configurable as _, RedirectPolicy, VersionNegotiation};
use isahc::{Error, HttpClient};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::TransportError;

use super::HttpClientBuilder;

/// For ever: curl takes no longer one.
const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Idle connections kept: far above the requests in flight of a publisher, so that only their
/// age ends them.
const MAX_IDLE: usize = 1_024;

pub(super) struct Agent {
    settings: HttpClientBuilder,
    running: Mutex<Option<Arc<Running>>>,
}

impl Agent {
    pub(super) fn new(settings: HttpClientBuilder) -> Self {
        Self {
            settings,
            running: Mutex::new(None),
        }
    }

    /// The running client. Starting it fails where the system has no thread or descriptor left,
    /// and is tried again by the next request.
    pub(super) fn running(&self) -> Result<Arc<Running>, TransportError> {
        let mut running = self.lock();
        if let Some(running) = &*running {
            return Ok(Arc::clone(running));
        }
        let started = start(&self.settings)
            .map_err(|error| TransportError::of(TransportKind::Connect, &error))?;
        Ok(Arc::clone(running.insert(Arc::new(Running(Some(started))))))
    }

    /// A request of `running` failed with `kind`.
    ///
    /// curl goes on using an HTTP/2 connection that does not answer, and for a second one that is
    /// broken. So the next request starts over; those in flight keep theirs.
    pub(super) fn failed(&self, running: &Arc<Running>, kind: TransportKind) {
        let is_suspect = matches!(kind, TransportKind::Timeout | TransportKind::Connection);
        if self.settings.http2 && is_suspect {
            let retired = self.lock().take_if(|current| Arc::ptr_eq(current, running));
            drop(retired);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}

fn start(settings: &HttpClientBuilder) -> Result<HttpClient, Error> {
    let version = if settings.http2 {
        VersionNegotiation::http2()
    } else {
        VersionNegotiation::http11()
    };
    let client = HttpClient::builder()
        .version_negotiation(version)
        .redirect_policy(RedirectPolicy::None)
        .automatic_decompression(false)
        .expect_continue(false)
        .proxy(None);
    // To curl, which counts whole seconds, 0 means no limit.
    if settings.idle_timeout < Duration::from_secs(1) {
        return client.connection_cache_size(0).build();
    }
    client
        .connection_cache_size(MAX_IDLE)
        .connection_cache_ttl(settings.idle_timeout.min(IDLE_TIMEOUT_MAX))
        .build()
}

/// A started client; none while it is being dropped.
pub(super) struct Running(Option<HttpClient>);

impl Running {
    pub(super) fn client(&self) -> Result<&HttpClient, TransportError> {
        let stopped = || TransportError::new(TransportKind::Closed, "the client was stopped");
        self.0.as_ref().ok_or_else(stopped)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(client) = self.0.take() else {
            return;
        };
        // Dropping it waits for curl's thread, which waits for name lookups, and may panic if
        // that thread did; and this may be curl's thread, dropping a task it was to wake.
        let stop = thread::Builder::new().name("pubsink-smol-stop".to_owned());
        // Without a thread to be had it is dropped right here.
        let _ = stop.spawn(move || drop(client));
    }
}
