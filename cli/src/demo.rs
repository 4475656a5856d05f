//! `pubsink demo`: the main job, end to end, on the embedded Pub/Sub.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::pin::pin;

use bytes::Bytes;
use clap::Args;
use futures_util::future::join_all;
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::{Class, Failure, Outcome};
use pubsink_core::options::PublisherOptions;
use pubsink_core::subscribe::SubscriberOptions;
use pubsink_core::token::Token;
use pubsink_core::{envelope_line, message};
use pubsink_fixtures::broker::{PubsubMessage, Status, SubscriptionConfig};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::hooks;
use pubsink_fixtures::server::Server;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{Runtime, Timer as _, Transport};

use crate::exit::{CommandError, Exit};
use crate::read_back::read_back;
use crate::runtime::{RuntimeFlag, Tasks, Work};
use crate::say::{say, try_print};

const TOPIC: &str = "projects/demo/topics/hooks";
const SUBSCRIPTION: &str = "projects/demo/subscriptions/hooks-sub";
const POISONED: &str = "demo-poisoned";
const OVERSIZE: &str = "demo-oversize";
const THROTTLED: &str = "demo-throttled";

/// Publish sample hooks to an embedded Pub/Sub and read them back; needs no network.
///
/// Starts Pub/Sub in memory, publishes sample hooks of several tenants with one poisoned, one
/// oversize and one throttled among them, reads them back, and shows what became of each kind.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing was lost; 1 something was, or could not be shown; 2 it could not run"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    runtime: RuntimeFlag,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let server = start_server()?;
    let options = PublisherOptions::builder("demo", "hooks")
        .endpoint(&server.endpoint())
        // So that the oversize hook is refused by Pub/Sub's own limit, not sent to a claim store.
        .inline_max_bytes(64 * 1024 * 1024)
        .build()
        .map_err(|error| CommandError(error.to_string()))?;
    let hooks = hooks()?;
    let tokens = None::<Token>;
    let work = Showing { server, hooks };
    arguments.runtime.run(Tasks::Here, options, tokens, work)
}

/// The demo, once there is a publisher.
struct Showing {
    server: Server,
    hooks: Vec<Envelope>,
}

impl Work for Showing {
    type Done = Exit;

    async fn run<R: Runtime, T: Transport>(
        self,
        runtime: R,
        client: T,
        publisher: Publisher,
    ) -> Result<Exit, CommandError> {
        let Self { server, hooks } = self;
        let began = show(start(&server, &hooks));
        let outcomes = publish(&runtime, &publisher, &hooks).await;
        let delivered = delivered(&outcomes);
        let subscription = SubscriberOptions::builder("demo", "hooks-sub");
        let subscription = subscription.endpoint(&server.endpoint());
        let data = read_back(&runtime, client, subscription, delivered).await?;
        // None that should not be there.
        let left = server.broker(|broker| broker.has_ready(SUBSCRIPTION));
        let requests = server.log().publishes().len();
        let (words, exit) = end(&hooks, &outcomes, &data, left, requests);
        let shown = began && show(words);
        Ok(if shown { exit } else { Exit::Failed })
    }
}

/// Whether the words are written, as long as anybody reads: a reader that has seen enough
/// (`| head`) does not stop the demo.
fn show(words: String) -> bool {
    match try_print(words) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say(format_args!(
                "pubsink: cannot show what comes of it: {error}"
            ));
            false
        }
        _ => true,
    }
}

/// A Pub/Sub that refuses any request with the poisoned hook in it, and throttles the throttled
/// one once.
fn start_server() -> Result<Server, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::new("cannot start Pub/Sub", error);
    let status = |status: Status| failed(&status);
    let is = |id: &'static str| {
        move |message: &PubsubMessage| {
            message
                .attributes
                .get("ankusa_id")
                .is_some_and(|known| known == id)
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
    let lines = hooks::sample_ndjson()
        .lines()
        .filter(|line| !line.trim().is_empty());
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
    hooks.insert(
        middle,
        trouble(POISONED, Bytes::from_static(b"{\"schema\":\"wrong\"}")),
    );
    hooks.push(trouble(OVERSIZE, Bytes::from(vec![b'x'; 8 * 1024 * 1024])));
    hooks.push(trouble(
        THROTTLED,
        Bytes::from_static(b"{\"slow\":\"down\"}"),
    ));
    Ok(hooks)
}

