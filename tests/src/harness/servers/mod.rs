//! The servers the cases run against.

mod remote;

use std::sync::Arc;

use pubsink_fixtures::google::Emulator;
use pubsink_fixtures::server::Server;

use super::case::Needs;

/// Requests that a server's log keeps, and ids of subscribers.
const LOG: usize = 100_000;

/// A server that cases may be run against.
pub(crate) struct ServerEntry {
    pub(crate) name: &'static str,
    offers: &'static [Needs],
    kind: Kind,
}

enum Kind {
    /// One for each case, so that no script meets another case.
    Embedded,
    /// One for all cases.
    Shared(Shared),
    /// There is none, and this is why.
    Missing(String),
}

/// A server that runs until the last case is done.
struct Shared {
    endpoint: String,
    /// Where it was started here.
    _process: Option<Emulator>,
}

/// The server of one case.
#[derive(Clone)]
pub(crate) enum Opened {
    Embedded(Arc<Server>),
    Remote(String),
}

/// Every server. Those that have to be started are where `start` says so.
pub(crate) fn all(start: bool) -> Vec<Arc<ServerEntry>> {
    let entries = [
        ServerEntry {
            name: "embedded",
            offers: &[Needs::Anything, Needs::Ordering, Needs::Gzip, Needs::Faults],
            kind: Kind::Embedded,
        },
        ServerEntry {
            name: "google",
            offers: &[
                Needs::Anything,
                Needs::Ordering,
                Needs::Gzip,
                Needs::Schemas,
            ],
            kind: google(start),
        },
        ServerEntry {
            name: "floci-gcp",
            // It has no leases, checks nothing and orders nothing.
            offers: &[Needs::Anything],
            kind: floci(start),
        },
    ];
    entries.into_iter().map(Arc::new).collect()
}

fn google(start: bool) -> Kind {
    if !start {
        return Kind::Missing("not started".to_owned());
    }
    if let Some(host) = remote::GOOGLE.host() {
        return running("google", remote::GOOGLE.open(&host));
    }
    match Emulator::start() {
        Ok(process) => Kind::Shared(Shared {
            endpoint: process.endpoint(),
            _process: Some(process),
        }),
        Err(unavailable) => missing("google", unavailable.to_string()),
    }
}

fn floci(start: bool) -> Kind {
    if !start {
        return Kind::Missing("not asked".to_owned());
    }
    match remote::FLOCI.host() {
        Some(host) => running("floci-gcp", remote::FLOCI.open(&host)),
        None => missing("floci-gcp", "it is switched off".to_owned()),
    }
}

fn running(name: &str, endpoint: Result<String, String>) -> Kind {
    match endpoint {
        Ok(endpoint) => Kind::Shared(Shared {
            endpoint,
            _process: None,
        }),
        Err(reason) => missing(name, reason),
    }
}

/// Says out loud what does not run.
fn missing(name: &str, reason: String) -> Kind {
    eprintln!("NOT RUN: every case on {name}: {reason}");
    Kind::Missing(reason)
}

impl ServerEntry {
    /// Whether a case with these needs can run, or why not.
    pub(crate) fn can(&self, needs: Needs) -> Result<(), String> {
        if let Kind::Missing(reason) = &self.kind {
            return Err(reason.clone());
        }
        if self.offers.contains(&needs) {
            return Ok(());
        }
        let what = match needs {
            Needs::Anything => "topics or subscriptions",
            Needs::Ordering => "ordered delivery",
            Needs::Gzip => "decompression that was ever tried",
            Needs::Schemas => "schemas",
            Needs::Faults => "script of faults",
        };
        Err(format!("it has no {what}"))
    }

    /// The server for one case. Where memory is measured it keeps no messages in its log.
    pub(crate) fn open(&self, measures_memory: bool) -> Opened {
        match &self.kind {
            Kind::Embedded => {
                let mut server = Server::builder().keep_published(true);
                if !measures_memory {
                    server = server.log_messages(true).log_capacity(LOG);
                }
                Opened::Embedded(Arc::new(
                    server.start().expect("the embedded server starts"),
                ))
            }
            Kind::Shared(shared) => Opened::Remote(shared.endpoint.clone()),
            Kind::Missing(reason) => panic!("{reason}"),
        }
    }
}

impl Opened {
    pub(crate) fn endpoint(&self) -> String {
        match self {
            Self::Embedded(server) => server.endpoint(),
            Self::Remote(endpoint) => endpoint.clone(),
        }
    }
}
