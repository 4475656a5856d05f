//! A process that is killed at any moment: what it was told is kept is there, once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;

use common::{Dir, NOW, all_of, delivered, enqueue, hook, lane, retry};

const CHILD: &str = "JOURNAL_TEST_CRASH";
const ROUNDS: u64 = 30;
const PRODUCERS: usize = 8;

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Ok(arguments) = std::env::var(CHILD) {
        let (round, dir) = arguments.split_once(' ').unwrap();
        return child(Path::new(dir), round);
    }
    let dir = Dir::new();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut seen = Seen::default();
    let mut kept = 0;
    for round in 0..ROUNDS {
        let said = run_and_kill(dir.path(), round, Duration::from_millis(rng.u64(1..120)));
        kept += seen.read(&said);
        // Sometimes the next one is killed while it recovers from this one.
        if rng.u8(..4) > 0 || round + 1 == ROUNDS {
            seen.check(dir.path());
        }
    }
    assert!(kept > 100, "{kept} rows are too few to tell");
}

/// Says on its output what it was told: `k` is kept, `c` is about to be recorded, `d` is recorded.
fn child(dir: &Path, round: &str) {
    let journal = DiskJournal::open(dir, DiskOptions::default()).unwrap();
    let say = |what: char, id: &str| {
        let line = format!("{what} {id}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    };
    smol::block_on(async {
        let produce = (0..PRODUCERS).map(|producer| {
            let (journal, say) = (&journal, &say);
            async move {
                for n in 0.. {
                    let id = format!("{round}-{producer}-{n}");
                    enqueue(journal, NOW, hook(&id, "src", &["a", "b"])).await;
                    say('k', &id);
                }
            }
        });
        let dispatch = async {
            loop {
                let mut claim = all_of(lane("a", "src"));
                claim.max_rows = 3;
                let rows = journal.claim(claim).await.unwrap().rows;
                for row in &rows {
                    say('c', &row.envelope.id);
                }
                let records = rows.iter().enumerate().map(|(n, row)| match n {
                    0 => retry(row.id, NOW + 1),
                    _ => delivered(row.id),
                });
                journal.record(records.collect()).await.unwrap();
                for row in rows.iter().skip(1) {
                    say('d', &row.envelope.id);
                }
                smol::Timer::after(Duration::from_millis(2)).await;
            }
        };
        futures_util::future::join(join_all(produce), dispatch).await;
    });
}

fn run_and_kill(dir: &Path, round: u64, after: Duration) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "what_was_acknowledged_survives_a_kill",
        ])
        .env(CHILD, format!("{round} {}", dir.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        output.read_to_end(&mut said).unwrap();
        String::from_utf8(said).unwrap()
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// What all children said so far.
#[derive(Default)]
struct Seen {
    kept: BTreeSet<String>,
    recording: BTreeSet<String>,
    delivered: BTreeSet<String>,
}

impl Seen {
    fn read(&mut self, said: &str) -> usize {
        let before = self.kept.len();
        for line in said
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let Some((what, id)) = line.trim_end().split_once(' ') else {
                continue;
            };
            let set = match what {
                "k" => &mut self.kept,
                "c" => &mut self.recording,
                "d" => &mut self.delivered,
                // What the test harness says.
                _ => continue,
            };
            set.insert(id.to_owned());
        }
        self.kept.len() - before
    }

    fn check(&self, dir: &Path) {
        let journal = DiskJournal::open(dir, DiskOptions::default()).unwrap();
        smol::block_on(async {
            let claimed = journal.claim(all_of(lane("a", "src"))).await.unwrap();
            let mut found = BTreeMap::new();
            for row in claimed.rows {
                *found.entry(row.envelope.id.clone()).or_insert(0) += 1;
            }
            for (id, times) in &found {
                assert_eq!(*times, 1, "{id}");
                assert!(!self.delivered.contains(id), "{id} was let go");
            }
            for id in self.kept.difference(&self.recording) {
                assert!(found.contains_key(id), "{id} is lost");
            }
            // Nothing of the other sink was recorded.
            let claimed = journal.claim(all_of(lane("b", "src"))).await.unwrap();
            let found: Vec<_> = claimed.rows.iter().map(|row| &row.envelope.id).collect();
            let once: BTreeSet<_> = found.iter().copied().collect();
            assert_eq!(found.len(), once.len());
            for id in &self.kept {
                assert!(once.contains(id), "{id} is lost for the other sink");
            }
        });
    }
}
