//! The journal, as its users see it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use async_channel::Sender;
use futures_channel::oneshot;
use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane,
};
use pubsink_core::text::Text;
use pubsink_runtime::journal::Journal;

use crate::calls::{Call, Change, Changed, Look, Looked, NewHook, Totals};
use crate::claims::Claims;
use crate::error::OpenError;
use crate::options::DiskOptions;
use crate::reader::Reader;
use crate::store::Store;
use crate::writer::Writer;

/// A journal in a directory of the local disk.
///
/// It has two threads: one writes, one reads. Its futures need no particular runtime. Dropping it
/// closes it; both wait for the calls that were made.
#[derive(Debug)]
pub struct DiskJournal {
    changes: Sender<Call<Change, Changed>>,
    looks: Sender<Call<Look, Looked>>,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What both threads work on.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) claims: Mutex<Claims>,
}

/// How many calls wait for a thread before the next ones wait for room.
const QUEUE: usize = 1_024;

/// Takes the answer that belongs to what was asked.
macro_rules! expect {
    ($answer:expr, $pattern:pat => $value:expr) => {
        match $answer {
            $pattern => Ok($value),
            other => Err(JournalError::Storage(
                format!("the journal answered something else than it was asked: {other:?}").into(),
            )),
        }
    };
}

impl DiskJournal {
    /// Opens the journal in `dir`, or begins one there.
    ///
    /// This blocks: after a crash the whole file is read and checked.
    ///
    /// # Errors
    ///
    /// [`OpenError`]: somebody else has it, it is not a journal or a newer one, it is damaged, or
    /// the system says no.
    pub fn open(dir: impl AsRef<Path>, options: DiskOptions) -> Result<Self, OpenError> {
        let dir = dir.as_ref();
        let shared = Arc::new(Shared {
            store: Store::open(dir, options.cache_bytes)?,
            claims: Mutex::default(),
        });
        let (changes, changes_in) = async_channel::bounded(QUEUE);
        let (looks, looks_in) = async_channel::bounded(QUEUE);
        let writer = Writer::new(shared.clone(), options, changes_in, dir)?;
        let reader = Reader::new(shared.clone(), looks_in, changes.clone());
        let journal = Self {
            changes,
            looks,
            shared,
            threads: Mutex::default(),
        };
        journal.spawn(dir, "pubsink-journal-write", move || writer.run())?;
        journal.spawn(dir, "pubsink-journal-read", move || reader.run())?;
        Ok(journal)
    }

    /// Closes the journal once the calls that were made are answered; later ones are refused.
    /// This blocks for as long as that takes.
    pub fn close(&self) {
        self.changes.close();
        self.looks.close();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // It answers for its panics itself.
            drop(thread.join());
        }
        self.shared.store.close();
    }

    /// How much it holds. Cheap, whatever that is.
    ///
    /// # Errors
    ///
    /// [`JournalError`]: the disk failed.
    pub async fn totals(&self) -> Result<Totals, JournalError> {
        expect!(self.look(Look::Totals).await?, Looked::Totals(totals) => totals)
    }

    /// How many rows each lane has, stopped ones too. Goes through all rows: for an operator's
    /// eyes, since calls wait for as long.
    ///
    /// # Errors
    ///
    /// [`JournalError`]: the disk failed.
    pub async fn counts(&self) -> Result<Vec<(Lane, u64)>, JournalError> {
        expect!(self.look(Look::Counts).await?, Looked::Counts(counts) => counts)
    }

    /// Whether a row, also of a stopped lane, has a body of more than `over` bytes and no claim:
    /// without a claim store a sink that sends no more than that could not deliver it. Goes
    /// through all rows, as [`counts`](Self::counts) does.
    ///
    /// # Errors
    ///
    /// [`JournalError`]: the disk failed.
    pub async fn has_unclaimed(&self, over: usize) -> Result<bool, JournalError> {
        let look = self.look(Look::Unclaimed(over)).await?;
        expect!(look, Looked::Unclaimed(has) => has)
    }

    fn spawn(
        &self,
        dir: &Path,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), OpenError> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(run);
        let thread = thread.map_err(|error| OpenError::Io {
            dir: dir.into(),
            doing: "starting its threads",
            kind: error.kind(),
            detail: error.to_string().into(),
        })?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(thread);
        Ok(())
    }

    async fn change(&self, ask: Change) -> Result<Changed, JournalError> {
        call(&self.changes, ask).await
    }

    async fn look(&self, ask: Look) -> Result<Looked, JournalError> {
        call(&self.looks, ask).await
    }
}

