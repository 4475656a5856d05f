//! As much of OTLP's protobuf as the tests read.

use std::fmt::Write as _;

use prost::Message;

use crate::collector::Request;

#[derive(Clone, PartialEq, Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<Link>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, Message)]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
}

/// All spans of these requests, and the service names they came under.
pub(crate) fn spans(requests: &[Request]) -> (Vec<Span>, Vec<String>) {
    let (mut spans, mut services) = (Vec::new(), Vec::new());
    for request in requests {
        for of_resource in Export::decode(&*request.body).unwrap().resources {
            let attributes = of_resource.resource.unwrap_or_default().attributes;
            services.extend(text(&attributes, "service.name"));
            spans.extend(of_resource.scopes.into_iter().flat_map(|scope| scope.spans));
        }
    }
    (spans, services)
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    found.value.as_ref()?.text.clone()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

impl Span {
    pub(crate) fn trace(&self) -> String {
        hex(&self.trace_id)
    }

    pub(crate) fn id(&self) -> String {
        hex(&self.span_id)
    }

    pub(crate) fn parent(&self) -> String {
        hex(&self.parent_span_id)
    }

    /// Trace and span of each link.
    pub(crate) fn links(&self) -> Vec<(String, String)> {
        let links = self.links.iter();
        links
            .map(|link| (hex(&link.trace_id), hex(&link.span_id)))
            .collect()
    }

    /// An attribute that is text.
    pub(crate) fn attribute(&self, key: &str) -> Option<String> {
        text(&self.attributes, key)
    }

    pub(crate) fn is_error(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.code == 2)
    }
}
