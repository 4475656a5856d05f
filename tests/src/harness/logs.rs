//! What the library logs, searched for what must never be logged.

use std::io;
use std::sync::Mutex;

use tracing_subscriber::filter::EnvFilter;

/// Every secret of a case has this in it.
pub(crate) const SECRET: &str = "s3cr3t";

static LEAKS: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The most lines that are kept.
const LINES_MAX: usize = 10_000;

/// From now on every log line of the library and its HTTP stack is looked at.
pub(super) fn watch() {
    let filter = EnvFilter::new(
        "off,pubsink_core=trace,pubsink_runtime=trace,pubsink_tokio=trace,pubsink_smol=trace,pubsink_journal=trace,hyper=debug,hyper_util=debug,h2=debug",
    );
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(|| Sink)
        .init();
}

/// The lines that hold a secret, and those that hold `text`.
pub(crate) fn seen_in_logs(text: &str) -> (Vec<String>, Vec<String>) {
    let lines = LINES.lock().unwrap();
    let found = lines
        .iter()
        .filter(|line| line.contains(text))
        .cloned()
        .collect();
    (LEAKS.lock().unwrap().clone(), found)
}

struct Sink;

impl io::Write for Sink {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        if text.contains(SECRET) {
            LEAKS.lock().unwrap().push(text.into_owned());
        } else if text.contains("pubsink") {
            let mut lines = LINES.lock().unwrap();
            if lines.len() < LINES_MAX {
                lines.push(text.into_owned());
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
