//! A recorder of the `metrics` facade that keeps what it is told for Prometheus.
//!
//! Every metric of the library is made at the start, with its labels and buckets, so that what is
//! held is bounded by the labels, which are bounded themselves. What is recorded under another
//! name is not kept.

use std::collections::HashMap;
use std::sync::Arc;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata,
    SharedString, Unit,
};
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, TextEncoder,
};
use pubsink_tokio::metrics::{Kind, Metric, names};

use crate::exit::CommandError;

/// Installs the recorder for all of the process, and gives what it keeps.
pub(super) fn install() -> Result<Registry, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::new("cannot record metrics", error);
    let recorder = Recorder::new().map_err(|error| failed(&error))?;
    let registry = recorder.registry.clone();
    metrics::set_global_recorder(recorder).map_err(|error| failed(&error))?;
    Ok(registry)
}

/// All that is kept, as Prometheus reads it.
pub(super) fn page(registry: &Registry) -> Result<String, prometheus::Error> {
    TextEncoder::new().encode_to_string(&registry.gather())
}

struct Recorder {
    registry: Registry,
    metrics: HashMap<&'static str, Series>,
}

/// The series of a metric.
enum Series {
    Counter(IntCounterVec),
    Gauge(GaugeVec),
    Histogram(HistogramVec),
}

impl Recorder {
    fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let mut metrics = HashMap::new();
        for metric in names::ALL {
            metrics.insert(metric.name, Series::new(metric, &registry)?);
        }
        Ok(Self { registry, metrics })
    }
}

impl Series {
    fn new(metric: &Metric, registry: &Registry) -> prometheus::Result<Self> {
        let opts = Opts::new(metric.name, metric.help);
        Ok(match metric.kind {
            Kind::Gauge => {
                let gauge = GaugeVec::new(opts, metric.labels)?;
                registry.register(Box::new(gauge.clone()))?;
                Self::Gauge(gauge)
            }
            Kind::Histogram => {
                let opts = HistogramOpts::from(opts).buckets(metric.buckets.to_vec());
                let histogram = HistogramVec::new(opts, metric.labels)?;
                registry.register(Box::new(histogram.clone()))?;
                Self::Histogram(histogram)
            }
            // There are no others.
            _ => {
                let counter = IntCounterVec::new(opts, metric.labels)?;
                registry.register(Box::new(counter.clone()))?;
                Self::Counter(counter)
            }
        })
    }
}

impl metrics::Recorder for Recorder {
    // What is described was known from the start.
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let Some(Series::Counter(series)) = self.metrics.get(key.name()) else {
            return Counter::noop();
        };
        let one = series.get_metric_with_label_values(&values(key));
        one.map_or_else(
            |_| Counter::noop(),
            |it| Counter::from_arc(Arc::new(Cell(it))),
        )
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let Some(Series::Gauge(series)) = self.metrics.get(key.name()) else {
            return Gauge::noop();
        };
        let one = series.get_metric_with_label_values(&values(key));
        one.map_or_else(|_| Gauge::noop(), |it| Gauge::from_arc(Arc::new(Cell(it))))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let Some(Series::Histogram(series)) = self.metrics.get(key.name()) else {
            return Histogram::noop();
        };
        let one = series.get_metric_with_label_values(&values(key));
        one.map_or_else(
            |_| Histogram::noop(),
            |it| Histogram::from_arc(Arc::new(Cell(it))),
        )
    }
}

/// The values of a key's labels, which come in the order of the metric's.
fn values(key: &Key) -> Vec<&str> {
    key.labels().map(metrics::Label::value).collect()
}

/// One series, as the facade writes to it.
struct Cell<T>(T);

impl CounterFn for Cell<prometheus::IntCounter> {
    fn increment(&self, value: u64) {
        self.0.inc_by(value);
    }

    fn absolute(&self, value: u64) {
        self.0.inc_by(value.saturating_sub(self.0.get()));
    }
}

impl GaugeFn for Cell<prometheus::Gauge> {
    fn increment(&self, value: f64) {
        self.0.add(value);
    }

