//! The document's parts as JSON.

use std::collections::BTreeMap;

use crate::sink::{Bindings, GOOGLEPUBSUB};

use super::fold::Source;
use super::names::Names;
use super::node::{Node, Object};
use super::{AsyncApi, bindings, schemas};

pub(super) fn document(api: &AsyncApi) -> Node {
    let parts = Parts::of(api);
    let document = Object::new()
        .with("asyncapi", "3.0.0")
        .with("info", info(api))
        .with("defaultContentType", CONTENT_TYPE);
    if api.servers.0.is_empty() {
        return document.into();
    }
    document
        .with("servers", parts.servers)
        .with("channels", parts.channels)
        .with("operations", parts.operations)
        .with("components", components(parts.attributes))
        .into()
}

const CONTENT_TYPE: &str = "application/json";

fn info(api: &AsyncApi) -> Object {
    Object::new()
        .with("title", api.title.clone())
        .with("version", api.version.clone())
        .with_some("description", api.description.clone())
}

fn components(attributes: bool) -> Object {
    let schemas = Object::new().with(schemas::MESSAGE, schemas::message());
    let attributes = attributes.then(schemas::attributes);
    Object::new().with(
        "schemas",
        schemas.with_some(schemas::ATTRIBUTES, attributes),
    )
}

struct Parts {
    servers: Object,
    channels: Object,
    operations: Object,
    /// Whether a message refers to the schema of the attributes.
    attributes: bool,
}

impl Parts {
    fn of(api: &AsyncApi) -> Self {
        let mut servers = Object::new();
        let mut channels = Object::new();
        let mut operations = Object::new();
        let mut attributes = false;
        let mut server_names = Names::new("server");
        let mut channel_names = Names::new("channel");
        let mut operation_names = Names::new("operation");
        for ((protocol, host), addresses) in &api.servers.0 {
            let server = server_names.take(&format!("{protocol}-{host}"));
            let with_attributes = protocol == GOOGLEPUBSUB;
            attributes |= with_attributes;
            for (address, channel) in addresses {
                let name = channel_names.take(address);
                let mut messages = Messages::new(with_attributes);
                for (id, source) in &channel.sources {
                    let names = messages.add(id, source);
                    let operation = operation_names.take(&format!("send-{id}-{name}"));
                    let value = send(&name, id, source, &names);
                    operations = operations.with(operation, value);
                }
                let bindings = match api.bindings_as_described {
                    true => channel.bindings.clone(),
                    false => bindings::accepted(channel.bindings.clone()),
                };
                let value = channel_of(&server, address, messages, &bindings);
                channels = channels.with(name, value);
            }
            let value = Object::new()
                .with("host", host.clone())
                .with("protocol", protocol.clone());
            servers = servers.with(server, value);
        }
        Self {
            servers,
            channels,
            operations,
            attributes,
        }
    }
}

fn channel_of(server: &str, address: &str, messages: Messages, bindings: &Bindings) -> Object {
    // Null is AsyncAPI's word for an address that is not known.
    let known = match address {
        "" => Node::Null,
        address => address.to_owned().into(),
    };
    Object::new()
        .with("address", known)
        .with("servers", vec![reference(format!("#/servers/{server}"))])
        .with("messages", messages.object)
        .with_some("parameters", parameters(address))
        .with_some("bindings", bindings::member(bindings))
}

/// The `{expressions}` of an address. One that holds other braces is meant as it stands.
fn parameters(address: &str) -> Option<Object> {
    let mut names = BTreeMap::new();
    let mut parts = address.split('{');
    let literal = parts.next().unwrap_or_default();
    let is_name = |name: &str| {
        let charset = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
        !name.is_empty() && name.bytes().all(charset)
    };
    for part in parts {
        match part.split_once('}') {
            Some((name, literal)) if is_name(name) && !literal.contains('}') => {
                names.insert(name.to_owned(), Object::new());
            }
            _ => return None,
        }
    }
    if names.is_empty() || literal.contains('}') {
        return None;
    }
    let names = names.into_iter();
    Some(names.fold(Object::new(), |object, (name, empty)| {
        object.with(name, empty)
    }))
}

/// The messages of a channel.
struct Messages {
    object: Object,
    names: Names,
    with_attributes: bool,
}

impl Messages {
    fn new(with_attributes: bool) -> Self {
        Self {
            object: Object::new(),
            names: Names::new("source"),
            with_attributes,
        }
    }

    /// Adds a source's messages and gives their names.
    fn add(&mut self, id: &str, source: &Source) -> Vec<String> {
        let mut names = Vec::new();
        for ((tenant, _), bindings) in &source.messages {
            let name = match tenant {
                None => self.names.take(id),
                Some(tenant) => self.names.take(&format!("{id}-{tenant}")),
            };
            let message = self.message(id, tenant.as_deref(), bindings);
            self.object = std::mem::take(&mut self.object).with(name.clone(), message);
            names.push(name);
        }
        names
    }

    fn message(&self, id: &str, tenant: Option<&str>, bindings: &Bindings) -> Object {
        let headers = self.with_attributes.then(|| schema(schemas::ATTRIBUTES));
        Object::new()
            .with("name", schemas::MESSAGE)
            .with("title", format!("Hook of the source {id}"))
            .with("description", schemas::ADVICE)
            .with("contentType", CONTENT_TYPE)
            .with_some("headers", headers)
            .with("payload", payload(id, tenant))
            .with_some("bindings", bindings::member(bindings))
    }
}

/// The hook message with what is the same in all of them.
fn payload(id: &str, tenant: Option<&str>) -> Object {
    let constant = |text: &str| Object::new().with("const", text.to_owned());
    let pinned = Object::new()
        .with("source_id", constant(id))
        .with_some("tenant_id", tenant.map(constant));
    let pinned = Object::new().with("properties", pinned);
    Object::new().with("allOf", vec![schema(schemas::MESSAGE), pinned])
}

fn send(channel: &str, id: &str, source: &Source, messages: &[String]) -> Object {
    let to = |message| reference(format!("#/channels/{channel}/messages/{message}"));
    let sinks: Vec<String> = source.sinks.iter().cloned().collect();
    Object::new()
        .with("action", "send")
        .with("channel", reference(format!("#/channels/{channel}")))
        .with("title", format!("Send the hooks of the source {id}"))
        .with("messages", messages.iter().map(to).collect::<Vec<_>>())
        .with("x-sinks", sinks)
}

fn schema(name: &str) -> Object {
    reference(format!("#/components/schemas/{name}"))
}

fn reference(to: String) -> Object {
    Object::new().with("$ref", to)
}
