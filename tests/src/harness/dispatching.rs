//! A dispatcher between a journal and topics, on any runtime.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, join_all};
use pubsink_core::dispatch::{Accepted, BreakerPolicy, DispatchOptions, Settled};
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::{Filter, ReplayJob, ReplayState};
use pubsink_core::retry::RetryPolicy;
use pubsink_runtime::Publisher;
use pubsink_runtime::dispatch::Dispatch;
use pubsink_runtime::journal::Journal as _;
use pubsink_runtime::sink::PubsubSink;

use super::claims::Store;
use super::env::Env;
use super::heard::{Heard, Observer};
use super::host::Host;
use super::journals::Watched;

/// How long a case waits for what is to come by itself: a busy machine takes its time.
const PATIENCE: u64 = 50;

/// What a dispatcher is made of.
pub(crate) struct Plan {
    pub(crate) journal: Arc<Watched>,
    /// By name.
    pub(crate) sinks: Vec<(String, PubsubSink)>,
    pub(crate) claims: Option<Store>,
    pub(crate) options: DispatchOptions,
    pub(crate) observer: Observer,
}

/// The defaults, with times that fit a case: retries at most 2 s apart, a sink left alone for half
/// a second, a second at most.
pub(crate) fn quick() -> DispatchOptions {
    DispatchOptions {
        retry: RetryPolicy {
            max: Duration::from_secs(2),
            ..RetryPolicy::default()
        },
        breaker: BreakerPolicy {
            failures: 5,
            open: Duration::from_millis(500),
            max_open: Duration::from_secs(1),
        },
        ..DispatchOptions::default()
    }
}

/// The same for a sink that is never left alone.
pub(crate) fn unbroken() -> DispatchOptions {
    let mut options = quick();
    options.breaker.failures = u32::MAX;
    options
}

/// A hook of that id. Its body is its id.
pub(crate) fn hook(id: impl Into<String>) -> Envelope {
    let id = id.into();
    Envelope {
        body: Bytes::from(id.clone()),
        id,
        source_id: "tests".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        content_type: None,
        dedupe_key: None,
    }
}

/// Hooks of the ids `name-0`, `name-1`, ….
pub(crate) fn hooks(name: &str, count: usize) -> Vec<Envelope> {
    let ids = (0..count).map(|number| format!("{name}-{number}"));
    ids.map(hook).collect()
}

/// A dispatcher that runs.
pub(crate) struct Dispatching {
    pub(crate) dispatch: Dispatch,
    pub(crate) journal: Arc<Watched>,
    pub(crate) heard: Heard,
    /// Ends its driver, where that is the case's own.
    abort: Option<AbortHandle>,
}

impl Env {
    /// A dispatcher to one topic, by the constructor a user calls.
    pub(crate) fn dispatching(
        &self,
        journal: Watched,
        publisher: Publisher,
        options: DispatchOptions,
    ) -> Dispatching {
        self.dispatching_to(journal, vec![("topic".to_owned(), publisher)], options)
    }

    /// A dispatcher to several topics by name.
    pub(crate) fn dispatching_to(
        &self,
        journal: Watched,
        publishers: Vec<(String, Publisher)>,
        options: DispatchOptions,
    ) -> Dispatching {
        Dispatching::on(self.host(), journal, publishers, options)
    }

    /// A dispatcher whose driver can be [killed](Dispatching::kill).
    pub(crate) fn mortal_dispatching(
        &self,
        journal: Watched,
        publisher: Publisher,
        options: DispatchOptions,
    ) -> Dispatching {
        let publishers = vec![("topic".to_owned(), publisher)];
        self.mortal(plan(journal, publishers, options))
    }

    /// A dispatcher to one topic that checks large bodies in at `claims`.
    pub(crate) fn claiming(
        &self,
        journal: Watched,
        publisher: Publisher,
        claims: &Store,
        options: DispatchOptions,
    ) -> Dispatching {
        let publishers = vec![("topic".to_owned(), publisher)];
        self.claiming_to(journal, publishers, claims, options)
    }

    /// The same for several topics by name.
    pub(crate) fn claiming_to(
        &self,
        journal: Watched,
        publishers: Vec<(String, Publisher)>,
        claims: &Store,
        options: DispatchOptions,
    ) -> Dispatching {
        let (mut plan, heard) = plan(journal, publishers, options);
        plan.claims = Some(claims.clone());
        Dispatching::start(self.host(), plan, heard)
    }

    /// The same for one topic, with a driver that can be [killed](Dispatching::kill).
    pub(crate) fn mortal_claiming(
        &self,
        journal: Watched,
        publisher: Publisher,
        claims: &Store,
        options: DispatchOptions,
    ) -> Dispatching {
        let publishers = vec![("topic".to_owned(), publisher)];
        let (mut plan, heard) = plan(journal, publishers, options);
        plan.claims = Some(claims.clone());
        self.mortal((plan, heard))
    }

    fn mortal(&self, (plan, heard): (Plan, Heard)) -> Dispatching {
        let journal = Arc::clone(&plan.journal);
        let (dispatch, driver) = self.host().connect_dispatch(plan);
        let (abort, registration) = AbortHandle::new_pair();
        let driver = Abortable::new(driver, registration);
        self.spawn(async move {
            let _ = driver.await;
        });
        Dispatching {
            dispatch,
            journal,
            heard,
            abort: Some(abort),
        }
    }

