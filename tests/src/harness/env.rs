//! What a case is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, Either, select};
use pubsink_core::options::{PublisherOptions, PublisherOptionsBuilder};
use pubsink_core::subscribe::Wire;
use pubsink_fixtures::broker::StoredMessage;
use pubsink_fixtures::server::Server;
use pubsink_runtime::Publisher;
use serde_json::{Value, json};

use super::host::{Flavor, Host, Spec, Started};
use super::recorder::Recorder;
use super::runtimes::RuntimeEntry;
use super::servers::Opened;

pub(crate) const PROJECT: &str = "pubsink-tests";

/// A server with a topic and a subscription of the case's own, and the runtime it runs on.
#[derive(Clone)]
pub(crate) struct Env(Arc<Inner>);

struct Inner {
    host: Arc<dyn Host>,
    runtime: RuntimeEntry,
    server: Opened,
    wire: Wire,
    publishes: bool,
    number: u64,
}

impl Env {
    pub(super) fn new(
        host: Arc<dyn Host>,
        runtime: RuntimeEntry,
        server: Opened,
        wire: Wire,
        publishes: bool,
    ) -> Self {
        static CASES: AtomicU64 = AtomicU64::new(0);
        Self(Arc::new(Inner {
            host,
            runtime,
            server,
            wire,
            publishes,
            number: CASES.fetch_add(1, Ordering::Relaxed),
        }))
    }

    /// Creates the topic and the subscription.
    pub(super) async fn prepare(&self) {
        self.create_topic(&self.topic_id(), false).await;
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.0.host
    }

    /// The wire this run of the case is on.
    pub(crate) fn wire(&self) -> Wire {
        self.0.wire
    }

    pub(crate) fn endpoint(&self) -> String {
        self.0.server.endpoint()
    }

    /// The short id of the case's topic. That of its subscription is the same.
    pub(crate) fn topic_id(&self) -> String {
        format!("case-{}", self.0.number)
    }

    /// The full name of the case's topic.
    pub(crate) fn topic(&self) -> String {
        format!("projects/{PROJECT}/topics/{}", self.topic_id())
    }

    /// Options for the case's topic.
    pub(crate) fn options(&self) -> PublisherOptionsBuilder {
        self.options_for(&self.topic_id())
    }

    /// The same with a linger that no case outlasts: what waits leaves full or by a flush.
    pub(crate) fn patient_options(&self) -> PublisherOptionsBuilder {
        self.options().batch_linger(Duration::from_secs(60))
    }

    pub(crate) fn options_for(&self, topic_id: &str) -> PublisherOptionsBuilder {
        let options = PublisherOptions::builder(PROJECT, topic_id);
        let wire = match self.0.publishes {
            true => self.wire(),
            false => Wire::Rest,
        };
        options.endpoint(&self.endpoint()).wire(wire)
    }

    /// A publisher with the default client and without credentials.
    pub(crate) fn publisher(&self, options: PublisherOptionsBuilder) -> Publisher {
        self.start(self.spec(options))
    }

    pub(crate) fn spec(&self, options: PublisherOptionsBuilder) -> Spec {
        Spec::new(options.build().expect("the case's options are in range"))
    }

    pub(crate) fn start(&self, spec: Spec) -> Publisher {
        self.0.host.publisher(spec)
    }

    /// A publisher whose requests are counted, on any server.
    pub(crate) fn recorded(&self, options: PublisherOptionsBuilder) -> (Publisher, Recorder) {
        let recorder = Recorder::default();
        let spec = self.spec(options).recorded(self.host(), &recorder);
        (self.start(spec), recorder)
    }

    /// The embedded server, for cases that need faults.
    pub(crate) fn server(&self) -> &Server {
        let server = self.embedded();
        server.expect("a case that needs faults says so")
    }

    /// The embedded server, where this is one.
    pub(crate) fn embedded(&self) -> Option<&Server> {
        match &self.0.server {
            Opened::Embedded(server) => Some(server),
            Opened::Remote(_) => None,
        }
    }

    /// What the embedded server stored for the case's topic.
    pub(crate) fn stored(&self) -> Vec<Arc<StoredMessage>> {
        self.server().stored(&self.topic())
    }

    /// The data of what the embedded server stored, as text, sorted.
    pub(crate) fn stored_text(&self) -> Vec<String> {
        let text = |stored: &Arc<StoredMessage>| {
            String::from_utf8(stored.message.data.to_vec()).expect("the case published text")
        };
        let mut all: Vec<_> = self.stored().iter().map(text).collect();
        all.sort();
        all
    }

    /// How many publish requests the embedded server has read.
    pub(crate) fn publishes(&self) -> usize {
        self.server().log().publishes().len()
    }

    pub(crate) async fn sleep(&self, milliseconds: u64) {
        self.0.host.sleep(Duration::from_millis(milliseconds)).await;
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.host.spawn(Box::pin(task));
    }

    /// What the future gives, if it does so in time.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        let limit = self.0.host.sleep(limit);
        match select(Box::pin(future), limit).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// Waits until something holds; fails after 10 s.
    pub(crate) async fn until(&self, what: &str, holds: impl FnMut() -> bool) {
        self.until_within(10, what, holds).await;
    }

    /// Waits until something holds; fails after so many seconds.
    pub(crate) async fn until_within(
        &self,
        seconds: u64,
        what: &str,
        mut holds: impl FnMut() -> bool,
    ) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds) {
            if holds() {
                return;
            }
            self.sleep(5).await;
        }
        panic!("waited {seconds} s in vain until {what}");
    }

    /// Another runtime of the same kind, which the case may shut down by dropping it.
    pub(crate) fn other_runtime(&self, flavor: Flavor) -> Box<dyn Started> {
        (self.0.runtime.start)(flavor, std::thread::current().name().unwrap_or("case"))
    }

    /// Creates a topic and a subscription of the same id.
    pub(crate) async fn create_topic(&self, id: &str, ordered: bool) {
        let topic = format!("projects/{PROJECT}/topics/{id}");
        let created = self.put(&topic, json!({}));
        assert_eq!(created.await.0, 200, "creating topic {id}");
        self.create_subscription(id, &topic, ordered).await;
    }

    pub(crate) async fn create_subscription(&self, id: &str, topic: &str, ordered: bool) {
        let config = json!({
            "topic": topic,
            "ackDeadlineSeconds": 60,
            "enableMessageOrdering": ordered,
        });
        self.create_subscription_as(id, config).await;
    }

    /// Creates a subscription by its resource.
    pub(crate) async fn create_subscription_as(&self, id: &str, config: Value) {
        let name = format!("projects/{PROJECT}/subscriptions/{id}");
        let (status, reply) = self.put(&name, config).await;
        assert_eq!(status, 200, "creating subscription {id}: {reply}");
    }

    fn put(&self, name: &str, body: Value) -> BoxFuture<'_, (u16, Value)> {
        let path = super::rest::path_of(name);
        Box::pin(async move { self.call("PUT", &path, &body).await })
    }
}
