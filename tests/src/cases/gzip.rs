//! Compressed requests: what is stored is the same, and so is what is refused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use pubsink_core::failure::{Class, Outcome};
use pubsink_core::options::{Compression, PublisherOptionsBuilder, Wire};
use pubsink_core::publish::Message;
use pubsink_core::reason::Reason;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::Publisher;
use pubsink_runtime::seam::{SendLimits, Transport};

use super::{all_delivered, failed, numbered, publish_together};
use crate::harness::any::{AnyTransport, Sent};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::host::Client;

cases! {
    Gzip, "a compressed request is stored as one that is not" => there_and_back, .publishes(BOTH);
    Gzip, "a compressed request of ten megabytes is stored" => large, .publishes(BOTH);
    Faults, "compressed: two bad of a hundred are found with the requests it takes without" => bisected, .publishes(BOTH);
    Faults, "compressed: batches are cut by their size before, and what is too large is the same" => sizes, .publishes(BOTH);
    Faults, "compressed: what is not above the threshold, or gets no smaller, is sent as it was" => left_alone, .publishes(BOTH);
    Faults, "compressed: a server that takes none fails every message for now, and nothing is bisected" => not_taken, .publishes(BOTH);
}

/// Of each request: its body's length, and whether it says that it is compressed.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(usize, bool)>>>);

impl Seen {
    fn all(&self) -> Vec<(usize, bool)> {
        self.0.lock().unwrap().clone()
    }

    fn all_compressed(&self) {
        let all = self.all();
        assert!(!all.is_empty());
        assert!(all.iter().all(|(_, compressed)| *compressed), "{all:?}");
    }
}

struct Watched {
    inner: AnyTransport,
    seen: Seen,
}

impl Transport for Watched {
    async fn send(&self, request: Request<Bytes>, limits: SendLimits) -> Sent {
        let said = ["content-encoding", "grpc-encoding"].map(|name| request.headers().get(name));
        let compressed = said.into_iter().flatten().any(|value| value == "gzip");
        let seen = (request.body().len(), compressed);
        self.seen.0.lock().unwrap().push(seen);
        self.inner.send(request, limits).await
    }
}

/// A publisher with the client a user gets, watched.
fn watched(env: &Env, options: PublisherOptionsBuilder) -> (Publisher, Seen) {
    let spec = env.spec(options).explicit();
    let inner = env.host().transport(&spec.client);
    let seen = Seen::default();
    let watched = Watched {
        inner,
        seen: seen.clone(),
    };
    let client = Client::Own(AnyTransport::new(watched));
    (env.start(spec.client(client)), seen)
}

fn gzip(env: &Env, above: usize) -> PublisherOptionsBuilder {
    env.patient_options().compression(Compression::gzip(above))
}

async fn there_and_back(env: Env) {
    let (publisher, seen) = watched(&env, gzip(&env, 0));
    let message = |number: usize| {
        let mut message = Message::new(format!("{number} {}", "\u{e9}x".repeat(number % 90)));
        message.attributes.insert("a \"name\"", "\u{1f98b}\n");
        message
    };
    let messages: Vec<_> = (0..600).map(message).collect();
    let outcomes = publish_together(&publisher, messages.clone()).await;
    all_delivered(&outcomes);
    seen.all_compressed();
    let mut sent: Vec<_> = std::iter::zip(&messages, &outcomes)
        .map(|(message, outcome)| {
            let id = outcome.as_ref().unwrap().message_id.to_string();
            (id, message.data.to_vec())
        })
        .collect();
    let mut came = Vec::new();
    for pulled in env.pull(600).await {
        assert_eq!(pulled.attributes["a \"name\""], "\u{1f98b}\n");
        came.push((pulled.message_id, pulled.data));
    }
    sent.sort();
    came.sort();
    assert_eq!(sent, came);
}

async fn large(env: Env) {
    // A busy machine takes its time for so much.
    let options = gzip(&env, 65_536).timeout(Duration::from_secs(20));
    let (publisher, seen) = watched(&env, options);
    let messages = (0..7_u8).map(|number| Message::new(vec![number; 1_000_000]));
    all_delivered(&publish_together(&publisher, messages).await);
    seen.all_compressed();
    assert!(seen.all()[0].0 < 1_000_000, "{:?}", seen.all());
    let mut came: Vec<_> = env.pull(7).await.into_iter().map(|one| one.data).collect();
    came.sort();
    assert!(
        (0..7_u8)
            .zip(came)
            .all(|(number, data)| data == vec![number; 1_000_000])
    );
}