impl Drop for DiskJournal {
    fn drop(&mut self) {
        self.close();
    }
}

async fn call<Ask, Answer>(
    thread: &Sender<Call<Ask, Answer>>,
    ask: Ask,
) -> Result<Answer, JournalError> {
    let (reply, answer) = oneshot::channel();
    let sent = thread.send(Call { ask, reply }).await;
    sent.map_err(|_| JournalError::Closed)?;
    answer.await.unwrap_or(Err(JournalError::Closed))
}

impl Journal for DiskJournal {
    fn begin(&self) {
        let claims = self.shared.claims.lock();
        *claims.unwrap_or_else(PoisonError::into_inner) = Claims::default();
    }

    async fn lanes(&self) -> Result<Vec<(Lane, i64)>, JournalError> {
        expect!(self.look(Look::Lanes).await?, Looked::Lanes(lanes) => lanes)
    }

    async fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Result<Vec<Enqueued>, JournalError> {
        let hooks = hooks.iter().map(NewHook::new).collect();
        let answer = self.change(Change::Enqueue { now, hooks }).await?;
        expect!(answer, Changed::Enqueued(enqueued) => enqueued)
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, JournalError> {
        expect!(self.look(Look::Claim(claim)).await?, Looked::Claimed(claimed) => claimed)
    }

    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        let release = records
            .iter()
            .map(|record| match record {
                Record::Release { row } => Some(*row),
                _ => None,
            })
            .collect();
        if let Some(rows) = release {
            return expect!(self.look(Look::Release(rows)).await?, Looked::Released => ());
        }
        expect!(self.change(Change::Record(records)).await?, Changed::Done => ())
    }

    async fn stopped(&self) -> Result<Vec<StoppedLane>, JournalError> {
        expect!(self.look(Look::Stopped).await?, Looked::Stopped(lanes) => lanes)
    }

    async fn resume(&self, lane: Lane) -> Result<Option<i64>, JournalError> {
        expect!(self.change(Change::Resume(lane)).await?, Changed::Due(due) => due)
    }

    async fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Vec<DeadLetter>, JournalError> {
        let mut letters = Vec::new();
        let mut next = Some(after);
        while let Some(after) = next.filter(|_| letters.len() < max) {
            let look = Look::Letters {
                filter: filter.clone(),
                after,
                max: max - letters.len(),
            };
            let look = expect!(self.look(look).await?, Looked::Letters(letters) => letters)?;
            letters.extend(look.found);
            next = look.next;
        }
        Ok(letters)
    }

    async fn discard(&self, letters: Vec<DeadId>) -> Result<usize, JournalError> {
        expect!(self.change(Change::Discard(letters)).await?, Changed::Discarded(count) => count)
    }

    async fn begin_replay(&self, job: ReplayJob) -> Result<ReplayJob, JournalError> {
        expect!(self.change(Change::BeginReplay(job)).await?, Changed::Job(job) => job)
    }

    async fn replays(&self) -> Result<Vec<ReplayJob>, JournalError> {
        expect!(self.look(Look::Replays).await?, Looked::Replays(jobs) => jobs)
    }

    async fn set_replay(&self, id: Text, running: bool) -> Result<ReplayJob, JournalError> {
        let answer = self.change(Change::SetReplay { id, running }).await?;
        expect!(answer, Changed::Job(job) => job)
    }

    async fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        let answer = self.change(Change::Replay { now, id, max }).await?;
        expect!(answer, Changed::Replayed(job, rows) => (job, rows))
    }
}
