//! Hooks, made or read from a file.

use bytes::Bytes;
use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;

use crate::Error;
use crate::load::Load;

/// Hooks that were read, to be delivered in turn.
#[derive(Debug, Clone)]
pub struct Hooks(Vec<Envelope>);

impl Hooks {
    /// Lines of JSON, at least one.
    ///
    /// # Errors
    ///
    /// A line is no hook, or there is none.
    pub fn read(lines: &[u8]) -> Result<Self, Error> {
        let lines = lines.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        let hooks = lines.map(|line| Ok(envelope_line::parse(line)?.into_envelope(String::new, 0)));
        let hooks: Vec<Envelope> = hooks.collect::<Result<_, Error>>()?;
        match hooks.is_empty() {
            true => Err("there are no hooks".into()),
            false => Ok(Self(hooks)),
        }
    }

    /// The bodies of the hooks.
    #[must_use]
    pub fn bodies(&self) -> Vec<Bytes> {
        self.0.iter().map(|hook| hook.body.clone()).collect()
    }

    /// The hook of a message; as in the input, but for its id.
    #[must_use]
    pub fn hook(&self, number: usize) -> Envelope {
        Envelope {
            id: id(number),
            ..self.0[number % self.0.len()].clone()
        }
    }
}

/// A hook with the load's body of that number.
#[must_use]
pub fn hook(load: &Load, number: usize) -> Envelope {
    let header = |name: &str, value: &'static str| (name.to_owned(), Bytes::from(value));
    Envelope {
        id: id(number),
        source_id: "bench".to_owned(),
        tenant_id: None,
        received_at: 1_764_500_000_000,
        method: "POST".to_owned(),
        path: "/hooks/bench".to_owned(),
        headers: vec![
            header("Content-Type", "application/json"),
            header("X-Bench-Event", "message.sent"),
        ],
        content_type: Some("application/json".to_owned()),
        body: load.body(number).clone(),
        dedupe_key: None,
    }
}

fn id(number: usize) -> String {
    format!("019ad465-4e4c-7650-a69e-{number:012x}")
}
