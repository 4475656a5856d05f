//! The servers the cases run against.

use std::sync::Arc;

use pubsink_fixtures::google::Emulator;
use pubsink_fixtures::server::Server;

use super::case::Needs;

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
    _process: Emulator,
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
            offers: &[Needs::Anything, Needs::Ordering, Needs::Faults],
            kind: Kind::Embedded,
        },
        ServerEntry {
            name: "google",
            offers: &[Needs::Anything, Needs::Ordering, Needs::Schemas],
            kind: google(start),
        },
    ];
    entries.into_iter().map(Arc::new).collect()
}

fn google(start: bool) -> Kind {
    if !start {
        return Kind::Missing("not started".to_owned());
    }
    match Emulator::start() {
        Ok(process) => Kind::Shared(Shared {
            endpoint: process.endpoint(),
            _process: process,
        }),
        Err(unavailable) => {
            eprintln!("NOT RUN: every case on google: {unavailable}");
            Kind::Missing(unavailable.to_string())
        }
    }
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
            Needs::Schemas => "schemas",
            Needs::Faults => "script of faults",
        };
        Err(format!("it has no {what}"))
    }

    /// The server for one case. Where memory is measured it keeps no messages in its log.
    pub(crate) fn open(&self, measures_memory: bool) -> Opened {
        match &self.kind {
            Kind::Embedded => {
                let server = Server::builder()
                    .keep_published(true)
                    .log_messages(!measures_memory);
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
