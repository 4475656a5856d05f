//! The AsyncAPI 3.0 document: for consumers, which channel carries the hooks of which source, and
//! what a message holds.
//!
//! [`AsyncApi`] folds it from what sinks say of themselves ([`Description`]):
//!
//! | part | one for each |
//! |---|---|
//! | server | protocol and host |
//! | channel | address on a server |
//! | message | source (and tenant, where it is fixed) of a channel |
//! | operation, `send` | source and channel |
//!
//! The payload is the hook message with its source pinned, and its tenant where it is fixed, so
//! that no hook fits the message of another source. The headers of a Pub/Sub message are its
//! attributes.
//!
//! Names are made of `A-Z a-z 0-9 . _ -`, are unique, and depend on what is described, not on the
//! order it comes in: the same entries give the same bytes.
//!
//! ```
//! use pubsink_core::asyncapi::AsyncApi;
//! use pubsink_core::sink::{Description, Subject};
//!
//! let mut document = AsyncApi::new("Hooks of Acme", "1.4.0");
//! let subject = Subject { source_id: "github".into(), tenant_id: Some("acme".into()) };
//! let topic = Description::message("googlepubsub", "pubsub.googleapis.com", "projects/p/topics/hooks");
//! document.add(&subject, "hooks", &topic);
//!
//! let json: serde_json::Value = serde_json::from_str(&document.to_json())?;
//! let channel = &json["channels"]["projects-p-topics-hooks"];
//! assert_eq!(channel["address"], "projects/p/topics/hooks");
//! assert_eq!(channel["messages"]["github-acme"]["contentType"], "application/json");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Bindings
//!
//! AsyncAPI's specification lets a `googlepubsub` channel binding say as little as its version;
//! the official JSON Schema demands `schemaSettings` in it, and the official parser refuses a
//! whole document for want of them. They name a schema that was set on the topic, which a
//! publisher cannot know. So a channel binding without them is left out, unless
//! [`bindings_as_described`](AsyncApi::bindings_as_described) is called; a description that has
//! them is taken as it is. Bindings of other protocols are passed on unchecked.

mod bindings;
mod document;
mod fold;
mod names;
mod node;
mod schemas;

use crate::sink::{Description, Payload, Subject};

use fold::Servers;

/// An AsyncAPI 3.0 document in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsyncApi {
    title: String,
    version: String,
    description: Option<String>,
    bindings_as_described: bool,
    servers: Servers,
}

impl AsyncApi {
    /// A document without channels. `version` is that of the described application, not of
    /// AsyncAPI.
    #[must_use]
    pub fn new(title: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            version: version.into(),
            description: None,
            bindings_as_described: false,
            servers: Servers::default(),
        }
    }

    /// A longer text on the application, in CommonMark. Default: none.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Keeps channel bindings that the official JSON Schema refuses, see the
    /// [module](self#bindings). Default: they are left out, and the document is valid.
    #[must_use]
    pub fn bindings_as_described(mut self) -> Self {
        self.bindings_as_described = true;
        self
    }

    /// Adds where the sink of this name sends the hooks of `subject`. What is there already is
    /// merged. A sink that does not send the hook message ([`Payload::Body`]) is passed over.
    pub fn add(&mut self, subject: &Subject, sink: &str, description: &Description) {
        match description.payload {
            Payload::Message => self.servers.add(subject, sink, description),
            Payload::Body => {}
        }
    }

    /// The document as JSON, indented, with a newline at its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        document::document(self).to_json()
    }
}

impl<S: AsRef<str>> Extend<(Subject, S, Description)> for AsyncApi {
    fn extend<I: IntoIterator<Item = (Subject, S, Description)>>(&mut self, entries: I) {
        for (subject, sink, description) in entries {
            self.add(&subject, sink.as_ref(), &description);
        }
    }
}
