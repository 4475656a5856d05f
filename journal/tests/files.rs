//! Directories that are in use, foreign, newer or damaged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pubsink_core::claim::ClaimRef;
use pubsink_core::journal::{DeadId, JournalError};
use pubsink_journal::{DiskJournal, DiskOptions, FORMAT, OpenError};
use pubsink_runtime::journal::Journal as _;
use redb::{Database, ReadableDatabase as _, ReadableTableMetadata as _, TableDefinition};

use common::{Dir, NOW, all_of, claim, claimed, dead, delivered, enqueue, hook, lane, retry};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const CHECKED_IN: TableDefinition<'_, u64, &str> = TableDefinition::new("checked_in");

fn open(dir: &Dir) -> Result<DiskJournal, OpenError> {
    DiskJournal::open(dir.path(), DiskOptions::default())
}

/// A journal with some rows, closed.
fn filled() -> Dir {
    let dir = Dir::new();
    let journal = open(&dir).unwrap();
    smol::block_on(async {
        for n in 0..50 {
            enqueue(&journal, NOW, hook(&n.to_string(), "src", &["a", "b/key"])).await;
        }
    });
    drop(journal);
    dir
}

#[test]
fn a_journal_is_opened_once_in_a_process() {
    let dir = filled();
    let journal = open(&dir).unwrap();
    let refused = open(&dir).unwrap_err();
    assert_eq!(
        refused,
        OpenError::InUse {
            dir: dir.path().into()
        }
    );
    let said = refused.to_string();
    assert!(said.contains(&dir.path().display().to_string()), "{said}");
    assert!(said.contains("stop that first"), "{said}");
    // Closed, it is free, and says so to whoever still has it.
    journal.close();
    let lanes = smol::block_on(journal.lanes());
    assert_eq!(lanes, Err(JournalError::Closed));
    let answer = smol::block_on(journal.enqueue(NOW, vec![hook("1", "src", &["a"])]));
    assert_eq!(answer, Err(JournalError::Closed));
    assert!(open(&dir).is_ok());
}

#[test]
fn a_journal_is_opened_once_by_all_processes() {
    if let Ok(dir) = std::env::var("JOURNAL_TEST_IN_USE") {
        let error = DiskJournal::open(Path::new(&dir), DiskOptions::default()).unwrap_err();
        assert!(matches!(error, OpenError::InUse { .. }), "{error}");
        return;
    }
    let dir = filled();
    let _journal = open(&dir).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_journal_is_opened_once_by_all_processes"])
        .env("JOURNAL_TEST_IN_USE", dir.path())
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_file_that_is_none_of_ours_is_refused() {
    let dir = Dir::new();
    fs::create_dir_all(dir.path()).unwrap();
    fs::write(dir.file(), vec![b'x'; 100_000]).unwrap();
    let error = open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    assert_eq!(
        fs::read(dir.file()).unwrap().len(),
        100_000,
        "it is left as it was"
    );

    for format in [None, Some(0)] {
        fs::remove_file(dir.file()).unwrap();
        let database = Database::create(dir.file()).unwrap();
        let tx = database.begin_write().unwrap();
        let other = TableDefinition::<u64, u64>::new("other");
        tx.open_table(other).unwrap().insert(1, 1).unwrap();
        if let Some(format) = format {
            tx.open_table(META)
                .unwrap()
                .insert("format", format)
                .unwrap();
        }
        tx.commit().unwrap();
        drop(database);
        let error = open(&dir).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }), "{error:?}");
    }
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let dir = filled();
    let set = |format| {
        let database = Database::open(dir.file()).unwrap();
        let tx = database.begin_write().unwrap();
        tx.open_table(META)
            .unwrap()
            .insert("format", format)
            .unwrap();
        tx.commit().unwrap();
    };
    set(FORMAT + 1);
    let error = open(&dir).unwrap_err();
    let newer = OpenError::Newer {
        dir: dir.path().into(),
        found: FORMAT + 1,
        known: FORMAT,
    };
    assert_eq!(error, newer);
    set(FORMAT);
    assert_eq!(
        smol::block_on(open(&dir).unwrap().lanes()).unwrap().len(),
        2
    );
}

#[test]
fn an_older_file_without_the_refs_of_checked_in_bodies_is_completed() {
    let dir = filled();
    let database = Database::open(dir.file()).unwrap();
    let tx = database.begin_write().unwrap();
    assert!(tx.delete_table(CHECKED_IN).unwrap());
    tx.commit().unwrap();
    drop(database);
    for _ in 0..2 {
        let journal = open(&dir).unwrap();
        smol::block_on(async {
            let (ids, claimed) = claim(&journal, all_of(lane("a", "src"))).await;
            assert_eq!(ids.len(), 50);
            assert!(claimed.rows.iter().all(|row| row.claim.is_none()));
        });
    }
}

