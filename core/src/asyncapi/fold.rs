//! Descriptions folded: what is the same once, everything in the order of its name.

use std::collections::{BTreeMap, BTreeSet};

use crate::sink::{self, Bindings, Description, Subject};

use super::bindings;

/// Protocol and host.
pub(super) type ServerKey = (String, String);

/// A hook's tenant where it is fixed, and the bindings of its messages as text.
pub(super) type MessageKey = (Option<String>, String);

/// The servers with their channels, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Servers(pub(super) BTreeMap<ServerKey, BTreeMap<String, Channel>>);

/// What is sent to one address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) bindings: Bindings,
    /// By source id.
    pub(super) sources: BTreeMap<String, Source>,
}

/// What of one source is sent to a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) messages: BTreeMap<MessageKey, Bindings>,
    pub(super) sinks: BTreeSet<String>,
}

impl Servers {
    pub(super) fn add(&mut self, subject: &Subject, sink: &str, description: &Description) {
        // Once more: the fields can be set, too.
        let protocol = sink::protocol(&description.protocol);
        let host = sink::host(&description.host);
        let address = sink::address(&description.address);
        let messages = bindings::of_messages(&protocol, description);
        let channels = self.0.entry((protocol, host)).or_default();
        let channel = channels.entry(address).or_default();
        bindings::merge(&mut channel.bindings, &description.channel_bindings);
        let source = channel
            .sources
            .entry(subject.source_id.clone())
            .or_default();
        source.sinks.insert(sink.to_owned());
        // An empty tenant is none, as in the message.
        let tenant = subject.tenant_id.clone().filter(|id| !id.is_empty());
        let key = (tenant, bindings::node(&messages).to_json());
        source.messages.insert(key, messages);
    }
}
