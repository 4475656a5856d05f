//! What a process has used, from `/proc`.

use std::fmt;
use std::fs;
use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use super::marks::Marks;

/// A thread, once it runs.
#[derive(Default)]
pub(crate) struct Thread(OnceLock<String>);

impl Thread {
    /// Says that it is the calling one.
    pub(crate) fn is_here(&self) {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
        let id = stat.split(' ').next().unwrap_or_default();
        let _ = self.0.set(format!("/proc/self/task/{id}/stat"));
    }

    fn cpu(&self) -> f64 {
        self.0.get().map_or(0.0, |path| cpu(path))
    }
}

/// The threads that work.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) publisher: Thread,
    pub(crate) service: Thread,
}

/// Where everything stood at one time.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    pub(crate) seen: u64,
    /// Of the process, its publisher and its service.
    cpu: [f64; 3],
    pub(crate) rss_mib: f64,
}

impl Sample {
    pub(crate) fn take(threads: &Threads, marks: &Marks) -> Self {
        Self {
            at: Instant::now(),
            seen: marks.seen(),
            cpu: [
                cpu("/proc/self/stat"),
                threads.publisher.cpu(),
                threads.service.cpu(),
            ],
            rss_mib: status("self", "VmRSS:").unwrap_or_default(),
        }
    }

    /// What was done since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> impl fmt::Display {
        let seen = self.seen - earlier.seen;
        let per_second = seen as f64 / (self.at - earlier.at).as_secs_f64();
        let [all, publisher, service] = [0, 1, 2]
            .map(|index| (self.cpu[index] - earlier.cpu[index]) / seen.max(1) as f64 * 1e6);
        let rss = self.rss_mib;
        format!(
            "{per_second:.0} messages/s, {all:.2} CPU s per million ({publisher:.2} publisher, \
             {service:.2} service), {rss:.1} MiB"
        )
    }
}

/// User and system seconds. The kernel counts a hundred to the second.
fn cpu(path: &str) -> f64 {
    let stat = fs::read_to_string(path).unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

pub(crate) fn peak_mib() -> io::Result<f64> {
    status("self", "VmHWM:")
}

/// A line of a process's status that counts kibibytes.
pub(crate) fn status(process: &str, name: &str) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    number.map_or_else(
        || Err(io::Error::other("no such line")),
        |kib| Ok(kib / 1024.0),
    )
}
