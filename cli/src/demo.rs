//! `pubsink demo`: the main job, end to end, on the embedded Pub/Sub.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::Args;
use futures_util::future::join_all;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::{Class, Failure, Outcome};
use pubsink_core::options::PublisherOptions;
use pubsink_core::{envelope_line, message};
use pubsink_fixtures::broker::{PubsubMessage, Status, SubscriptionConfig};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::hooks;
use pubsink_fixtures::server::Server;
use pubsink_tokio::{HttpClient, Publisher};

use crate::exit::{CommandError, Exit};
use crate::publish::tokio_runtime;
use crate::pull::Subscription;

const TOPIC: &str = "projects/demo/topics/hooks";
const SUBSCRIPTION: &str = "projects/demo/subscriptions/hooks-sub";
const POISONED: &str = "demo-poisoned";
const OVERSIZE: &str = "demo-oversize";
const THROTTLED: &str = "demo-throttled";

/// Starts an embedded Pub/Sub, publishes sample hooks of several tenants with one poisoned, one
/// oversize and one throttled among them, reads them back, and shows what became of each kind.
#[derive(Debug, Args)]
pub(crate) struct Arguments {}

/// Runs the command.
pub(crate) fn run(_: &Arguments) -> Result<Exit, CommandError> {
    let server = start_server()?;
    let options = PublisherOptions::builder("demo", "hooks")
        .endpoint(&server.endpoint())
        // So that the oversize hook is refused by Pub/Sub's own limit, not sent to a claim store.
        .inline_max_bytes(64 * 1024 * 1024)
        .build()
        .map_err(|error| CommandError(error.to_string()))?;
    let hooks = hooks()?;
    tokio_runtime()?.block_on(async {
        let publisher = pubsink_tokio::publisher(options).spawn();
        let publisher = publisher.map_err(|error| CommandError(error.to_string()))?;
        say_start(&server, &hooks);
        let outcomes = publish(&publisher, &hooks).await;
        let client = HttpClient::new();
        let subscription = Subscription {
            client: &client,
            endpoint: publisher.options().endpoint(),
            name: SUBSCRIPTION,
        };
        let received = subscription.drain().await?;
        let data: Result<Vec<_>, _> = (received.iter())
            .map(|received| STANDARD.decode(&received.message.data))
            .collect();
        let data = data.map_err(|error| CommandError::new("a message that was read back", error))?;
        Ok(say_end(&hooks, &outcomes, &data, server.log().publishes().len()))
    })
}

/// A Pub/Sub that refuses any request with the poisoned hook in it, and throttles the throttled
/// one once.
fn start_server() -> Result<Server, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::new("cannot start Pub/Sub", error);
    let status = |status: Status| failed(&status);
    let is = |id: &'static str| {
        move |message: &PubsubMessage| {
            message.attributes.get("ankusa_id").is_some_and(|known| known == id)
        }
    };
    let server = Server::start().map_err(|error| failed(&error))?;
    server.create_topic(TOPIC).map_err(status)?;
    let subscription = SubscriptionConfig::new(SUBSCRIPTION, TOPIC);
    server.create_subscription(subscription).map_err(status)?;
    let poisoned = server.broker(|broker| broker.reject_messages(TOPIC, is(POISONED)));
    poisoned.map_err(status)?;
    let throttled = Match::publish().messages(move |messages| messages.iter().any(is(THROTTLED)));
    let busy = Status::resource_exhausted("Quota exceeded, slow down.");
    server.script([Rule::on(throttled).times(1).then(Action::refuse(&busy))]);
    Ok(server)
}

