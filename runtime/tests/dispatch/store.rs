//! A claim store that does as it is told.

use std::future::pending;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use pubsink_runtime::claims::ClaimStore;
use pubsink_runtime::core::claim::{ClaimError, ClaimRef};

/// What a store does with a check-in.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    Answer(Result<(), ClaimError>),
    Panic,
    Never,
}

/// Asked with the ref, and how often it was asked before.
type Does = dyn Fn(&ClaimRef, usize) -> Says + Send + Sync;

/// A store, and what it was given. Clones share it.
#[derive(Clone)]
pub(crate) struct Store(Arc<Inner>);

struct Inner {
    does: Box<Does>,
    given: Mutex<Vec<(ClaimRef, Bytes)>>,
    /// Check-ins that have not ended.
    running: AtomicUsize,
}

impl Store {
    pub(crate) fn new(does: impl Fn(&ClaimRef, usize) -> Says + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            does: Box::new(does),
            given: Mutex::default(),
            running: AtomicUsize::new(0),
        }))
    }

    /// Takes every body.
    pub(crate) fn taking() -> Self {
        Self::new(|_, _| Says::Answer(Ok(())))
    }

    /// What it was given, in order.
    pub(crate) fn given(&self) -> Vec<(ClaimRef, Bytes)> {
        self.0.given.lock().unwrap().clone()
    }

    pub(crate) fn running(&self) -> usize {
        self.0.running.load(Ordering::SeqCst)
    }
}

struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ClaimStore for Store {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        self.0.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(&self.0.running);
        let before = {
            let mut given = self.0.given.lock().unwrap();
            given.push((claim.clone(), body));
            given.len() - 1
        };
        match (self.0.does)(claim, before) {
            Says::Answer(answer) => answer,
            Says::Panic => panic!("the secret of the store"),
            Says::Never => pending().await,
        }
    }

    async fn size(&self, _: &ClaimRef) -> Result<u64, ClaimError> {
        Err(ClaimError::NotFound)
    }

    async fn fetch(&self, _: &ClaimRef, _: u64) -> Result<Bytes, ClaimError> {
        Err(ClaimError::NotFound)
    }

    async fn fetch_range(&self, _: &ClaimRef, _: Range<u64>) -> Result<Bytes, ClaimError> {
        Err(ClaimError::NotFound)
    }
}
