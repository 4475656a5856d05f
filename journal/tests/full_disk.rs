//! A disk that is full, and has room again: a process whose files may not grow.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod common;

use std::path::Path;
use std::process::Command;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use pubsink_core::journal::{Enqueued, JournalError, RowId};
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;

use common::{Dir, NOW, all_of, claim, delivered, envelope, hook, lane};

const CHILD: &str = "JOURNAL_TEST_FULL_DISK";

#[test]
fn a_full_disk_refuses_and_goes_on_once_it_has_room() {
    if let Ok(dir) = std::env::var(CHILD) {
        return smol::block_on(child(Path::new(&dir)));
    }
    let dir = Dir::new();
    // The limit's signal is ignored, so that a write fails as it does on a full disk.
    let status = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_full_disk_refuses_and_goes_on_once_it_has_room",
        ])
        .env(CHILD, dir.path())
        .status();
    assert!(status.unwrap().success());
}

async fn child(dir: &Path) {
    let journal = DiskJournal::open(dir, DiskOptions::default()).unwrap();
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, 1_500_000, hard).unwrap();
    let (kept, error) = fill(&journal).await;
    let JournalError::Storage(said) = &error else {
        panic!("{error:?}");
    };
    assert!(said.contains("the journal's disk failed"), "{said}");
    assert!(kept.len() > 10, "{kept:?}");
    // It is asked again with every call, and fails again, in its own words.
    for _ in 0..3 {
        let answer = journal.enqueue(NOW, vec![large("again")]).await;
        assert!(
            matches!(answer, Err(JournalError::Storage(_))),
            "{answer:?}"
        );
    }
    // What was kept can be delivered meanwhile. To let it go may need room, or not.
    let (ids, claimed) = claim(&journal, all_of(lane("a", "src"))).await;
    assert_eq!(ids.len(), kept.len());
    let first = claimed.rows[0].id;
    let mut recorded = journal.record(vec![delivered(first)]).await;

    setrlimit(Resource::RLIMIT_FSIZE, hard, hard).unwrap();
    if recorded.is_err() {
        // The row is claimed still, so it can be recorded.
        recorded = journal.record(vec![delivered(first)]).await;
    }
    recorded.unwrap();
    let answer = journal.enqueue(NOW, vec![large("room")]).await.unwrap();
    assert!(matches!(&*answer, [Enqueued::Stored(_)]));
    drop(journal);
    let journal = DiskJournal::open(dir, DiskOptions::default()).unwrap();
    let (_, claimed) = claim(&journal, all_of(lane("a", "src"))).await;
    let found: Vec<_> = claimed.rows.iter().map(|row| row.id).collect();
    // Nothing of what failed is there, nothing of what was kept is lost.
    assert_eq!(found[..found.len() - 1], kept[1..]);
    assert_eq!(claimed.rows.last().unwrap().envelope.id, "room");
}

/// Hooks until the disk is full.
async fn fill(journal: &DiskJournal) -> (Vec<RowId>, JournalError) {
    let mut kept = Vec::new();
    loop {
        match journal.enqueue(NOW, vec![large("x")]).await {
            Ok(answer) => {
                let [Enqueued::Stored(rows)] = &*answer else {
                    panic!("{answer:?}");
                };
                kept.extend(rows.iter().map(|(row, _)| *row));
            }
            Err(error) => return (kept, error),
        }
        assert!(kept.len() < 1_000, "the limit is not kept");
    }
}

fn large(id: &str) -> pubsink_core::journal::Enqueue {
    let mut hook = hook(id, "src", &["a"]);
    hook.envelope = envelope(id, "src", &[7; 20_000]);
    hook
}