/// The sample hooks, and three that meet trouble.
fn hooks() -> Result<Vec<Envelope>, CommandError> {
    let lines = hooks::sample_ndjson().lines().filter(|line| !line.trim().is_empty());
    let hooks: Result<Vec<_>, _> = lines
        .map(|line| {
            let line = envelope_line::parse(line.as_bytes());
            line.map(|line| line.into_envelope(String::new, 0))
        })
        .collect();
    let mut hooks = hooks.map_err(|error| CommandError::new("a sample hook", error))?;
    let trouble = |id: &str, body: Bytes| Envelope {
        id: id.to_owned(),
        source_id: "demo".to_owned(),
        tenant_id: Some("acme".to_owned()),
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/hooks/demo".to_owned(),
        headers: Vec::new(),
        content_type: Some("application/json".to_owned()),
        body,
        dedupe_key: None,
    };
    let middle = hooks.len() / 2;
    hooks.insert(middle, trouble(POISONED, Bytes::from_static(b"{\"schema\":\"wrong\"}")));
    hooks.push(trouble(OVERSIZE, Bytes::from(vec![b'x'; 8 * 1024 * 1024])));
    hooks.push(trouble(THROTTLED, Bytes::from_static(b"{\"slow\":\"down\"}")));
    Ok(hooks)
}

/// What became of a hook, attempt by attempt.
type History = Vec<Outcome>;

async fn publish(publisher: &Publisher, hooks: &[Envelope]) -> Vec<History> {
    join_all(hooks.iter().map(|hook| deliver(publisher, hook))).await
}

/// Delivers a hook; after a throttle once more.
async fn deliver(publisher: &Publisher, hook: &Envelope) -> History {
    let mut context = DeliveryContext::batched();
    // In a request of its own: a throttle concerns every hook of its request.
    context.batch = hook.id != THROTTLED;
    let mut history = vec![publisher.deliver(hook, &context).await];
    if let Some(Err(Failure { class: Class::RetryAfter(pause), .. })) = history.last() {
        tokio::time::sleep(*pause).await;
        context.attempt += 1;
        history.push(publisher.deliver(hook, &context).await);
    }
    history
}

fn say_start(server: &Server, hooks: &[Envelope]) {
    let mut tenants: Vec<_> = hooks.iter().filter_map(|hook| hook.tenant_id.as_deref()).collect();
    tenants.sort_unstable();
    tenants.dedup();
    let without = hooks.iter().filter(|hook| hook.tenant_id.is_none()).count();
    println!("Pub/Sub in memory at {}, topic {TOPIC}", server.endpoint());
    println!(
        "Publishing {} hooks of {} tenants ({without} hooks have none): one is poisoned, one \
         oversize, one throttled.\n",
        hooks.len(),
        tenants.len()
    );
}

/// Shows what became of each kind; whether nothing was lost.
fn say_end(hooks: &[Envelope], outcomes: &[History], data: &[Vec<u8>], requests: usize) -> Exit {
    let mut delivered = 0;
    for (hook, history) in hooks.iter().zip(outcomes) {
        for (attempt, outcome) in history.iter().enumerate() {
            if let Err(failure) = outcome {
                println!("{:<15} attempt {}  {failure}", hook.id, attempt + 1);
            } else if attempt > 0 {
                println!("{:<15} attempt {}  delivered", hook.id, attempt + 1);
            }
        }
        delivered += usize::from(matches!(history.last(), Some(Ok(_))));
    }
    let failed = hooks.len() - delivered;
    let whole = read_back(hooks, data);
    println!("\n{delivered} delivered in {requests} requests, the bisection of the poisoned batch included.");
    println!("{} read back and decoded, {whole} of them with the body byte for byte.", data.len());
    let proven = whole == delivered && data.len() == delivered && failed == 2;
    println!(
        "{}: {} hooks = {delivered} delivered and read back + {failed} refused, each with its reason.",
        if proven { "Nothing lost" } else { "SOMETHING IS WRONG" },
        hooks.len()
    );
    if proven { Exit::Delivered } else { Exit::Failed }
}

/// How many different hooks came back whole.
fn read_back(hooks: &[Envelope], data: &[Vec<u8>]) -> usize {
    let mut sent: HashMap<_, _> = hooks.iter().map(|hook| (hook.id.as_str(), &hook.body)).collect();
    let messages = data.iter().filter_map(|data| message::decode(data).ok());
    messages
        .filter(|message| sent.remove(message.id.as_str()) == message.body.as_ref())
        .count()
}
