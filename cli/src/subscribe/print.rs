//! Lines to standard output, from a thread of their own: a reader that takes its time holds up no
//! lease.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::thread;

use async_channel::{Receiver, Sender, bounded};
use pubsink_runtime::service::Context;

use super::line::line;
use super::tally::Tally;
use crate::exit::CommandError;

/// The most lines that wait to be written together. There are no more than handlers.
const WAITING_MAX: usize = 1_024;

/// Writes lines. Once that failed none is written any more.
pub(super) struct Printer(Sender<Line>);

struct Line {
    text: Vec<u8>,
    /// Told when it is written; dropped where it is not.
    written: Sender<()>,
}

impl Printer {
    pub(super) fn start(tally: Arc<Tally>) -> Result<Self, CommandError> {
        let (sender, lines) = bounded(WAITING_MAX);
        let write = move || {
            if let Err(error) = write(&lines) {
                tally.broke(error);
            }
        };
        let thread = thread::Builder::new().name("print".to_owned()).spawn(write);
        thread.map_err(|error| CommandError::new("cannot start a thread to write", error))?;
        Ok(Self(sender))
    }

    /// Whether the message's line is written, and flushed.
    pub(super) async fn print(&self, context: &Context) -> bool {
        let Ok(text) = line(context) else {
            return false;
        };
        let (written, is_written) = bounded(1);
        // Where the thread has ended the line is dropped, and with it the sender.
        let _ = self.0.send(Line { text, written }).await;
        is_written.recv().await.is_ok()
    }
}

/// Writes what waits, as much at a time as there is.
fn write(lines: &Receiver<Line>) -> io::Result<()> {
    let mut text = Vec::new();
    let mut written = Vec::new();
    while let Ok(first) = lines.recv_blocking() {
        let mut next = Some(first);
        while let Some(line) = next {
            text.extend_from_slice(&line.text);
            written.push(line.written);
            next = lines.try_recv().ok();
        }
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()?;
        text.clear();
        for written in written.drain(..) {
            let _ = written.try_send(());
        }
    }
    Ok(())
}
