//! The load, and the requests that pubsink makes of it, for clients that only send.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use http::Request;
use pubsink_bench::Error;
use pubsink_bench::load::{self, ATTRIBUTES};
use pubsink_core::attributes::Attributes;
use pubsink_core::options::{PublisherOptions, Wire};
use pubsink_core::publish::{Admission, Input, Message, Output, Publisher, Step};

/// What is published, by how many at once.
#[derive(Debug, Clone, Args)]
pub(crate) struct Load {
    /// The stub server, host:port
    #[arg(long)]
    pub(crate) address: String,
    /// How many publish at once, each one message at a time
    #[arg(long)]
    pub(crate) callers: usize,
    #[arg(long)]
    pub(crate) messages: usize,
    /// How large each body is
    #[arg(long)]
    pub(crate) size: usize,
}

/// How many different messages there are.
const DIFFERENT: usize = 256;

impl Load {
    /// A publisher of one message a request, as many at once as there are callers.
    pub(crate) fn options(&self, wire: Wire) -> Result<PublisherOptions, Error> {
        let options = PublisherOptions::builder("p", "hooks")
            .endpoint(&format!("http://{}", self.address))
            .wire(wire)
            .batch(false)
            .sink_concurrency(self.callers);
        Ok(options.build()?)
    }

    /// The messages, in turns.
    pub(crate) fn messages(&self) -> Messages {
        Messages {
            load: load::Load::new(DIFFERENT, self.size),
            attributes: ATTRIBUTES.into_iter().collect(),
        }
    }

    /// The requests of these messages, as pubsink sends them.
    pub(crate) fn requests(&self, wire: Wire) -> Result<Requests, Error> {
        let options = Arc::new(self.options(wire)?);
        let messages = self.messages();
        let requests = (0..DIFFERENT).map(|number| {
            let mut machine = Publisher::new(Arc::clone(&options), false, 1);
            let now = Instant::now();
            let admission = Admission::message(messages.message(number), &options)?;
            let input = Input::Admit { tag: 0, admission };
            machine.handle(now, input)?;
            match machine.poll(now) {
                Step::Do(Output::Send(request)) => Ok(request.encode().0),
                other => Err(format!("not a request: {other:?}").into()),
            }
        });
        Ok(Requests(requests.collect::<Result<_, Error>>()?))
    }
}

/// Messages to publish; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Messages {
    load: load::Load,
    attributes: Attributes,
}

impl Messages {
    /// The message of that number.
    pub(crate) fn message(&self, number: usize) -> Message {
        let mut message = Message::new(self.load.body(number).clone());
        message.attributes = self.attributes.clone();
        message
    }
}

/// Requests that are encoded; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Requests(Arc<[Request<Bytes>]>);

impl Requests {
    /// The request of the message of that number.
    pub(crate) fn request(&self, number: usize) -> Request<Bytes> {
        self.0[number % self.0.len()].clone()
    }

    /// The same with the path alone in the first line, and the host beside it: what a connection
    /// sends.
    pub(crate) fn for_connection(self) -> Result<Self, Error> {
        let requests = self.0.iter().map(|request| {
            let mut request = request.clone();
            let uri = request.uri().clone();
            let host = uri.authority().ok_or("a request without a host")?;
            request.headers_mut().insert("host", host.as_str().parse()?);
            *request.uri_mut() = uri.path().parse()?;
            Ok(request)
        });
        Ok(Self(requests.collect::<Result<_, Error>>()?))
    }
}
