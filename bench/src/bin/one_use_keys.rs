//! Publishes messages that have an ordering key of their own each, and prints what stays of them in
//! memory once all are confirmed.

use std::collections::VecDeque;

use clap::Parser;
use pubsink_bench::Error;
use pubsink_bench::load::{ATTRIBUTES, Load, UNCONFIRMED_MAX};
use pubsink_bench::measure::{Started, resident_mib};
use pubsink_core::attributes::Attributes;
use pubsink_core::options::{PublisherOptions, Wire};
use pubsink_core::publish::Message;
use pubsink_tokio::{Delivery, Publisher};

/// Publishes messages with one-use ordering keys on a tokio runtime of one thread.
#[derive(Debug, Parser)]
struct Arguments {
    /// The stub server, host:port
    #[arg(long)]
    address: String,
    #[arg(long, default_value_t = 100_000)]
    messages: usize,
    /// How large each body is
    #[arg(long, default_value_t = 100)]
    size: usize,
    /// How many may be unconfirmed at a time
    #[arg(long, default_value_t = UNCONFIRMED_MAX)]
    window: usize,
    /// Over gRPC in the place of REST
    #[arg(long)]
    grpc: bool,
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(run(&arguments))
}

async fn run(arguments: &Arguments) -> Result<(), Error> {
    let options = PublisherOptions::builder("p", "hooks")
        .endpoint(&format!("http://{}", arguments.address))
        .wire(if arguments.grpc {
            Wire::Grpc
        } else {
            Wire::Rest
        })
        .batch_queue_max(arguments.window)
        .batch_queue_tenant(arguments.window);
    let publisher = pubsink_tokio::publisher(options.build()?).spawn()?;
    let load = Load::new(arguments.messages, arguments.size);
    let before = resident_mib()?;
    let started = Started::now()?;
    publish(&publisher, &load, arguments.window).await?;
    let figures = started.end(load.messages)?;
    let after = resident_mib()?;
    println!("{figures} before_mib={before:.1} after_mib={after:.1}");
    Ok(())
}

async fn publish(publisher: &Publisher, load: &Load, window: usize) -> Result<(), Error> {
    let attributes: Attributes = ATTRIBUTES.into_iter().collect();
    let mut unconfirmed = VecDeque::<Delivery>::new();
    for number in 0..load.messages {
        if unconfirmed.len() == window
            && let Some(oldest) = unconfirmed.pop_front()
        {
            oldest.await?;
        }
        let mut message = Message::new(load.body(number).clone());
        message.attributes = attributes.clone();
        message.ordering_key = format!("order-{number}");
        unconfirmed.push_back(publisher.publish(message));
    }
    for delivery in unconfirmed {
        delivery.await?;
    }
    Ok(())
}
