//! Quantiles of many durations.

use std::fmt;
use std::time::Duration;

/// How long things took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantiles {
    /// Half of them took at most this.
    pub(crate) p50: Duration,
    /// 99 of 100 took at most this.
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
}

impl Quantiles {
    /// Those of `all`; none of nothing.
    pub(crate) fn of(mut all: Vec<Duration>) -> Option<Self> {
        all.sort_unstable();
        // The smallest that so many percent do not pass.
        let quantile = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100);
            all.get(rank.checked_sub(1)?).copied()
        };
        Some(Self {
            p50: quantile(50)?,
            p99: quantile(99)?,
            max: quantile(100)?,
        })
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut words = line.split_whitespace();
            let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            value?.parse().ok().map(Duration::from_nanos)
        };
        Some(Self {
            p50: field("p50_ns")?,
            p99: field("p99_ns")?,
            max: field("max_ns")?,
        })
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, max] = [self.p50, self.p99, self.max].map(|time| time.as_nanos());
        write!(f, "p50_ns={p50} p99_ns={p99} max_ns={max}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nanos: impl IntoIterator<Item = u64>) -> Option<[u128; 3]> {
        let all = nanos.into_iter().map(Duration::from_nanos).collect();
        let Quantiles { p50, p99, max } = Quantiles::of(all)?;
        Some([p50, p99, max].map(|time| time.as_nanos()))
    }

    #[test]
    fn a_quantile_is_the_smallest_that_so_many_do_not_pass() {
        assert_eq!(of([]), None);
        assert_eq!(of([7]), Some([7, 7, 7]));
        assert_eq!(of([3, 1]), Some([1, 3, 3]));
        assert_eq!(of((1..=100).rev()), Some([50, 99, 100]));
        assert_eq!(of(1..=1_000), Some([500, 990, 1_000]));
    }

    #[test]
    fn what_is_written_is_read() {
        let quantiles = Quantiles::of((1..=200).map(Duration::from_micros).collect()).unwrap();
        assert_eq!(Quantiles::parse(&quantiles.to_string()), Some(quantiles));
        assert_eq!(Quantiles::parse("p50_ns=1 max_ns=2"), None);
    }
}
