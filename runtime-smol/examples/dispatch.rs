//! Delivers webhooks to a topic, and tells of what became of them.

use std::error::Error;
use std::time::Duration;

use pubsink_fixtures::server::Server;
use pubsink_smol::core::dispatch::Event;
use pubsink_smol::core::envelope::Envelope;
use pubsink_smol::core::options::PublisherOptions;
use pubsink_smol::journal::MemoryJournal;
use pubsink_smol::sink::{LogSink, PubsubSink};

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let server = Server::start()?;
    server.create_topic("projects/p/topics/hooks")?;
    let options = PublisherOptions::builder("p", "hooks").endpoint(&server.endpoint());
    let publisher = pubsink_smol::publisher(options.build()?).spawn()?;

    let dispatch = pubsink_smol::dispatch(MemoryJournal::default())
        .sink("topic", PubsubSink::new(publisher))
        .sink("log", LogSink)
        .on_event(|event| {
            if let Event::Settled(settled) = event {
                let (hook, sink) = (&settled.row.envelope.id, &settled.row.lane.sink);
                match &settled.outcome {
                    Ok(_) => println!("{hook} was delivered to {sink}"),
                    Err((failure, _)) => println!("{hook} is a dead letter of {sink}: {failure}"),
                }
            }
        })
        .spawn()?;

    let accepted = [hook("one", 9), hook("two", 100_000)].map(|hook| dispatch.enqueue(hook));
    for hook in accepted {
        // Its sender can be told now that it was received: come what may, it is not lost.
        hook.await?;
    }
    // The second is too large for a message, and came without a claim.
    while server.stored("projects/p/topics/hooks").is_empty() || dispatch.gauges().rows > 0 {
        smol::Timer::after(Duration::from_millis(5)).await;
    }
    dispatch.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

fn hook(id: &str, size: usize) -> Envelope {
    Envelope {
        tenant_id: Some("acme".to_owned()),
        path: "/hooks/github".to_owned(),
        headers: vec![("X-GitHub-Event".to_owned(), "push".into())],
        content_type: Some("text/plain".to_owned()),
        ..Envelope::new(id, "github", 1_764_500_000_332, vec![b'x'; size])
    }
}
