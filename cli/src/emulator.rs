//! `pubsink emulator`: the embedded Pub/Sub as a local server.

use std::io;

use clap::Args;
use pubsink_fixtures::broker::SubscriptionConfig;
use pubsink_fixtures::server::Server;

use crate::exit::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::say::{print, say};

/// Run an embedded Pub/Sub as a local server, in memory.
///
/// Serves Pub/Sub, over REST and gRPC, on 127.0.0.1 until SIGINT or SIGTERM. Prints its address as
/// host:port on standard output, which is what PUBSUB_EMULATOR_HOST takes.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 ended by a signal; 2 it could not run")]
pub(crate) struct Arguments {
    /// The port; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Create this topic, and with :SUB a subscription to it; may be given again. Short ids, or
    /// projects/P/topics/T[:SUB]
    #[arg(long = "topic", value_name = "T[:SUB]")]
    topics: Vec<String>,
    /// The project of short ids
    #[arg(long, value_name = "P", default_value = "local")]
    project: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let server = start(arguments.port).map_err(|error| {
        CommandError::new(format!("cannot listen on port {}", arguments.port), error)
    })?;
    for topic in &arguments.topics {
        let created = create(&server, topic, &arguments.project);
        created.map_err(|error| CommandError::new(format!("--topic {topic}"), error))?;
    }
    let interrupt = Interrupt::listen()?;
    print(server.addr())?;
    say(format_args!(
        "pubsink: Pub/Sub in memory at {}; Ctrl-C ends it",
        server.endpoint()
    ));
    interrupt.wait();
    Ok(Exit::Delivered)
}

/// A server without a log: nobody reads it here, and its entries would stay scattered among the
/// messages that come and go, so that no memory between them is used again.
fn start(port: u16) -> io::Result<Server> {
    Server::builder().port(port).log_capacity(0).start()
}

fn create(server: &Server, topic: &str, project: &str) -> Result<(), String> {
    // The project first: its own id may have a colon (example.com:p).
    let (project, topic) = match topic.strip_prefix("projects/") {
        Some(full) => full
            .split_once("/topics/")
            .ok_or("not projects/P/topics/T")?,
        None => (project, topic),
    };
    let (topic, subscription) = match topic.split_once(':') {
        Some((topic, subscription)) => (topic, Some(subscription)),
        None => (topic, None),
    };
    let name = format!("projects/{project}/topics/{topic}");
    match server.create_topic(&name) {
        // A topic may be given again with another subscription.
        Err(known) if known.status == "ALREADY_EXISTS" => {}
        created => created.map_err(|status| status.to_string())?,
    }
    if let Some(subscription) = subscription {
        let subscription = format!("projects/{project}/subscriptions/{subscription}");
        let config = SubscriptionConfig::new(&subscription, &name);
        let created = server.create_subscription(config);
        created.map_err(|status| status.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn requests_are_counted_and_not_kept() {
        let server = start(0).unwrap();
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        let request = b"GET /v1/projects/p/topics HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n";
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let log = server.log();
        assert_eq!((log.total(), log.requests().len()), (1, 0));
    }
}
