//! Publishes on a tokio runtime of several threads, each with a task that publishes, and prints what it
//! cost: how far a publisher gets with more cores.

use std::num::NonZero;

use bytes::Bytes;
use clap::Parser;
use pubsink_bench::Error;
use pubsink_bench::load::{BATCH_MAX, Load};
use pubsink_bench::measure::Started;
use pubsink_bench::micro::publish::confirmed;
use pubsink_bench::ours::{self, Payload, Work};
use pubsink_core::options::PublisherOptions;
use pubsink_tokio::seam::{SendLimits, Transport, TransportError};
use pubsink_tokio::{Publisher, publisher};

/// Publishes from several threads through one publisher.
#[derive(Debug, Parser)]
struct Arguments {
    /// The stub server, host:port; without one a stand-in in this process answers at once
    #[arg(long)]
    address: Option<String>,
    #[arg(long)]
    messages: usize,
    /// How large each body is
    #[arg(long, default_value_t = 1_024)]
    size: usize,
    /// How many threads the runtime has
    #[arg(long, default_value_t = NonZero::<usize>::MIN)]
    threads: NonZero<usize>,
    /// How many publishers they share, each of a topic of its own
    #[arg(long, default_value_t = NonZero::<usize>::MIN)]
    topics: NonZero<usize>,
    /// As many messages together as fit a request
    #[arg(long)]
    together: bool,
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(arguments.threads.get())
        .enable_all()
        .build()?;
    runtime.block_on(run(&arguments))
}

async fn run(arguments: &Arguments) -> Result<(), Error> {
    let tasks = arguments.threads.get();
    let load = Load::new(arguments.messages / tasks, arguments.size);
    let publishers = spawn(arguments, &load)?;
    let window = (load.window() / tasks).max(1);
    let payload = match arguments.together {
        true => Payload::Together,
        false => Payload::Raw,
    };
    let started = Started::now()?;
    let publishing: Vec<_> = (0..tasks)
        .map(|task| {
            let (publisher, load) = (publishers[task % publishers.len()].clone(), load.clone());
            tokio::spawn(async move {
                let work = Work {
                    load: &load,
                    hooks: None,
                    payload,
                };
                ours::publish(&publisher, work, window).await
            })
        })
        .collect();
    for task in publishing {
        task.await??;
    }
    println!("{}", started.end(load.messages * tasks)?);
    Ok(())
}

fn spawn(arguments: &Arguments, load: &Load) -> Result<Vec<Publisher>, Error> {
    let address = arguments.address.as_deref().unwrap_or("127.0.0.1");
    let topics = 0..arguments.topics.get();
    let publishers = topics.map(|topic| {
        let options = PublisherOptions::builder("p", &format!("hooks-{topic}"))
            .endpoint(&format!("http://{address}"))
            .batch_queue_max(load.window())
            .batch_queue_tenant(load.window())
            .build()?;
        let publisher = publisher(options);
        Ok(match arguments.address {
            Some(_) => publisher.spawn()?,
            None => publisher.transport(StandIn::new()).spawn()?,
        })
    });
    publishers.collect()
}

/// Answers at once, with as many ids as there are messages.
struct StandIn {
    /// By how many ids they have.
    replies: Vec<Bytes>,
}

impl StandIn {
    fn new() -> Self {
        let replies = (0..=BATCH_MAX).map(|count| confirmed(count).body);
        Self {
            replies: replies.collect(),
        }
    }
}

impl Transport for StandIn {
    async fn send(
        &self,
        request: http::Request<Bytes>,
        _: SendLimits,
    ) -> Result<http::Response<Bytes>, TransportError> {
        // Bodies are base64 and the load's attributes have no such name.
        let messages = memchr::memmem::find_iter(request.body(), br#""data":"#).count();
        Ok(http::Response::new(self.replies[messages].clone()))
    }
}
