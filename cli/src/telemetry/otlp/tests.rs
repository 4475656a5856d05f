use std::sync::Mutex;

use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SpanData;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::Failure;
use pubsink_runtime::dispatch::{attempt_span, mark_attempt};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry;

use super::*;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// Keeps spans, or takes none.
#[derive(Debug, Clone, Default)]
struct Kept {
    spans: Arc<Mutex<Vec<SpanData>>>,
    refuses: bool,
}

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        if self.refuses {
            let words = "no".to_owned();
            return Err(opentelemetry_sdk::error::OTelSdkError::InternalFailure(
                words,
            ));
        }
        self.spans.lock().unwrap().extend(batch);
        Ok(())
    }
}

fn hook(traceparent: Option<String>) -> Envelope {
    let mut hook = Envelope::new("h1", "github", 0, "planted-body");
    hook.headers
        .push(("x-api-key".to_owned(), "planted-key".into()));
    let header = traceparent.map(|it| ("traceparent".to_owned(), it.into()));
    hook.headers.extend(header);
    hook
}

/// What is exported of what `work` does.
fn exported(work: impl FnOnce()) -> Vec<SpanData> {
    let kept = Kept::default();
    let exporter = Exporter::of(kept.clone(), Arc::default());
    let subscriber = registry().with(exporter.layer());
    tracing::subscriber::with_default(subscriber, work);
    exporter.end();
    let spans = kept.spans.lock().unwrap();
    spans.clone()
}

fn attempt(envelope: &Envelope) -> Span {
    attempt_span(
        envelope,
        "projects/p/topics/hooks",
        &DeliveryContext::default(),
    )
}

#[test]
fn an_attempt_is_below_the_span_its_hook_came_with_and_linked_to_it() {
    let mut told = None;
    let spans = exported(|| {
        let span = attempt(&hook(Some(format!("00-{TRACE}-{SPAN}-01"))));
        told = trace_context(&span);
        let failure = Failure::transient("planted-detail");
        mark_attempt::<()>(&span, &Err(failure));
        // Another's trace is its own.
        drop(attempt(&hook(None)));
        span.in_scope(|| tracing::warn!("planted-log"));
    });
    let [other, span] = &spans[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(span.name, "ankusa.dispatch.attempt");
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    assert_eq!(span.parent_span_id.to_string(), SPAN);
    assert!(span.parent_span_is_remote);
    let links: Vec<_> = span.links.iter().map(|link| &link.span_context).collect();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0].span_id().to_string(), SPAN);
    assert_eq!(span.status, Status::error(""));
    let parent = format!("00-{TRACE}-{}-01", span.span_context.span_id());
    assert_eq!(told.unwrap().traceparent(), parent);
    let names: Vec<_> = span.attributes.iter().map(|it| it.key.as_str()).collect();
    let expected = [
        "hook_id",
        "source_id",
        "sink",
        "attempt",
        "traceparent",
        "error_class",
    ];
    assert_eq!(names, expected);
    assert!(span.events.events.is_empty());
    assert!(!format!("{spans:?}").contains("planted"), "{spans:?}");

    assert_ne!(other.span_context.trace_id().to_string(), TRACE);
    assert_eq!(other.parent_span_id, SpanId::INVALID);
    assert_eq!(other.links.len(), 0);
    assert_eq!(other.status, Status::Unset);
}

#[test]
fn a_trace_that_is_not_sampled_is_not_exported_but_goes_on() {
    let mut told = None;
    let spans = exported(|| {
        let span = attempt(&hook(Some(format!("00-{TRACE}-{SPAN}-00"))));
        told = trace_context(&span);
    });
    assert_eq!(spans.len(), 0);
    let told = told.unwrap().traceparent().to_owned();
    assert!(
        told.starts_with(&format!("00-{TRACE}-")) && told.ends_with("-00"),
        "{told}"
    );
}

#[test]
fn a_span_that_nobody_exports_has_no_trace() {
    assert_eq!(trace_context(&attempt(&hook(None))), None);
}

#[test]
fn what_the_collector_did_not_take_is_counted() {
    for (refuses, words) in [
        (false, None),
        (
            true,
            Some("2 of 2 spans were not exported: they came faster than the collector took them"),
        ),
    ] {
        let kept = Kept {
            refuses,
            ..Kept::default()
        };
        let counts = Arc::<Counts>::default();
        let exporter = Exporter::of(kept, Arc::clone(&counts));
        tracing::subscriber::with_default(registry().with(exporter.layer()), || {
            drop([attempt(&hook(None)), attempt(&hook(None))]);
        });
        exporter.end();
        assert_eq!(counts.lost().as_deref(), words);
    }
}

#[test]
fn a_collectors_url_is_checked_and_completed() {
    for (base, url) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        (
            "https://c.example/otlp/",
            "https://c.example/otlp/v1/traces",
        ),
        ("http://c:4318/v1/traces", "http://c:4318/v1/traces"),
    ] {
        assert_eq!(traces_url(base).unwrap(), url);
    }
    for bad in [
        "",
        "c:4318",
        "ftp://c",
        "http://user:hunter2@c",
        "http://c?key=hunter2",
    ] {
        let error = traces_url(bad).unwrap_err().0;
        assert!(
            error.starts_with("--otlp must be ") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
