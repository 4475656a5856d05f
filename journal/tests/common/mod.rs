//! What the tests share.

#![allow(dead_code)] // no test uses all of it

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use pubsink_core::claim::ClaimRef;
use pubsink_core::envelope::Envelope;
use pubsink_core::failure::ErrorClass;
use pubsink_core::journal::{
    Cause, Claim, Claimed, Destination, Enqueue, Enqueued, JournalError, Lane, Record, RowId,
};
use pubsink_runtime::journal::Journal;

pub(crate) const NOW: i64 = 1_750_000_000_000;

/// A directory that is gone with its owner.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("journal-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&dir);
        Self(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("journal.redb")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn envelope(id: &str, source: &str, body: &[u8]) -> Arc<Envelope> {
    Arc::new(Envelope {
        id: id.into(),
        source_id: source.into(),
        tenant_id: Some("tenant".into()),
        received_at: NOW - 5,
        method: "POST".into(),
        path: "/".into(),
        headers: vec![("x-a".into(), Bytes::from_static(b"\xFFb"))],
        content_type: Some("text/plain".into()),
        body: Bytes::copy_from_slice(body),
        dedupe_key: None,
    })
}

/// A hook for sinks: `sink`, or `sink/key`.
pub(crate) fn hook(id: &str, source: &str, to: &[&str]) -> Enqueue {
    let to = to.iter().map(|to| {
        let (sink, key) = match to.split_once('/') {
            Some((sink, key)) => (sink, Some(key)),
            None => (*to, None),
        };
        Destination {
            sink: sink.into(),
            key: key.map(Into::into),
        }
    });
    Enqueue {
        envelope: envelope(id, source, b"body"),
        to: to.collect(),
        claim: None,
        check_in: false,
        once: None,
    }
}

pub(crate) fn named(hook: Enqueue, name: &str) -> Enqueue {
    Enqueue {
        once: Some(name.into()),
        ..hook
    }
}

/// A lane: `sink source`, or `sink/key source`.
pub(crate) fn lane(sink: &str, source: &str) -> Lane {
    let (sink, key) = match sink.split_once('/') {
        Some((sink, key)) => (sink, Some(key)),
        None => (sink, None),
    };
    Lane {
        sink: sink.into(),
        source: source.into(),
        key: key.map(Into::into),
    }
}

pub(crate) fn all_of(lane: Lane) -> Claim {
    Claim {
        lane,
        due_by: i64::MAX,
        max_rows: usize::MAX,
        max_bytes: usize::MAX,
        oversize: false,
    }
}

pub(crate) async fn enqueue<J: Journal>(journal: &J, now: i64, hook: Enqueue) -> Vec<RowId> {
    let answer = journal.enqueue(now, vec![hook]).await.unwrap();
    let [Enqueued::Stored(rows)] = &*answer else {
        panic!("{answer:?}");
    };
    rows.iter().map(|(row, _)| *row).collect()
}

/// Claims from a lane; the ids of the hooks, and the answer.
pub(crate) async fn claim<J: Journal>(journal: &J, claim: Claim) -> (Vec<String>, Claimed) {
    let claimed = journal.claim(claim).await.unwrap();
    let ids = claimed.rows.iter().map(|row| row.envelope.id.clone());
    (ids.collect(), claimed)
}

pub(crate) fn delivered(row: RowId) -> Record {
    Record::Delivered {
        row,
        message_id: Some("message".into()),
        claim: None,
    }
}

pub(crate) fn retry(row: RowId, due: i64) -> Record {
    Record::Retry {
        row,
        due,
        attempts: 1,
        first_attempt_at: NOW,
        maybe_stored: true,
        claim: None,
    }
}

pub(crate) fn dead(row: RowId, stop: bool) -> Record {
    Record::Dead {
        row,
        cause: cause(),
        attempts: 2,
        first_attempt_at: Some(NOW),
        died_at: NOW + 10,
        stop,
        claim: None,
    }
}

/// The same record of a row whose body was checked in meanwhile.
pub(crate) fn claimed(mut record: Record, checked_in: &ClaimRef) -> Record {
    match &mut record {
        Record::Delivered { claim, .. }
        | Record::Retry { claim, .. }
        | Record::Dead { claim, .. } => *claim = Some(checked_in.clone()),
        Record::Release { .. } => {}
    }
    record
}

pub(crate) fn cause() -> Cause {
    Cause {
        error_class: ErrorClass::Throttled,
        config: false,
        kind: "sink".into(),
        message: "it said no".into(),
        maybe_stored: true,
    }
}

pub(crate) fn is_full(error: &JournalError, what: &str) -> bool {
    matches!(error, JournalError::Full { what: found, .. } if *found == what)
}
