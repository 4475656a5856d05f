//! What a run of a client cost.

use std::fmt;
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::Error;

/// A measurement that has begun.
#[derive(Debug)]
pub struct Started {
    at: Instant,
    cpu: Duration,
}

/// What the publishes of one process cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Confirmed messages over the wall time.
    pub messages_per_s: f64,
    /// User and system CPU seconds of the process, per million messages.
    pub cpu_s_per_million: f64,
    /// The peak of its resident memory.
    pub rss_mib: f64,
}

impl Started {
    /// Begins.
    ///
    /// # Errors
    ///
    /// The system does not tell what this process used.
    pub fn now() -> Result<Self, Error> {
        Ok(Self {
            cpu: cpu(&usage()?),
            at: Instant::now(),
        })
    }

    /// Ends, when so many messages were confirmed.
    ///
    /// # Errors
    ///
    /// The system does not tell what this process used.
    #[expect(clippy::cast_precision_loss, reason = "figures for a person")]
    pub fn end(self, messages: usize) -> Result<Figures, Error> {
        let wall = self.at.elapsed();
        let usage = usage()?;
        let cpu = cpu(&usage).saturating_sub(self.cpu);
        // Linux counts kibibytes, the BSDs and macOS bytes.
        let unit = if cfg!(target_os = "linux") {
            1024.0
        } else {
            1.0
        };
        Ok(Figures {
            messages_per_s: messages as f64 / wall.as_secs_f64(),
            cpu_s_per_million: cpu.as_secs_f64() / messages as f64 * 1e6,
            rss_mib: usage.max_rss() as f64 * unit / 1024.0 / 1024.0,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            messages_per_s,
            cpu_s_per_million,
            rss_mib,
        } = self;
        write!(
            f,
            "messages_per_s={messages_per_s:.0} cpu_s_per_million={cpu_s_per_million:.3} rss_mib={rss_mib:.1}"
        )
    }
}

impl Figures {
    /// Reads what [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut words = line.split_whitespace();
            let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            value?.parse().ok()
        };
        Some(Self {
            messages_per_s: field("messages_per_s")?,
            cpu_s_per_million: field("cpu_s_per_million")?,
            rss_mib: field("rss_mib")?,
        })
    }
}

/// The resident memory of this process now, in MiB.
///
/// # Errors
///
/// The system does not tell: only Linux does.
pub fn resident_mib() -> Result<f64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let mut lines = status.lines();
    let resident = lines.find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.trim().strip_suffix(" kB"));
    let kib: f64 = kib.ok_or("no VmRSS in /proc/self/status")?.parse()?;
    Ok(kib / 1024.0)
}

fn usage() -> Result<Usage, Error> {
    Ok(getrusage(UsageWho::RUSAGE_SELF)?)
}

fn cpu(usage: &Usage) -> Duration {
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}