#[test]
fn the_ref_of_a_checked_in_body_is_gone_with_its_hook() {
    let dir = Dir::new();
    let kept = || {
        let database = Database::open(dir.file()).unwrap();
        let table = database.begin_read().unwrap().open_table(CHECKED_IN);
        table.unwrap().len().unwrap()
    };
    let of = |to| all_of(lane(to, "src"));
    let known = ClaimRef::derive(None, NOW, "1").unwrap();
    let journal = open(&dir).unwrap();
    smol::block_on(async {
        let rows = enqueue(&journal, NOW, hook("1", "src", &["a", "b"])).await;
        let alone = enqueue(&journal, NOW, hook("2", "src", &["c"])).await;
        for to in ["a", "b", "c"] {
            claim(&journal, of(to)).await;
        }
        let records = [
            delivered(rows[0]),
            retry(rows[1], NOW),
            dead(alone[0], false),
        ];
        let records = records.map(|record| claimed(record, &known));
        journal.record(records.to_vec()).await.unwrap();
    });
    drop(journal);
    assert_eq!(kept(), 2);
    let journal = open(&dir).unwrap();
    smol::block_on(async {
        let (_, last) = claim(&journal, of("b")).await;
        let record = claimed(delivered(last.rows[0].id), &known);
        journal.record(vec![record]).await.unwrap();
        assert_eq!(journal.discard(vec![DeadId(1)]).await, Ok(1));
    });
    drop(journal);
    assert_eq!(kept(), 0);
}

#[test]
fn a_torn_file_is_an_error_and_no_panic() {
    let dir = filled();
    let whole = fs::read(dir.file()).unwrap();
    for keep in [
        0,
        1,
        9,
        64,
        200,
        4_096,
        5_000,
        whole.len() / 2,
        whole.len() - 1,
    ] {
        fs::write(dir.file(), &whole[..keep]).unwrap();
        let error = open(&dir).unwrap_err();
        let typed = matches!(
            error,
            OpenError::Damaged { .. } | OpenError::Foreign { .. } | OpenError::Io { .. }
        );
        assert!(typed, "{keep}: {error:?}");
    }
    fs::write(dir.file(), &whole).unwrap();
    assert_eq!(
        smol::block_on(open(&dir).unwrap().lanes()).unwrap().len(),
        2
    );
}

#[test]
fn scattered_damage_is_an_error_and_no_panic() {
    let dir = filled();
    let whole = fs::read(dir.file()).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..60 {
        let mut damaged = whole.clone();
        for _ in 0..rng.usize(1..200) {
            let at = rng.usize(..damaged.len());
            damaged[at] = rng.u8(..);
        }
        fs::write(dir.file(), &damaged).unwrap();
        // It may be found when it is opened, when it is read, or never.
        let Ok(journal) = open(&dir) else {
            continue;
        };
        smol::block_on(async {
            for (lane, _) in journal.lanes().await.unwrap_or_default() {
                let _ = journal.claim(all_of(lane)).await;
            }
            let _ = journal.enqueue(NOW, vec![hook("1", "src", &["a"])]).await;
        });
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let dir = Dir::new();
    fs::create_dir_all(dir.path()).unwrap();
    fs::write(dir.path().join("file"), b"").unwrap();
    let error = DiskJournal::open(dir.path().join("file/journal"), DiskOptions::default());
    let error = error.unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error:?}");
}

#[test]
fn a_file_that_was_not_finished_is_begun_again() {
    let dir = Dir::new();
    fs::create_dir_all(dir.path()).unwrap();
    fs::write(dir.path().join("journal.redb.new"), b"half of it").unwrap();
    assert!(open(&dir).is_ok());
    assert!(!dir.path().join("journal.redb.new").exists());
}

#[test]
fn many_callers_are_answered_each() {
    let dir = Dir::new();
    let journal = Arc::new(open(&dir).unwrap());
    let threads = (0..8).map(|thread| {
        let journal = journal.clone();
        std::thread::spawn(move || {
            smol::block_on(async {
                let mut rows = Vec::new();
                for n in 0..25 {
                    let hook = hook(&format!("{thread}-{n}"), "src", &["a"]);
                    rows.extend(enqueue(&*journal, NOW, hook).await);
                }
                rows
            })
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut rows: Vec<_> = threads
        .into_iter()
        .flat_map(|t| t.join().unwrap())
        .collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 200);
}

#[test]
fn rows_with_a_body_over_a_limit_and_no_claim_are_found() {
    let dir = Dir::new();
    let journal = open(&dir).unwrap();
    smol::block_on(async {
        // Each has the body "body". The second one of a key is given out to nobody.
        let known = ClaimRef::derive(Some("tenant"), NOW, "0").unwrap();
        let mut came = hook("0", "src", &["a"]);
        came.claim = Some(known.clone());
        enqueue(&journal, NOW, came).await;
        assert_eq!(journal.has_unclaimed(0).await, Ok(false));
        let first = enqueue(&journal, NOW, hook("1", "src", &["b/key"])).await;
        let second = enqueue(&journal, NOW, hook("2", "src", &["b/key"])).await;
        for (over, has) in [(3, true), (4, false), (usize::MAX, false)] {
            assert_eq!(journal.has_unclaimed(over).await, Ok(has), "{over}");
        }
        for row in [first, second] {
            assert_eq!(journal.has_unclaimed(3).await, Ok(true));
            claim(&journal, all_of(lane("b/key", "src"))).await;
            let record = vec![claimed(retry(row[0], NOW), &known)];
            journal.record(record).await.unwrap();
            let record = vec![delivered(row[0])];
            claim(&journal, all_of(lane("b/key", "src"))).await;
            journal.record(record).await.unwrap();
        }
        assert_eq!(journal.has_unclaimed(0).await, Ok(false));
    });
}
