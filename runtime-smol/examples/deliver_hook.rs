//! Delivers a webhook, as a handler that received it would, and retries what may pass.

use std::error::Error;
use std::time::Instant;

use pubsink_fixtures::server::Server;
use pubsink_smol::Publisher;
use pubsink_smol::core::delivery::DeliveryContext;
use pubsink_smol::core::envelope::Envelope;
use pubsink_smol::core::failure::Outcome;
use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::core::retry::{NextStep, RetryPolicy};

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    server.create_topic("projects/p/topics/hooks")?;
    let options = PublisherOptions::builder("p", "hooks").endpoint(&server.endpoint());
    let publisher = pubsink_smol::publisher(options.build()?).spawn()?;

    let hook = Envelope {
        id: "019ad465-4e4c-7650-a69e-0d37f2a74de4".to_owned(),
        source_id: "github".to_owned(),
        tenant_id: Some("acme".to_owned()),
        received_at: 1_764_500_000_332,
        method: "POST".to_owned(),
        path: "/hooks/github".to_owned(),
        headers: vec![("X-GitHub-Event".to_owned(), "push".into())],
        content_type: Some("application/json".to_owned()),
        body: r#"{"ref":"refs/heads/main"}"#.into(),
        dedupe_key: Some("d23f0824".to_owned()),
    };
    match deliver(&publisher, &hook).await {
        Ok(delivered) => println!("stored as {}", delivered.message_id),
        Err(failure) => println!("{failure}"),
    }
    Ok(())
}

/// Up to 5 attempts by the default policy.
async fn deliver(publisher: &Publisher, hook: &Envelope) -> Outcome {
    let policy = RetryPolicy {
        max_attempts: 5,
        ..RetryPolicy::default()
    };
    let mut rng = fastrand::Rng::new();
    let started = Instant::now();
    let mut context = DeliveryContext::batched();
    loop {
        let outcome = publisher.deliver(hook, &context).await;
        let Err(failure) = &outcome else {
            return outcome;
        };
        let elapsed = started.elapsed();
        match policy.next_step(failure, context.attempt, elapsed, &mut rng) {
            NextStep::GiveUp => return outcome,
            NextStep::RetryAfter(pause) => {
                smol::Timer::after(pause).await;
            }
        }
        context.attempt += 1;
    }
}
