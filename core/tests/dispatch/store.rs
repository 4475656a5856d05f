//! A claim store that does as it is told.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_core::dispatch::CheckInId;

/// How long a check-in takes, and what the store says: asked at its begin with the time since the
/// simulation began and the hook's id.
pub(crate) type StoreScript = Box<dyn FnMut(Duration, &str) -> (Duration, Result<(), ClaimError>)>;

pub(crate) struct Store {
    pub(crate) script: StoreScript,
    /// What lies there.
    pub(crate) bodies: BTreeMap<ClaimRef, Bytes>,
    /// When it was asked, and for which hook.
    pub(crate) asked: Vec<(Duration, String)>,
    pub(crate) aborted: usize,
    /// The most check-ins under way at once.
    pub(crate) most: usize,
    running: BTreeMap<CheckInId, (ClaimRef, Bytes)>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            script: Box::new(|_, _| (Duration::from_millis(20), Ok(()))),
            bodies: BTreeMap::new(),
            asked: Vec::new(),
            aborted: 0,
            most: 0,
            running: BTreeMap::new(),
        }
    }
}

impl Store {
    /// A store with these bodies.
    pub(crate) fn over(bodies: BTreeMap<ClaimRef, Bytes>, script: StoreScript) -> Self {
        Self {
            bodies,
            script,
            ..Self::default()
        }
    }

    /// How often it was asked for a hook.
    pub(crate) fn asked_for(&self, id: &str) -> usize {
        self.asked.iter().filter(|(_, asked)| asked == id).count()
    }

    pub(crate) fn begin(
        &mut self,
        at: Duration,
        check_in: CheckInId,
        claim: &ClaimRef,
        (id, body): (&str, &Bytes),
    ) -> (Duration, Result<(), ClaimError>) {
        let mut running = self.running.values();
        assert!(
            !running.any(|(other, bytes)| other == claim && bytes == body),
            "{id} is checked in twice at once"
        );
        self.running.insert(check_in, (claim.clone(), body.clone()));
        self.most = self.most.max(self.running.len());
        self.asked.push((at, id.to_owned()));
        (self.script)(at, id)
    }

    /// What it says in the end. None: it was stopped.
    pub(crate) fn end(
        &mut self,
        check_in: CheckInId,
        result: Result<(), ClaimError>,
    ) -> Option<Result<(), ClaimError>> {
        let (claim, body) = self.running.remove(&check_in)?;
        if result.is_err() {
            return Some(result);
        }
        let there = self.bodies.entry(claim).or_insert_with(|| body.clone());
        Some(if *there == body {
            Ok(())
        } else {
            Err(ClaimError::Integrity {
                what: "sha256",
                found: "this".into(),
                expected: "that".into(),
            })
        })
    }

    pub(crate) fn abort(&mut self, check_in: CheckInId) {
        assert!(self.running.remove(&check_in).is_some(), "stopped twice");
        self.aborted += 1;
    }
}
