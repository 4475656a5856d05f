//! What became of the spans.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use crate::say::{counted, say};

/// How many spans there were, how many the collector took, and what went wrong last.
#[derive(Debug, Default)]
pub(super) struct Counts {
    ended: AtomicU64,
    exported: AtomicU64,
    problem: Mutex<Option<String>>,
}

impl Counts {
    /// A span is complete.
    pub(super) fn ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// A request failed. The first time it is said at once.
    pub(super) fn problem(&self, what: fmt::Arguments<'_>) {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if problem.replace(what.to_string()).is_none() {
            say(format_args!(
                "pubsink: --otlp: spans cannot be exported: {what}"
            ));
        }
    }

    /// Says how many spans the collector did not get, if any.
    pub(super) fn tell(&self) {
        if let Some(words) = self.lost() {
            say(format_args!("pubsink: --otlp: {words}"));
        }
    }

    pub(super) fn lost(&self) -> Option<String> {
        let (all, exported) = (&self.ended, self.exported.load(Ordering::Relaxed));
        let all = all.load(Ordering::Relaxed);
        let lost = all.checked_sub(exported).filter(|lost| *lost > 0)?;
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        let why = problem
            .as_deref()
            .unwrap_or("they came faster than the collector took them");
        Some(format!(
            "{lost} of {} were not exported: {why}",
            counted(all, "span")
        ))
    }
}

/// An exporter that counts what the collector took.
#[derive(Debug)]
pub(super) struct Counted<E> {
    exporter: E,
    counts: Arc<Counts>,
}

impl<E> Counted<E> {
    pub(super) fn new(exporter: E, counts: Arc<Counts>) -> Self {
        Self { exporter, counts }
    }
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let spans = batch.len() as u64;
        let exported = self.exporter.export(batch);
        async move {
            exported.await?;
            self.counts.exported.fetch_add(spans, Ordering::Relaxed);
            Ok(())
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