/// What became of a hook, attempt by attempt.
type History = Vec<Outcome>;

async fn publish<R: Runtime>(
    runtime: &R,
    publisher: &Publisher,
    hooks: &[Envelope],
) -> Vec<History> {
    join_all(hooks.iter().map(|hook| deliver(runtime, publisher, hook))).await
}

/// Delivers a hook; after a throttle once more.
async fn deliver<R: Runtime>(runtime: &R, publisher: &Publisher, hook: &Envelope) -> History {
    let mut context = DeliveryContext::batched();
    // In a request of its own: a throttle concerns every hook of its request.
    context.batch = hook.id != THROTTLED;
    let mut history = vec![publisher.deliver(hook, &context).await];
    if let Some(Err(Failure {
        class: Class::RetryAfter(pause),
        ..
    })) = history.last()
    {
        let mut timer = pin!(runtime.timer());
        timer.as_mut().reset(runtime.now() + *pause);
        timer.await;
        context.attempt += 1;
        history.push(publisher.deliver(hook, &context).await);
    }
    history
}

fn start(server: &Server, hooks: &[Envelope]) -> String {
    let mut tenants: Vec<_> = hooks
        .iter()
        .filter_map(|hook| hook.tenant_id.as_deref())
        .collect();
    tenants.sort_unstable();
    tenants.dedup();
    let without = hooks.iter().filter(|hook| hook.tenant_id.is_none()).count();
    format!(
        "Pub/Sub in memory at {}, topic {TOPIC}\n\
         Publishing {} hooks of {} tenants ({without} hooks have none): one is poisoned, one \
         oversize, one throttled.\n",
        server.endpoint(),
        hooks.len(),
        tenants.len()
    )
}

/// What became of each kind, and whether nothing was lost.
fn end(
    hooks: &[Envelope],
    outcomes: &[History],
    data: &[Bytes],
    left: bool,
    requests: usize,
) -> (String, Exit) {
    let mut words = String::new();
    for (hook, history) in hooks.iter().zip(outcomes) {
        for (attempt, outcome) in history.iter().enumerate() {
            let became = match outcome {
                Err(failure) => failure.to_string(),
                Ok(_) if attempt > 0 => "delivered".to_owned(),
                Ok(_) => continue,
            };
            words += &format!("{:<15} attempt {}  {became}\n", hook.id, attempt + 1);
        }
    }
    let delivered = delivered(outcomes);
    let failed = hooks.len() - delivered;
    let whole = whole(hooks, data);
    let read = data.len();
    let proven = whole == delivered && read == delivered && failed == 2 && !left;
    words += &format!(
        "\n{delivered} delivered in {requests} requests, the bisection of the poisoned batch included.\n\
         {read} read back and decoded, {whole} of them with the body byte for byte.\n\
         {}: {} hooks = {delivered} delivered and read back + {failed} refused, each with its reason.",
        if proven {
            "Nothing lost"
        } else {
            "SOMETHING IS WRONG"
        },
        hooks.len()
    );
    (
        words,
        if proven {
            Exit::Delivered
        } else {
            Exit::Failed
        },
    )
}

/// How many hooks were delivered in the end.
fn delivered(outcomes: &[History]) -> usize {
    let ends = outcomes.iter().filter_map(|history| history.last());
    ends.filter(|outcome| outcome.is_ok()).count()
}

/// How many different hooks came back whole.
fn whole(hooks: &[Envelope], data: &[Bytes]) -> usize {
    let mut sent: HashMap<_, _> = hooks
        .iter()
        .map(|hook| (hook.id.as_str(), &hook.body))
        .collect();
    let messages = data.iter().filter_map(|data| message::decode(data).ok());
    messages
        .filter(|message| sent.remove(message.id.as_str()) == message.body.as_ref())
        .count()
}
