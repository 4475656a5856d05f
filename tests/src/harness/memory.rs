//! How much memory this process has, where the system says.

use std::fs;

/// The resident set in MB (1,000,000 bytes), or none where the system does not say.
pub(crate) fn resident_mb() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1_024 / 1_000_000)
}

/// Checks that memory grew by at most `most` MB since `before`.
pub(crate) fn assert_growth(before: Option<u64>, most: u64) {
    match (before, resident_mb()) {
        (Some(before), Some(now)) => {
            eprintln!(
                "NOTE: memory {before} MB before, {now} MB after, at most {most} MB more allowed"
            );
            assert!(
                now <= before + most,
                "memory grew from {before} to {now} MB"
            );
        }
        _ => eprintln!("NOTE: NOT RUN: the memory bound, since this system has no /proc"),
    }
}
