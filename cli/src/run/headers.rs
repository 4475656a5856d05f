//! Which of a hook's headers travel with its message.

use clap::Args;
use http::HeaderName;
use pubsink_core::delivery::{DeliveryContext, ForwardHeaders};
use pubsink_core::message::{NEVER_FORWARDED, RESERVED_PREFIX};
use pubsink_runtime::sink::PubsubSink;

use crate::say::say;

/// Which headers are forwarded.
#[derive(Debug, Args)]
#[command(next_help_heading = "Forwarded headers")]
pub(super) struct HeaderFlags {
    /// Forward this header, and none but those that are named so; may be given again [default:
    /// every header that may be]
    #[arg(long = "forward-header", value_name = "NAME", value_parser = header_name)]
    forward: Vec<String>,
    /// Forward no header
    #[arg(
        long,
        conflicts_with_all = ["forward", "max_headers", "forward_headers_max_bytes"]
    )]
    no_forward_headers: bool,
    /// The most headers forwarded; what is left out is named in the outcome [default: no bound]
    #[arg(long, value_name = "N")]
    max_headers: Option<usize>,
    /// The most bytes of header names and values forwarded [default: no bound]
    #[arg(long, value_name = "BYTES")]
    forward_headers_max_bytes: Option<usize>,
}

/// What the flags come to, for either way of a hook.
#[derive(Debug, Clone, Default)]
pub(super) struct Headers {
    forward: ForwardHeaders,
    max: Option<usize>,
    max_bytes: Option<usize>,
}

impl HeaderFlags {
    /// What was asked for. Headers that are never forwarded, whoever asks, are told of.
    pub(super) fn headers(&self) -> Headers {
        for name in self.forward.iter().filter(|name| is_never_forwarded(name)) {
            say(format_args!(
                "pubsink: --forward-header {name}: this header is never forwarded"
            ));
        }
        let forward = if self.no_forward_headers || !self.forward.is_empty() {
            ForwardHeaders::Only(self.forward.clone())
        } else {
            ForwardHeaders::Default
        };
        Headers {
            forward,
            max: self.max_headers,
            max_bytes: self.forward_headers_max_bytes,
        }
    }
}

impl Headers {
    /// The same context, with these headers.
    pub(super) fn of(&self, context: DeliveryContext) -> DeliveryContext {
        DeliveryContext {
            forward_headers: self.forward.clone(),
            max_headers: self.max,
            forward_headers_max_bytes: self.max_bytes,
            ..context
        }
    }

    /// The same sink, with these headers.
    pub(super) fn sink(&self, sink: PubsubSink) -> PubsubSink {
        let mut sink = sink.forward_headers(self.forward.clone());
        if let Some(max) = self.max {
            sink = sink.max_headers(max);
        }
        if let Some(max) = self.max_bytes {
            sink = sink.forward_headers_max_bytes(max);
        }
        sink
    }
}

/// Lowercased, as it travels.
fn header_name(text: &str) -> Result<String, String> {
    let name = HeaderName::from_bytes(text.as_bytes());
    let name = name.map_err(|_| "no name of a header".to_owned())?;
    Ok(name.as_str().to_owned())
}

fn is_never_forwarded(name: &str) -> bool {
    NEVER_FORWARDED.contains(&name) || name.starts_with(RESERVED_PREFIX)
}
