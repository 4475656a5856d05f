//! What a protocol has to say beside AsyncAPI.

use serde_json::Value;

use crate::sink::{Bindings, Description, GOOGLEPUBSUB, binding};

use super::node::{Node, Object};

/// The bindings of a description's messages, the ordering key among them.
pub(super) fn of_messages(protocol: &str, description: &Description) -> Bindings {
    let mut bindings = description.message_bindings.clone();
    let key = description.ordering_key.as_deref();
    let key = key.filter(|key| !key.is_empty() && protocol == GOOGLEPUBSUB);
    if let Some(key) = key {
        let pubsub = bindings.entry(protocol.to_owned()).or_insert_with(binding);
        pubsub.insert("orderingKey".to_owned(), key.into());
    }
    bindings
}

/// Adds what `more` says. Where two sinks contradict each other about one channel the value that
/// sorts first stands, so that their order does not matter.
pub(super) fn merge(bindings: &mut Bindings, more: &Bindings) {
    for (protocol, fields) in more {
        let known = bindings.entry(protocol.clone()).or_default();
        for (field, value) in fields {
            let text = |value| Node::from(value).to_json();
            let stands = known.get(field).is_some_and(|one| text(one) <= text(value));
            if !stands {
                known.insert(field.clone(), value.clone());
            }
        }
    }
}

/// The channel's bindings that the official JSON Schema takes.
pub(super) fn accepted(mut bindings: Bindings) -> Bindings {
    let complete =
        |binding: &serde_json::Map<String, Value>| binding.contains_key("schemaSettings");
    if !bindings.get(GOOGLEPUBSUB).is_some_and(complete) {
        bindings.remove(GOOGLEPUBSUB);
    }
    bindings
}

/// The bindings as they stand in the document; none is no member.
pub(super) fn member(bindings: &Bindings) -> Option<Node> {
    (!bindings.is_empty()).then(|| node(bindings))
}

pub(super) fn node(bindings: &Bindings) -> Node {
    let entries = bindings.iter();
    let object = entries.fold(Object::new(), |object, (protocol, fields)| {
        object.with(protocol.clone(), Node::from(fields))
    });
    object.into()
}
