//! What an operator sets.

/// How much a journal may hold, and how much memory it takes for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskOptions {
    /// The most rows and dead letters. Default: 10,000,000. More hooks are refused.
    pub max_rows: u64,
    /// The most bytes of their hooks, as [`Row::bytes`](pubsink_core::journal::Row::bytes) counts
    /// them. Default: 64 GiB. The file takes up to twice as much, since pages are not filled to
    /// the brim.
    pub max_bytes: u64,
    /// The bytes of memory for pages of the file. Default: 32 MiB, which keeps the index of some
    /// millions of rows at hand; more helps when rows are spread over very many ordering keys.
    pub cache_bytes: usize,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            max_rows: 10_000_000,
            max_bytes: 64 * 1024 * 1024 * 1024,
            cache_bytes: 32 * 1024 * 1024,
        }
    }
}
