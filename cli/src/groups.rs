//! The process groups of commands that run: they end with this process, whatever ends it.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// The groups that run. Held while a command starts, none starts unseen by [`end_all`].
pub(crate) fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends every command that runs, with all that it started: this process is about to end, and
/// nobody else would.
pub(crate) fn end_all() {
    for group in running().iter() {
        let _ = killpg(*group, Signal::SIGKILL);
    }
}

/// The group of a command that runs. Dropped before that has [ended](Self::ended) it ends it, with
/// all that it started.
#[derive(Debug)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// Starts a command in a group of its own, whose id `start` tells.
    pub(crate) fn start<C>(start: impl FnOnce() -> io::Result<(C, u32)>) -> io::Result<(C, Self)> {
        let mut running = running();
        let (child, id) = start()?;
        let group = i32::try_from(id).map(Pid::from_raw);
        let group = group.map_err(io::Error::other)?;
        running.push(group);
        Ok((child, Self(Some(group))))
    }

    /// It ended by itself: from now on its id may be another's.
    pub(crate) fn ended(mut self) {
        self.forget();
    }

    fn forget(&mut self) -> Option<Pid> {
        let group = self.0.take()?;
        running().retain(|known| *known != group);
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.forget() {
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}
