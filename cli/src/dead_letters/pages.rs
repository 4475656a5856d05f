//! Dead letters, some at a time.

use pubsink_core::journal::{DeadId, DeadLetter, Filter};
use pubsink_runtime::journal::Journal as _;

use crate::exit::CommandError;
use crate::run::Opened;

/// How many bytes of hooks are held at a time, as far as the last ones tell.
const BYTES: usize = 4 * 1024 * 1024;
const LETTERS_MAX: usize = 1_000;

/// The dead letters that a filter means: their bodies may be bytes or megabytes, so that the next
/// page is as long as the last ones were small.
pub(crate) struct Pages<'a> {
    opened: &'a Opened,
    filter: Filter,
    after: DeadId,
    left: u64,
    length: usize,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(opened: &'a Opened, filter: Filter, limit: Option<u64>) -> Self {
        Self {
            opened,
            filter,
            after: DeadId(0),
            left: limit.unwrap_or(u64::MAX),
            length: 1,
        }
    }

    /// The next ones; none: that was all.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<DeadLetter>>, CommandError> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let max = self.length.min(left);
        if max == 0 {
            return Ok(None);
        }
        let journal = &self.opened.journal;
        let letters = journal.dead_letters(self.filter.clone(), self.after, max);
        let letters = letters.await.map_err(|error| self.opened.failed(&error))?;
        let Some(last) = letters.last() else {
            return Ok(None);
        };
        self.after = last.id;
        self.left -= letters.len() as u64;
        let bytes: usize = letters.iter().map(|letter| letter.envelope.bytes()).sum();
        let fitting = BYTES / (bytes / letters.len()).max(1);
        self.length = fitting.clamp(1, LETTERS_MAX.min(self.length * 4));
        Ok(Some(letters))
    }
}
