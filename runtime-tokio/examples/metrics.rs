//! A recorder of one's own, and what metrics and spans cost: publishing without any and with
//! metrics, dispatch without any and with both, in turns. The transport confirms at once, so that
//! the library is all there is to measure; at the end it is a server, in this process. What counts
//! is the processor time of the one thread that all of it runs on, as other programs do not change
//! it much.
//!
//! ```sh
//! cargo run --release -p pubsink-tokio --features metrics --example metrics -- 1000000
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use pubsink_fixtures::server::Server;
use pubsink_tokio::core::dispatch::Event;
use pubsink_tokio::core::envelope::Envelope;
use pubsink_tokio::core::options::PublisherOptions;
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::journal::MemoryJournal;
use pubsink_tokio::metrics::describe;
use pubsink_tokio::seam::{SendLimits, Transport, TransportError};
use pubsink_tokio::sink::PubsubSink;
use pubsink_tokio::{Delivery, Publisher};
use tokio::sync::Semaphore;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, registry};

/// How often each is measured.
const ROUNDS: usize = 7;
/// How many messages or hooks are under way at once.
const UNDER_WAY: usize = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |it| it.parse())?;
    let recorder = Switched::default();
    metrics::set_global_recorder(recorder.clone())?;
    describe();
    let spans = Arc::new(AtomicU64::new(0));
    let server = Server::start()?;
    server.create_topic("projects/p/topics/hooks")?;
    let mut rates = [const { Vec::new() }; 7];
    for _ in 0..ROUNDS {
        for (metrics, rates) in [false, true].into_iter().zip(&mut rates) {
            recorder.0.on.store(metrics, Ordering::Relaxed);
            rates.push(publish(count).await?);
        }
        for ((metrics, keep, server), rates) in [
            (false, false, None),
            (true, false, None),
            (true, true, None),
            (false, false, Some(&server)),
            (true, true, Some(&server)),
        ]
        .into_iter()
        .zip(&mut rates[2..])
        {
            recorder.0.on.store(metrics, Ordering::Relaxed);
            let layer = keep.then(|| Keeps(Arc::clone(&spans)));
            // As a program has it that is not looked for a fault in: no events of the HTTP client.
            let kept =
                layer.map(|layer| set_default(registry().with(layer).with(LevelFilter::INFO)));
            rates.push(dispatch(count, server).await?);
            drop(kept);
        }
    }
    let rates = rates.map(median);
    for (what, without, with) in [
        ("publish, metrics", rates[0], rates[1]),
        ("dispatch, metrics", rates[2], rates[3]),
        ("dispatch, metrics and spans", rates[2], rates[4]),
        (
            "dispatch to a server, metrics and spans",
            rates[5],
            rates[6],
        ),
    ] {
        let ratio = with / without;
        println!("{what}: {with:.0} a CPU second, without {without:.0}: {ratio:.3}");
    }
    println!("{} spans", spans.load(Ordering::Relaxed));
    for (key, value) in &*recorder.0.counters() {
        println!("{key} {}", value.load(Ordering::Relaxed));
    }
    Ok(())
}

/// A publisher to the server, or to nobody.
fn publisher(server: Option<&Server>) -> Result<Publisher, Box<dyn Error>> {
    let options = PublisherOptions::builder("p", "hooks")
        .batch_linger(Duration::from_millis(1))
        .batch_queue_max(2 * UNDER_WAY)
        .batch_queue_tenant(2 * UNDER_WAY);
    Ok(match server {
        Some(server) => {
            let options = options.endpoint(&server.endpoint());
            pubsink_tokio::publisher(options.build()?).spawn()?
        }
        None => {
            let publisher = pubsink_tokio::publisher(options.build()?);
            publisher.transport(Confirms).spawn()?
        }
    })
}

/// Publishes so many messages; tells how many a CPU second.
async fn publish(messages: u32) -> Result<f64, Box<dyn Error>> {
    let publisher = publisher(None)?;
    let body = Bytes::from(vec![b'x'; 100]);
    let started = used();
    let mut waiting: VecDeque<Delivery> = VecDeque::new();
    for _ in 0..messages {
        if waiting.len() == UNDER_WAY
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.await?;
        }
        waiting.push_back(publisher.publish(Message::new(body.clone())));
    }
    for delivery in waiting {
        delivery.await?;
    }
    let took = used().saturating_sub(started).as_secs_f64();
    publisher.shutdown(Duration::from_secs(5)).await;
    Ok(f64::from(messages) / took)
}

/// Has so many hooks delivered out of a journal in memory; tells how many a CPU second.
async fn dispatch(hooks: u32, server: Option<&Server>) -> Result<f64, Box<dyn Error>> {
    let publisher = publisher(server)?;
    let room = Arc::new(Semaphore::new(UNDER_WAY));
    let settled = Arc::clone(&room);
    let dispatch = pubsink_tokio::dispatch(MemoryJournal::default())
        .sink("hooks", PubsubSink::new(publisher.clone()))
        .on_event(move |event| {
            if matches!(event, Event::Settled(_)) {
                settled.add_permits(1);
            }
        })
        .spawn()?;
    let body = Bytes::from(vec![b'x'; 100]);
    let started = used();
    for number in 0..hooks {
        room.acquire().await?.forget();
        let hook = Envelope::new(format!("{number:08}"), "source", 1, body.clone());
        drop(dispatch.enqueue(hook));
    }
    let all = u32::try_from(UNDER_WAY)?;
    room.acquire_many(all).await?.forget();
    let took = used().saturating_sub(started).as_secs_f64();
    dispatch.shutdown(Duration::from_secs(5)).await;
    publisher.shutdown(Duration::from_secs(5)).await;
    Ok(f64::from(hooks) / took)
}

/// The processor time that this thread had; where the system does not tell, the time.
fn used() -> Duration {
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
    let started = *STARTED;
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| started.elapsed(), Duration::from_nanos)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Keeps the fields of every span until it ends, as an exporter does, and counts them.
struct Keeps(Arc<AtomicU64>);

/// What a span says.
struct Said(Vec<(&'static str, Value)>);

/// What a field is set to.
#[expect(dead_code, reason = "an exporter would read it")]
enum Value {
    Text(String),
    Number(u64),
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), Value::Text(value.to_owned())));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), Value::Number(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0
            .push((field.name(), Value::Text(format!("{value:?}"))));
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Keeps {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut said = Said(Vec::with_capacity(8));
        attributes.record(&mut said);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(said);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(said) = span.extensions_mut().get_mut::<Said>()
        {
            values.record(said);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let said = context
            .span(&id)
            .and_then(|span| span.extensions_mut().remove::<Said>());
        if said.is_some_and(|said| said.0.iter().any(|(name, _)| *name == "hook_id")) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
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
