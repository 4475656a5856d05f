//! SIGINT and SIGTERM: the first asks to finish, the second ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

use async_channel::{Receiver, bounded};

use crate::exit::{CommandError, Exit};
use crate::groups;

/// Tells everyone that holds a clone when the command was asked to finish.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(Receiver<()>);

impl Interrupt {
    /// Listens for the signals. Once in a process.
    pub(crate) fn listen() -> Result<Self, CommandError> {
        let (sender, receiver) = bounded(1);
        let second = AtomicBool::new(false);
        ctrlc::set_handler(move || {
            if second.swap(true, Ordering::Relaxed) {
                groups::end_all();
                std::process::exit(Exit::Interrupted.code().into());
            }
            sender.close();
        })
        .map_err(|error| CommandError::new("cannot listen for signals", error))?;
        Ok(Self(receiver))
    }

    /// One that is asked for by closing the channel.
    #[cfg(test)]
    pub(crate) fn of(receiver: Receiver<()>) -> Self {
        Self(receiver)
    }

    /// Whether the command was asked to finish.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.is_closed()
    }

    /// Resolves when it is.
    pub(crate) async fn asked(&self) {
        // Nothing is ever sent: the channel only closes.
        let _ = self.0.recv().await;
    }

    /// Blocks until it is.
    pub(crate) fn wait(&self) {
        let _ = self.0.recv_blocking();
    }
}
