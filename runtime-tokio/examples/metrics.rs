//! A recorder of one's own, and what metrics cost: the same run without a recorder and with one,
//! in turns. The transport confirms at once, so that the publisher is all there is to measure.
//!
//! ```sh
//! cargo run --release -p pubsink-tokio --features metrics --example metrics -- 1000000
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use pubsink_tokio::Delivery;
use pubsink_tokio::core::options::PublisherOptions;
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::metrics::describe;
use pubsink_tokio::seam::{SendLimits, Transport, TransportError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let messages = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |it| it.parse())?;
    let recorder = Switched::default();
    metrics::set_global_recorder(recorder.clone())?;
    describe();
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        recorder.0.on.store(false, Ordering::Relaxed);
        without.push(publish(messages).await?);
        recorder.0.on.store(true, Ordering::Relaxed);
        with.push(publish(messages).await?);
    }
    let (without, with) = (median(without), median(with));
    println!(
        "without a recorder {without:.0}/s, with one {with:.0}/s: {:.3}",
        with / without
    );
    for (key, value) in &*recorder.0.counters() {
        println!("{key} {}", value.load(Ordering::Relaxed));
    }
    Ok(())
}

/// Publishes so many messages; tells how many a second.
async fn publish(messages: u32) -> Result<f64, Box<dyn Error>> {
    let options = PublisherOptions::builder("p", "hooks")
        .batch_queue_max(20_000)
        .batch_queue_tenant(20_000);
    let publisher = pubsink_tokio::publisher(options.build()?);
    let publisher = publisher.transport(Confirms).spawn()?;
    let body = Bytes::from(vec![b'x'; 100]);
    let started = Instant::now();
    let mut waiting: VecDeque<Delivery> = VecDeque::new();
    for _ in 0..messages {
        if waiting.len() == 10_000
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.await?;
        }
        waiting.push_back(publisher.publish(Message::new(body.clone())));
    }
    for delivery in waiting {
        delivery.await?;
    }
    let took = started.elapsed().as_secs_f64();
    publisher.shutdown(Duration::from_secs(5)).await;
    Ok(f64::from(messages) / took)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Confirms every message of a request.
struct Confirms;

impl Transport for Confirms {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body = request.body().windows(6);
        let messages = body.filter(|bytes| bytes == b"\"data\"").count();
        let ids = vec!["\"1\""; messages].join(",");
        Ok(Response::new(format!("{{\"messageIds\":[{ids}]}}").into()))
    }
}

/// Keeps every series in a map, while it is switched on.
#[derive(Clone, Default)]
struct Switched(Arc<Book>);

#[derive(Default)]
struct Book {
    on: AtomicBool,
    counters: Mutex<BTreeMap<Key, Arc<AtomicU64>>>,
    gauges: Mutex<BTreeMap<Key, Arc<AtomicU64>>>,
}

impl Book {
    fn counters(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Arc<AtomicU64>>> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for Switched {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        if !self.0.on.load(Ordering::Relaxed) {
            return Counter::noop();
        }
        Counter::from_arc(cell(&mut self.0.counters(), key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        if !self.0.on.load(Ordering::Relaxed) {
            return Gauge::noop();
        }
        let gauges = self.0.gauges.lock();
        let mut gauges = gauges.unwrap_or_else(PoisonError::into_inner);
        Gauge::from_arc(cell(&mut gauges, key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        // A recorder that is used in earnest has buckets here.
        Histogram::noop()
    }
}

fn cell(series: &mut BTreeMap<Key, Arc<AtomicU64>>, key: &Key) -> Arc<AtomicU64> {
    if let Some(cell) = series.get(key) {
        return Arc::clone(cell);
    }
    Arc::clone(series.entry(key.clone()).or_default())
}
