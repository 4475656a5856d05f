//! `pubsink describe`: the AsyncAPI document of a topic.

use clap::Args;
use pubsink_core::asyncapi::AsyncApi;
use pubsink_core::sink::{Description, Subject};

use crate::exit::{CommandError, Exit};
use crate::say::try_print;
use crate::topic::{Topic, build};

/// Print an AsyncAPI 3.0 document: where the hooks of each source go, and what a message holds.
///
/// For those who consume the topic. Nothing is sent, and nothing secret can be in it.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 printed; 2 bad usage or configuration")]
pub(crate) struct Arguments {
    #[command(flatten)]
    topic: Topic,
    /// A source of hooks, and its tenant where it has one tenant only; may be given again
    #[arg(long = "source", value_name = "S[:TENANT]", default_value = "cli")]
    sources: Vec<String>,
    /// The ordering key, where it is one for every hook
    #[arg(long, value_name = "K")]
    ordering_key: Option<String>,
    /// The document's title
    #[arg(long, value_name = "TEXT", default_value = "Webhooks")]
    title: String,
    /// The version of what is described
    #[arg(long, value_name = "V", default_value = "1.0.0")]
    document_version: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let (mut options, _) = arguments.topic.options()?;
    if let Some(key) = &arguments.ordering_key {
        options = options.ordering_key(key);
    }
    let options = build(options)?;
    let description = Description::of_topic(&options);
    let mut document = AsyncApi::new(&arguments.title, &arguments.document_version);
    for source in &arguments.sources {
        document.add(&subject(source)?, options.topic_name(), &description);
    }
    let written = try_print(document.to_json().trim_end());
    written.map_err(|error| CommandError::new("cannot write the document", error))?;
    Ok(Exit::Delivered)
}

fn subject(source: &str) -> Result<Subject, CommandError> {
    let (source_id, tenant_id) = match source.split_once(':') {
        Some((source, tenant)) => (source, Some(tenant.to_owned())),
        None => (source, None),
    };
    let empty = source_id.is_empty() || tenant_id.as_deref() == Some("");
    if empty {
        let words = format!("--source {source:?} must be SOURCE or SOURCE:TENANT, neither empty");
        return Err(CommandError(words));
    }
    Ok(Subject {
        source_id: source_id.to_owned(),
        tenant_id,
    })
}