    fn decrement(&self, value: f64) {
        self.0.sub(value);
    }

    fn set(&self, value: f64) {
        self.0.set(value);
    }
}

impl HistogramFn for Cell<prometheus::Histogram> {
    fn record(&self, value: f64) {
        self.0.observe(value);
    }
}

#[cfg(test)]
mod tests {
    use metrics::Recorder as _;

    use super::*;

    static METADATA: Metadata<'static> = Metadata::new("test", metrics::Level::INFO, None);

    fn key(name: &'static str, labels: &[(&'static str, &'static str)]) -> Key {
        Key::from_parts(name, labels)
    }

    #[test]
    fn what_is_recorded_is_on_the_page_with_help_type_buckets_and_escapes() {
        let recorder = Recorder::new().unwrap();
        assert_eq!(
            page(&recorder.registry).unwrap(),
            "",
            "nothing happened yet"
        );
        let sink = [("sink", "a \"b\" \\ \n c")];
        let counter = key("ankusa_dispatch_config_errors_total", &sink);
        let counter = recorder.register_counter(&counter, &METADATA);
        counter.increment(2);
        counter.absolute(7);
        counter.absolute(3);
        let gauge = recorder.register_gauge(&key("pubsink_dispatch_lanes", &[]), &METADATA);
        gauge.set(5.0);
        gauge.increment(1.5);
        gauge.decrement(4.0);
        let seconds = key(
            "pubsink_publish_request_duration_seconds",
            &[("topic", "t")],
        );
        let histogram = recorder.register_histogram(&seconds, &METADATA);
        for value in [0.0004, 0.25, 99.0] {
            histogram.record(value);
        }
        let page = page(&recorder.registry).unwrap();
        for line in [
            "# TYPE ankusa_dispatch_config_errors_total counter",
            r#"ankusa_dispatch_config_errors_total{sink="a \"b\" \\ \n c"} 7"#,
            "# HELP pubsink_dispatch_lanes Queues that have rows, claimed or not.",
            "# TYPE pubsink_dispatch_lanes gauge",
            "pubsink_dispatch_lanes 2.5",
            "# TYPE pubsink_publish_request_duration_seconds histogram",
            r#"pubsink_publish_request_duration_seconds_bucket{topic="t",le="0.001"} 1"#,
            r#"pubsink_publish_request_duration_seconds_bucket{topic="t",le="0.25"} 2"#,
            r#"pubsink_publish_request_duration_seconds_bucket{topic="t",le="30"} 2"#,
            r#"pubsink_publish_request_duration_seconds_bucket{topic="t",le="+Inf"} 3"#,
            r#"pubsink_publish_request_duration_seconds_count{topic="t"} 3"#,
        ] {
            assert!(page.lines().any(|it| it == line), "{line}\n{page}");
        }
    }

    #[test]
    fn two_handles_of_a_series_are_one() {
        let recorder = Recorder::new().unwrap();
        let key = key(
            "pubsink_publish_refused_total",
            &[("topic", "t"), ("ceiling", "bytes")],
        );
        for _ in 0..2 {
            recorder.register_counter(&key, &METADATA).increment(1);
        }
        let page = page(&recorder.registry).unwrap();
        assert!(page.contains("{ceiling=\"bytes\",topic=\"t\"} 2"), "{page}");
    }

    #[test]
    fn what_nobody_knows_is_not_kept() {
        let recorder = Recorder::new().unwrap();
        for key in [
            key("unknown_total", &[]),
            key("pubsink_publish_refused_total", &[]),
            key("pubsink_dispatch_lanes", &[]),
        ] {
            recorder.register_counter(&key, &METADATA).increment(1);
            recorder.register_histogram(&key, &METADATA).record(1.0);
        }
        recorder
            .register_gauge(&key("unknown", &[]), &METADATA)
            .set(1.0);
        assert_eq!(page(&recorder.registry).unwrap(), "");
    }

    #[test]
    fn every_metric_can_be_kept() {
        assert_eq!(Recorder::new().unwrap().metrics.len(), names::ALL.len());
    }
}
