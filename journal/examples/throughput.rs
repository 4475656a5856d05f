//! How fast the journal is on this machine's disk, and how fast it is back after a crash.
//!
//! `cargo run --release -p pubsink-journal --example throughput -- [DIRECTORY]`. The directory
//! should be on the disk that is meant; what is made there is removed again.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use pubsink_core::envelope::Envelope;
use pubsink_core::journal::{Claim, Destination, Enqueue, JournalError, Lane, Record};
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::Journal as _;

type Error = Box<dyn std::error::Error>;

const PRODUCERS: usize = 64;
const BODY: usize = 1_024;
const NOW: i64 = 1_750_000_000_000;
const SLICE: Duration = Duration::from_secs(1);
const SLICES: u32 = 8;
const PENDING: usize = 1_000_000;
const LANES: usize = 4;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    let result = match first.as_deref() {
        // In processes of their own: one to be killed, others to show their own memory.
        Some("fill") => fill(Path::new(&arguments.next().unwrap_or_default())),
        Some("recover") => {
            let dir = arguments.next().unwrap_or_default();
            recover(Path::new(&dir), &arguments.next().unwrap_or_default())
        }
        Some("run") => run(&arguments.collect::<Vec<_>>()),
        dir => all(Path::new(dir.unwrap_or("target/journal-throughput"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn all(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir)?;
    for _ in 0..3 {
        for (outstanding, consume) in [("1", "no"), ("16", "no"), ("1", "yes"), ("16", "yes")] {
            own(&["run", &text(&dir.join("run")), outstanding, consume])?;
        }
    }
    let pending = dir.join("pending");
    own(&["fill", &text(&pending)])?;
    for _ in 0..3 {
        own(&["recover", &text(&pending), "a close"])?;
    }
    for _ in 0..3 {
        // It ends itself while it fills: nothing is closed.
        own(&["fill", &text(&pending)]).ok();
        own(&["recover", &text(&pending), "a kill"])?;
    }
    fs::remove_dir_all(dir)?;
    Ok(())
}

fn own(arguments: &[&str]) -> Result<(), Error> {
    let status = Command::new(std::env::current_exe()?)
        .args(arguments)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{arguments:?}: {status}").into())
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The bound of the disk: as many hooks as are outstanding are appended to a file in one write,
/// and synced.
struct Raw {
    file: File,
    block: Vec<u8>,
}

impl Raw {
    /// How many hooks a second, for some time.
    fn slice(&mut self, outstanding: usize) -> Result<f64, Error> {
        let (begun, mut syncs) = (Instant::now(), 0_u32);
        while begun.elapsed() < SLICE {
            self.file.write_all(&self.block)?;
            self.file.sync_data()?;
            syncs += 1;
        }
        Ok(f64::from(syncs) * outstanding as f64 / begun.elapsed().as_secs_f64())
    }
}

/// Producers, each with some hooks outstanding, and dispatch beside them or not; in turns with the
/// bare disk, since a disk that is shared is not the same disk a minute later.
fn run(arguments: &[String]) -> Result<(), Error> {
    let [dir, outstanding, consume] = arguments else {
        return Err("run DIRECTORY OUTSTANDING yes|no".into());
    };
    let (dir, consume) = (Path::new(dir), consume == "yes");
    let outstanding = PRODUCERS * outstanding.parse::<usize>()?;
    let _ = fs::remove_dir_all(dir);
    let journal = DiskJournal::open(dir, DiskOptions::default())?;
    let mut raw = Raw {
        file: File::create(dir.join("raw"))?,
        block: vec![7; outstanding * (BODY + 176)],
    };
    slice(&journal, outstanding, consume)?;
    let cpu_before = cpu();
    let (mut bare, mut kept, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut delivered = 0.0;
    for _ in 0..SLICES {
        let before = raw.slice(outstanding)?;
        let counts = slice(&journal, outstanding, consume)?;
        bare.push(before);
        kept.push(counts.0);
        ratios.push(counts.0 / before);
        delivered += counts.1 / f64::from(SLICES);
    }
    let hooks = kept.iter().sum::<f64>() * SLICE.as_secs_f64();
    let million = (cpu() - cpu_before) / hooks * 1e6;
    println!(
        "{outstanding} outstanding: {} hooks/s kept, {delivered:.0} delivered; append + fdatasync \
         {} hooks/s; ratio {:.2}; {million:.1} CPU s per million, {} MiB of file, {}",
        median(&mut kept).round(),
        median(&mut bare).round(),
        median(&mut ratios),
        fs::metadata(dir.join("journal.redb")).map_or(0, |m| m.len() >> 20),
        memory(),
    );
    journal.close();
    fs::remove_dir_all(dir)?;
    Ok(())
}

/// How many hooks a second are kept and delivered, for some time.
fn slice(journal: &DiskJournal, tasks: usize, consume: bool) -> Result<(f64, f64), Error> {
    let stop = AtomicBool::new(false);
    let (kept, delivered) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let produce = scope.spawn(|| {
            let tasks = (0..tasks).map(|task| produce(journal, task, &stop, &kept));
            smol::block_on(join_all(tasks))
        });
        let dispatch = consume.then(|| {
            scope.spawn(|| {
                let lanes = (0..LANES).map(|n| dispatch(journal, lane(n), &stop, &delivered));
                smol::block_on(join_all(lanes))
            })
        });
        let begun = Instant::now();
        thread::sleep(SLICE);
        let counts = [&kept, &delivered].map(|count| count.load(Ordering::Relaxed) as f64);
        let seconds = begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let mut results = produce.join().unwrap_or_default();
        results.extend(dispatch.and_then(|d| d.join().ok()).unwrap_or_default());
        results.into_iter().collect::<Result<(), _>>()?;
        Ok((counts[0] / seconds, counts[1] / seconds))
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

async fn produce(
    journal: &DiskJournal,
    task: usize,
    stop: &AtomicBool,
    kept: &AtomicU64,
) -> Result<(), JournalError> {
    while !stop.load(Ordering::Relaxed) {
        journal.enqueue(NOW, vec![hook(task)]).await?;
        kept.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

async fn dispatch(
    journal: &DiskJournal,
    lane: Lane,
    stop: &AtomicBool,
    delivered: &AtomicU64,
) -> Result<(), JournalError> {
    while !stop.load(Ordering::Relaxed) {
        let claimed = journal.claim(claim(&lane)).await?;
        if claimed.rows.is_empty() {
            smol::Timer::after(Duration::from_millis(1)).await;
            continue;
        }
        let records: Vec<_> = claimed
            .rows
            .iter()
            .map(|row| Record::Delivered {
                row: row.id,
                message_id: Some("12345678901234567".into()),
                claim: None,
            })
            .collect();
        let count = records.len() as u64;
        journal.record(records).await?;
        delivered.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// A million rows that wait; in a directory that has them, some more, and then the end.
fn fill(dir: &Path) -> Result<(), Error> {
    let again = dir.exists();
    let journal = DiskJournal::open(dir, DiskOptions::default())?;
    let count = if again { 10_000 } else { PENDING };
    let begun = Instant::now();
    smol::block_on(async {
        for n in 0..count / 1_000 {
            let hooks = (0..1_000).map(|m| hook(n * 1_000 + m)).collect();
            journal.enqueue(NOW, hooks).await?;
        }
        Ok::<_, JournalError>(())
    })?;
    if again {
        std::process::abort();
    }
    let size = fs::metadata(dir.join("journal.redb"))?.len() >> 20;
    println!(
        "{count} rows filled in {:.1} s: {size} MiB of file, {}",
        begun.elapsed().as_secs_f64(),
        memory()
    );
    Ok(())
}

fn recover(dir: &Path, after: &str) -> Result<(), Error> {
    let begun = Instant::now();
    let journal = DiskJournal::open(dir, DiskOptions::default())?;
    let opened = begun.elapsed();
    let (lanes, rows) = smol::block_on(async {
        let lanes = journal.lanes().await?;
        let mut rows = 0;
        for (lane, _) in &lanes {
            rows += journal.claim(claim(lane)).await?.rows.len();
        }
        Ok::<_, JournalError>((lanes.len(), rows))
    })?;
    println!(
        "after {after}: open in {:.2} s, {lanes} lanes and the first {rows} rows after {:.2} s, {}",
        opened.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
        memory()
    );
    Ok(())
}

fn lane(n: usize) -> Lane {
    Lane {
        sink: "topic".into(),
        source: format!("source-{}", n % LANES).into(),
        key: None,
    }
}

fn claim(lane: &Lane) -> Claim {
    Claim {
        lane: lane.clone(),
        due_by: i64::MAX,
        max_rows: 1_024,
        max_bytes: 16 << 20,
        oversize: false,
    }
}

/// A hook with a body of random bytes, so that nothing is gained by compressing.
fn hook(n: usize) -> Enqueue {
    let mut body = vec![0; BODY];
    fastrand::Rng::with_seed(n as u64).fill(&mut body);
    let header = |name: &str, value: &'static str| (name.to_owned(), Bytes::from(value));
    let envelope = Envelope {
        id: format!("0197a3c0-0000-7000-8000-{n:012x}"),
        source_id: format!("source-{}", n % LANES),
        tenant_id: Some("tenant".into()),
        received_at: NOW,
        method: "POST".into(),
        path: "/hooks/source".into(),
        headers: vec![
            header("content-type", "application/json"),
            header("user-agent", "a provider of hooks/1.0"),
        ],
        content_type: Some("application/json".into()),
        body: body.into(),
        dedupe_key: None,
    };
    Enqueue {
        envelope: Arc::new(envelope),
        to: vec![Destination {
            sink: "topic".into(),
            key: None,
        }],
        claim: None,
        check_in: false,
        once: None,
    }
}

/// The memory of this process, where the system tells it.
fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let read = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) >> 10
    };
    format!(
        "{} MiB of memory, {} at most",
        read("VmRSS:"),
        read("VmHWM:")
    )
}

/// The CPU time of this process so far, in seconds.
fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}