fn permanent(outcomes: &[Outcome]) -> Vec<usize> {
    let is_permanent = |outcome: &Outcome| {
        let failure = outcome.as_ref().err();
        failure.is_some_and(|failure| failure.class == Class::Permanent)
    };
    let places = (0..outcomes.len()).filter(|at| is_permanent(&outcomes[*at]));
    places.collect()
}

async fn bisected(env: Env) {
    let topic = env.topic();
    env.server()
        .broker(|broker| broker.reject_data(&topic, "POISON"))
        .unwrap();
    let poisoned = || {
        let mut messages = numbered("a message of a batch", 100);
        messages[17] = Message::new("POISON");
        messages[83] = Message::new("POISON");
        messages
    };
    let plain = env.publisher(env.patient_options());
    let without = publish_together(&plain, poisoned()).await;
    let requests = env.publishes();
    let stored = env.stored_text();
    let (publisher, seen) = watched(&env, gzip(&env, 200));
    let with = publish_together(&publisher, poisoned()).await;
    assert_eq!(env.publishes(), 2 * requests);
    assert_eq!(
        (permanent(&with), permanent(&without)),
        (vec![17, 83], vec![17, 83])
    );
    assert_eq!(failed(&with[17]), failed(&without[17]));
    let twice: Vec<_> = stored
        .iter()
        .flat_map(|text| [text.clone(), text.clone()])
        .collect();
    assert_eq!(env.stored_text(), twice);
    let (large, small): (Vec<_>, Vec<_>) = seen.all().into_iter().partition(|(_, gzip)| *gzip);
    assert!(large.len() > 4 && !small.is_empty(), "{large:?} {small:?}");
}

async fn sizes(env: Env) {
    let batches = |env: &Env| -> Vec<usize> {
        let log = env.server().log();
        let publishes = log.publishes();
        publishes.iter().map(|one| one.message_count).collect()
    };
    let messages = || (0..30_u8).map(|number| Message::new(vec![number; 700_000]));
    let largest = match env.wire() {
        Wire::Rest => 7_864_299,
        Wire::Grpc => 9_999_988 - env.topic().len(),
    };
    let mut said = Vec::new();
    for options in [env.patient_options(), gzip(&env, 0)] {
        env.server().clear_log();
        let publisher = env.publisher(options);
        all_delivered(&publish_together(&publisher, messages()).await);
        let (fits, more) = (vec![b'x'; largest], vec![b'x'; largest + 1]);
        all_delivered(&publish_together(&publisher, [Message::new(fits)]).await);
        let mut counts = batches(&env);
        counts.sort_unstable();
        let refused = publish_together(&publisher, [Message::new(more)]).await;
        let failure = failed(&refused[0]).clone();
        assert_eq!(failure.reason.kind(), "message_too_large");
        assert_eq!(
            batches(&env).len(),
            counts.len(),
            "refused without a request"
        );
        said.push((counts, failure));
    }
    assert_eq!(said[0], said[1]);
    let log = env.server().log();
    assert!(log.publishes().iter().all(|one| one.body_bytes < 1_000_000));
}

async fn left_alone(env: Env) {
    let mut random = vec![0; 300_000];
    fastrand::Rng::with_seed(1).fill(&mut random);
    let (publisher, seen) = watched(&env, gzip(&env, 1_000));
    let small = Message::new("x".repeat(600));
    all_delivered(&publish_together(&publisher, [small]).await);
    let large = Message::new("x".repeat(2_000));
    all_delivered(&publish_together(&publisher, [large]).await);
    all_delivered(&publish_together(&publisher, [Message::new(random.clone())]).await);
    let compressed: Vec<_> = seen
        .all()
        .iter()
        .map(|(_, compressed)| *compressed)
        .collect();
    // The base64 of what is random has four characters where three would do.
    assert_eq!(compressed, [false, true, env.wire() == Wire::Rest]);
    assert_eq!(env.stored()[2].message.data, random);
}

async fn not_taken(env: Env) {
    let unknown = Status::new(415, "UNIMPLEMENTED", "gzip is not taken here");
    env.server()
        .script([Rule::on(Match::publish()).then(Action::refuse(&unknown))]);
    let (publisher, seen) = watched(&env, gzip(&env, 0));
    for outcome in publish_together(&publisher, numbered("a message of a batch", 50)).await {
        let failure = failed(&outcome);
        assert_eq!(failure.class, Class::Transient);
        match &*failure.reason {
            Reason::Pubsub {
                status, message, ..
            } => {
                assert_eq!(
                    (&**status, &**message),
                    ("UNIMPLEMENTED", "gzip is not taken here")
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen.all().len(), 1);
}
