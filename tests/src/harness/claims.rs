//! Claim stores that are looked at: directories, with faults where a case wants some.

use std::fs;
use std::future::{pending, poll_fn};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use bytes::Bytes;
use pubsink_core::claim::{ClaimError, ClaimRef, object_key};
use pubsink_core::message::DecodedMessage;
use pubsink_runtime::claims::{ClaimStore, redeem};

use super::any::AnyClaims;
use super::dir::Dir;
use super::env::Env;
use super::gateway;

/// What a store does with a check-in that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It takes the body.
    Works,
    /// It says that it is unavailable.
    Down,
    /// It says nothing until its mood changes.
    Hangs,
    /// It takes the body and says nothing.
    TakesAndHangs,
    /// It takes bodies of at most so many bytes.
    TakesUpTo(u64),
}

/// A runtime's claim store in a directory of the case's own, which fails where it is told to.
/// Clones share all of it.
#[derive(Clone)]
pub(crate) struct Store(Arc<Inner>);

struct Inner {
    claims: AnyClaims,
    dir: Dir,
    mood: Mutex<Mood>,
    hanging: Mutex<Vec<Waker>>,
    asked: Mutex<Vec<ClaimRef>>,
    running: AtomicUsize,
}

impl Env {
    /// A claim store by the constructor a user calls.
    pub(crate) fn claims(&self) -> Store {
        let dir = Dir::new();
        let url = format!("file://{}/claims", dir.0.display());
        Store(Arc::new(Inner {
            claims: self.host().claims(&url),
            dir,
            mood: Mutex::new(Mood::Works),
            hanging: Mutex::default(),
            asked: Mutex::default(),
            running: AtomicUsize::new(0),
        }))
    }
}

impl Store {
    /// How check-ins go that begin from now on, or that hang.
    pub(crate) fn set(&self, mood: Mood) {
        *self.0.mood.lock().unwrap() = mood;
        let hanging = std::mem::take(&mut *self.0.hanging.lock().unwrap());
        hanging.into_iter().for_each(Waker::wake);
    }

    /// How a check-in goes, once it does not hang.
    async fn mood(&self) -> Mood {
        poll_fn(|cx| {
            self.0.hanging.lock().unwrap().push(cx.waker().clone());
            match *self.0.mood.lock().unwrap() {
                Mood::Hangs => Poll::Pending,
                mood => Poll::Ready(mood),
            }
        })
        .await
    }

    /// The refs of all check-ins that began.
    pub(crate) fn asked(&self) -> Vec<ClaimRef> {
        self.0.asked.lock().unwrap().clone()
    }

    /// How often a body was to be checked in under a ref.
    pub(crate) fn asked_for(&self, claim: &ClaimRef) -> usize {
        let asked = self.0.asked.lock().unwrap();
        asked.iter().filter(|one| *one == claim).count()
    }

    /// How many check-ins have not ended.
    pub(crate) fn running(&self) -> usize {
        self.0.running.load(Ordering::SeqCst)
    }

    /// The directory.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.dir.0.join("claims")
    }

    /// The file of a claim.
    pub(crate) fn file(&self, claim: &ClaimRef) -> PathBuf {
        self.root().join(object_key("", claim))
    }

    /// Every file in the directory, whatever it is, by its path there.
    pub(crate) fn objects(&self) -> Vec<String> {
        let mut files = Vec::new();
        let root = self.root();
        if root.exists() {
            collect(&root, &mut files);
        }
        let name = |file: &PathBuf| file.strip_prefix(&root).unwrap().display().to_string();
        let mut names: Vec<_> = files.iter().map(name).collect();
        names.sort();
        names
    }

    /// The body that a message names, as a consumer gets it.
    pub(crate) async fn redeem(&self, message: &DecodedMessage) -> Result<Bytes, ClaimError> {
        let (claim, sha256) = named(message);
        redeem(self, claim, message.size, sha256, u64::MAX).await
    }

    /// The same by the format's own Rust consumer.
    pub(crate) async fn redeem_by_ankusa(
        &self,
        message: &DecodedMessage,
    ) -> Result<Bytes, ankusa::ClaimCheckError> {
        let (claim, sha256) = named(message);
        gateway::redeem(self.clone(), claim, sha256).await
    }
}

fn named(message: &DecodedMessage) -> (&ClaimRef, &str) {
    let claim = message.claim.as_ref().expect("the message has a claim");
    let sha256 = message.sha256.as_deref();
    (claim, sha256.expect("the message has a digest"))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// A check-in that has not ended.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ClaimStore for Store {
    async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        let _running = Running::new(&self.0.running);
        self.0.asked.lock().unwrap().push(claim.clone());
        let size = body.len() as u64;
        match self.mood().await {
            Mood::Down => Err(ClaimError::unavailable("it is down")),
            Mood::TakesAndHangs => {
                self.0.claims.check_in(claim, body).await?;
                pending().await
            }
            Mood::TakesUpTo(max) if size > max => Err(ClaimError::TooLarge { size, max }),
            Mood::Works | Mood::Hangs | Mood::TakesUpTo(_) => {
                self.0.claims.check_in(claim, body).await
            }
        }
    }

    async fn size(&self, claim: &ClaimRef) -> Result<u64, ClaimError> {
        self.0.claims.size(claim).await
    }

    async fn fetch(&self, claim: &ClaimRef, max: u64) -> Result<Bytes, ClaimError> {
        self.0.claims.fetch(claim, max).await
    }

    async fn fetch_range(&self, claim: &ClaimRef, range: Range<u64>) -> Result<Bytes, ClaimError> {
        self.0.claims.fetch_range(claim, range).await
    }
}