    /// The ids of the hooks that the embedded server stored for the case's topic, in the order
    /// they came.
    pub(crate) fn stored_hooks(&self) -> Vec<String> {
        self.hooks_in(&self.topic())
    }

    /// The same for any topic, by its full name.
    pub(crate) fn hooks_in(&self, topic: &str) -> Vec<String> {
        let stored = self.server().stored(topic);
        let ids = stored
            .iter()
            .map(|one| &one.message.attributes["ankusa_id"]);
        ids.cloned().collect()
    }
}

fn plan(
    journal: Watched,
    publishers: Vec<(String, Publisher)>,
    options: DispatchOptions,
) -> (Plan, Heard) {
    let heard = Heard::default();
    let sinks = publishers.into_iter();
    let sinks = sinks.map(|(name, publisher)| (name, PubsubSink::new(publisher)));
    let plan = Plan {
        journal: Arc::new(journal),
        sinks: sinks.collect(),
        claims: None,
        options,
        observer: heard.observer(),
    };
    (plan, heard)
}

impl Dispatching {
    /// A dispatcher on a runtime of the case's choice.
    pub(crate) fn on(
        host: &dyn Host,
        journal: Watched,
        publishers: Vec<(String, Publisher)>,
        options: DispatchOptions,
    ) -> Self {
        let (plan, heard) = plan(journal, publishers, options);
        Self::start(host, plan, heard)
    }

    fn start(host: &dyn Host, plan: Plan, heard: Heard) -> Self {
        let journal = Arc::clone(&plan.journal);
        Self {
            dispatch: host.dispatch(plan),
            journal,
            heard,
            abort: None,
        }
    }

    /// Hands hooks over, in order; every one has to be kept.
    pub(crate) async fn accept(&self, hooks: impl IntoIterator<Item = Envelope>) {
        let hooks = hooks.into_iter();
        let accepted: Vec<_> = hooks.map(|hook| self.dispatch.enqueue(hook)).collect();
        for accepted in join_all(accepted).await {
            assert!(matches!(accepted, Ok(Accepted::Stored(_))), "{accepted:?}");
        }
    }

    /// Waits until so many rows are done with.
    pub(crate) async fn settled(&self, env: &Env, count: usize) -> Vec<Settled> {
        let what = format!("{count} rows are settled");
        env.until_within(PATIENCE, &what, || self.heard.settled_count() >= count)
            .await;
        let settled = self.heard.settled();
        assert_eq!(settled.len(), count);
        settled
    }

    /// The same, none of which may be a dead letter.
    pub(crate) async fn delivered(&self, env: &Env, count: usize) -> Vec<Settled> {
        let settled = self.settled(env, count).await;
        for one in &settled {
            assert!(one.outcome.is_ok(), "{one:?}");
        }
        settled
    }

    /// Waits until every one of these hooks is stored, once or more often.
    pub(crate) async fn all_stored(&self, env: &Env, ids: &[String]) {
        let all_stored = || {
            let stored = env.stored_hooks();
            ids.iter().all(|id| stored.contains(id))
        };
        env.until_within(PATIENCE, "every hook is stored", all_stored)
            .await;
    }

    /// Sends dead letters again, and waits until the job has sent all it meant.
    pub(crate) async fn replay(&self, env: &Env, id: &str, filter: Filter) -> ReplayJob {
        let mut job = ReplayJob::new(id, filter);
        job.per_second = 1_000;
        let begun = self.dispatch.begin_replay(job).await;
        assert_eq!(begun.expect("it begins").state, ReplayState::Running);
        for _ in 0..PATIENCE * 50 {
            let jobs = self.journal.replays().await.expect("the journal is read");
            let job = jobs.into_iter().find(|job| &*job.id == id);
            let job = job.expect("the job is kept");
            if job.state != ReplayState::Running && job.is_settled() {
                return job;
            }
            env.sleep(20).await;
        }
        panic!("replay {id} does not end");
    }

    /// Closes it as an operator does; what it had not delivered is in the journal.
    pub(crate) async fn stop(self, env: &Env) -> Watched {
        self.dispatch.shutdown(Duration::from_secs(20)).await;
        self.end(env).await
    }

    /// Ends its driver in the middle of whatever it does.
    pub(crate) async fn kill(self, env: &Env) -> Watched {
        self.kill_driver();
        self.end(env).await
    }

    /// Has its driver dropped soon, and leaves the rest as it is.
    pub(crate) fn kill_driver(&self) {
        let abort = self.abort.as_ref().expect("its driver is the case's own");
        abort.abort();
    }

    /// Drops the handle and nothing else; it closes by itself.
    pub(crate) async fn end(self, env: &Env) -> Watched {
        let Self {
            dispatch, journal, ..
        } = self;
        drop(dispatch);
        // Tasks that the driver began may have it for a moment.
        env.until_within(PATIENCE, "nobody has the journal", || {
            Arc::strong_count(&journal) == 1
        })
        .await;
        let journal = Arc::into_inner(journal);
        journal.expect("nobody else has it").reopen()
    }
}
