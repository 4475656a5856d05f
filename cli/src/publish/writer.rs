//! A thread that writes: whatever its reader does, hooks and signals go on.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use async_channel::{Receiver, Sender, bounded, unbounded};

use super::progress::Progress;

/// How many bytes may wait to be written before no more should be made.
const WAITING_MAX: usize = 1024 * 1024;

/// Hands bytes to the thread.
pub(super) struct Writer {
    chunks: Sender<Vec<u8>>,
    state: Arc<State>,
    /// Tells that something was written; closed when the thread ends.
    moved: Receiver<()>,
}

#[derive(Default)]
struct State {
    waiting: AtomicUsize,
    broken: AtomicBool,
}

impl Writer {
    pub(super) fn start(file: File, progress: Progress) -> Self {
        // Bounded by the bytes in it: by who waits for room, and by the window.
        let (chunks, receiver) = unbounded();
        let (sender, moved) = bounded(1);
        let state = Arc::new(State::default());
        let theirs = Arc::clone(&state);
        thread::spawn(move || write(file, &receiver, &theirs, &sender, &progress));
        Self {
            chunks,
            state,
            moved,
        }
    }

    pub(super) fn write(&self, chunk: Vec<u8>) {
        self.state.waiting.fetch_add(chunk.len(), Ordering::Relaxed);
        // Of a thread that ended it is known already that it is broken.
        let _ = self.chunks.try_send(chunk);
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state.broken.load(Ordering::Relaxed)
    }

    /// Resolves when there is room for more. For one caller at a time.
    pub(super) async fn room(&self) {
        while self.state.waiting.load(Ordering::Relaxed) >= WAITING_MAX {
            if self.moved.recv().await.is_err() {
                return;
            }
        }
    }

    /// Takes no more, and resolves when all is written or nothing can be.
    pub(super) async fn end(&self) {
        self.chunks.close();
        while self.moved.recv().await.is_ok() {}
    }
}

/// A reader that went away (`| head`) stops the output and nothing else.
fn write(
    mut file: File,
    chunks: &Receiver<Vec<u8>>,
    state: &State,
    moved: &Sender<()>,
    progress: &Progress,
) {
    while let Ok(chunk) = chunks.recv_blocking() {
        if let Err(error) = file.write_all(&chunk) {
            state.broken.store(true, Ordering::Relaxed);
            chunks.close();
            progress.say(&format!(
                "pubsink: outcomes can no longer be written: {error}"
            ));
            return;
        }
        state.waiting.fetch_sub(chunk.len(), Ordering::Relaxed);
        // Full where it was told already.
        let _ = moved.try_send(());
    }
}
