//! What a metric is.

use ::metrics::{Key, Label, Recorder, Unit};

use super::record::Series;

/// One metric: what a recorder, a dashboard and an operator have to know of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, as Prometheus writes names.
    pub name: &'static str,
    /// What kind it is.
    pub kind: Kind,
    /// Its labels, all of which every series has.
    pub labels: &'static [&'static str],
    /// What it is measured in, where that is not a count of something its name says.
    pub unit: Option<Unit>,
    /// What it tells, in a sentence.
    pub help: &'static str,
    /// For a histogram: bucket bounds that suit it. Others have none.
    pub buckets: &'static [f64],
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It only grows.
    Counter,
    /// What there is at a moment.
    Gauge,
    /// How values are spread.
    Histogram,
}

impl Kind {
    /// The kind in a word, as Prometheus writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Metric {
    pub(super) const fn counter(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self::new(name, Kind::Counter, labels, help)
    }

    pub(super) const fn gauge(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self::new(name, Kind::Gauge, labels, help)
    }

    pub(super) const fn histogram(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
        buckets: &'static [f64],
    ) -> Self {
        let mut metric = Self::new(name, Kind::Histogram, labels, help);
        metric.buckets = buckets;
        metric
    }

    pub(super) const fn in_unit(mut self, unit: Unit) -> Self {
        self.unit = Some(unit);
        self
    }

    const fn new(
        name: &'static str,
        kind: Kind,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            labels,
            unit: None,
            help,
            buckets: &[],
        }
    }

    /// A series of it, with these values of its labels.
    pub(super) fn series<T, const N: usize>(&self, values: [&str; N]) -> Series<T> {
        debug_assert_eq!(self.labels.len(), N, "{}", self.name);
        let labels = self.labels.iter().zip(values);
        let labels = labels.map(|(label, value)| Label::new(*label, value.to_owned()));
        Key::from_parts(self.name, labels.collect::<Vec<_>>()).into()
    }

    pub(super) fn describe(&self, recorder: &dyn Recorder) {
        let (name, help) = (self.name.into(), self.help.into());
        match self.kind {
            Kind::Counter => recorder.describe_counter(name, self.unit, help),
            Kind::Gauge => recorder.describe_gauge(name, self.unit, help),
            Kind::Histogram => recorder.describe_histogram(name, self.unit, help),
        }
    }
}
