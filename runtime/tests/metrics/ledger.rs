//! A recorder that keeps everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// Everything that was recorded, by series. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    series: BTreeMap<Series, Arc<Cell>>,
    described: BTreeMap<String, (Option<Unit>, String)>,
}

/// One series: a metric, and its labels in the order they were given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
}

/// What was recorded of a series, in order.
#[derive(Default)]
struct Cell(Mutex<Vec<f64>>);

impl Cell {
    fn push(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

impl CounterFn for Cell {
    fn increment(&self, value: u64) {
        self.push(u32::try_from(value).unwrap().into());
    }

    fn absolute(&self, _: u64) {
        panic!("no counter is set");
    }
}

impl GaugeFn for Cell {
    fn increment(&self, _: f64) {
        panic!("every gauge is set");
    }

    fn decrement(&self, _: f64) {
        panic!("every gauge is set");
    }

    fn set(&self, value: f64) {
        self.push(value);
    }
}

impl HistogramFn for Cell {
    fn record(&self, value: f64) {
        self.push(value);
    }
}

impl Ledger {
    /// Every series there is.
    pub(crate) fn series(&self) -> Vec<Series> {
        self.0.lock().unwrap().series.keys().cloned().collect()
    }

    /// Every value of the series that have these label values, whatever their kind.
    pub(crate) fn values(&self, name: &str, labels: &[&str]) -> Vec<f64> {
        let book = self.0.lock().unwrap();
        let series = book.series.iter().filter(|(series, _)| {
            let values = series.labels.iter().map(|(_, value)| value.as_str());
            series.name == name && values.eq(labels.iter().copied())
        });
        let values = series.flat_map(|(_, cell)| cell.0.lock().unwrap().clone());
        values.collect()
    }

    /// What a counter counted.
    pub(crate) fn count(&self, name: &str, labels: &[&str]) -> f64 {
        self.values(name, labels).into_iter().sum()
    }

    /// The unit and the help text of a metric.
    pub(crate) fn described(&self, name: &str) -> Option<(Option<Unit>, String)> {
        self.0.lock().unwrap().described.get(name).cloned()
    }

    fn describe(&self, name: &KeyName, unit: Option<Unit>, help: &SharedString) {
        let mut book = self.0.lock().unwrap();
        let described = (unit, help.to_string());
        book.described.insert(name.as_str().to_owned(), described);
    }

    fn cell(&self, kind: &'static str, key: &Key) -> Arc<Cell> {
        let labels = key.labels();
        let labels = labels.map(|label| (label.key().to_owned(), label.value().to_owned()));
        let series = Series {
            kind,
            name: key.name().to_owned(),
            labels: labels.collect(),
        };
        let mut book = self.0.lock().unwrap();
        Arc::clone(book.series.entry(series).or_default())
    }
}

impl Recorder for Ledger {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(&key, unit, &help);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(&key, unit, &help);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, help: SharedString) {
        self.describe(&key, unit, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell("counter", key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell("gauge", key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.cell("histogram", key))
    }
}
