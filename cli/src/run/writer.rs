//! A thread that writes: whatever its reader does, hooks and signals go on.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use async_channel::{Receiver, Sender, bounded, unbounded};

use super::level::Level;
use super::progress::Progress;

/// How many bytes may wait to be written before no more should be made.
const WAITING_MAX: usize = 1024 * 1024;

/// Hands bytes to the thread.
pub(super) struct Writer {
    chunks: Sender<Vec<u8>>,
    state: Arc<State>,
    /// Closed when the thread ends.
    ended: Receiver<()>,
}

struct State {
    waiting: Arc<Level>,
    broken: AtomicBool,
}

impl Writer {
    pub(super) fn start(file: File, progress: Progress) -> Self {
        // Bounded by the bytes in it: by who waits for room, and by the window.
        let (chunks, receiver) = unbounded();
        let (alive, ended) = bounded(1);
        let state = Arc::new(State {
            waiting: Arc::new(Level::new(WAITING_MAX)),
            broken: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&state);
        thread::spawn(move || {
            write(file, &receiver, &theirs, &progress);
            theirs.waiting.set_free();
            drop(alive);
        });
        Self {
            chunks,
            state,
            ended,
        }
    }

    pub(super) fn write(&self, chunk: Vec<u8>) {
        self.state.waiting.raise(chunk.len());
        // Of a thread that ended it is known already that it is broken.
        let _ = self.chunks.try_send(chunk);
    }

    pub(super) fn is_broken(&self) -> bool {
        self.state.broken.load(Ordering::Relaxed)
    }

    /// The bytes that wait to be written.
    pub(super) fn waiting(&self) -> Arc<Level> {
        Arc::clone(&self.state.waiting)
    }

    /// Takes no more, and resolves when all is written or nothing can be.
    pub(super) async fn end(&self) {
        self.chunks.close();
        let _ = self.ended.recv().await;
    }
}

/// A reader that went away (`| head`) stops the output and nothing else.
fn write(mut file: File, chunks: &Receiver<Vec<u8>>, state: &State, progress: &Progress) {
    while let Ok(chunk) = chunks.recv_blocking() {
        if let Err(error) = file.write_all(&chunk) {
            state.broken.store(true, Ordering::Relaxed);
            chunks.close();
            progress.say(&format!(
                "pubsink: outcomes can no longer be written: {error}"
            ));
            return;
        }
        state.waiting.lower(chunk.len());
    }
}
