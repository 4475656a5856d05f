//! Journals that are looked at: in memory or on disk, with faults where a case wants some.

use std::sync::Mutex;

use async_channel::{Receiver, Sender};
use pubsink_core::journal::{
    Claim, Claimed, DeadId, DeadLetter, Enqueue, Enqueued, Filter, JournalError, Lane, Record,
    ReplayJob, RowId, StoppedLane, TableLimits,
};
use pubsink_core::text::Text;
use pubsink_journal::{DiskJournal, DiskOptions};
use pubsink_runtime::journal::{Journal, MemoryJournal};

use super::dir::Dir;

type Refuse = Box<dyn FnMut(&[Record]) -> Option<JournalError> + Send>;

/// A journal that fails where it is told to. One type, so that no case has to be written twice.
pub(crate) struct Watched {
    // Closed before its directory goes.
    kept: Kept,
    dir: Option<Dir>,
    refuse: Mutex<Option<Refuse>>,
    gate: Mutex<Option<Receiver<()>>>,
}

enum Kept {
    Memory(MemoryJournal),
    Disk(DiskJournal),
}

impl Watched {
    pub(crate) fn memory() -> Self {
        Self::memory_of(TableLimits::MEMORY)
    }

    pub(crate) fn memory_of(limits: TableLimits) -> Self {
        Self::new(Kept::Memory(MemoryJournal::new(limits)), None)
    }

    pub(crate) fn disk() -> Self {
        Self::disk_of(DiskOptions::default())
    }

    pub(crate) fn disk_of(options: DiskOptions) -> Self {
        let dir = Dir::new();
        let journal = DiskJournal::open(&dir.0, options).expect("a new journal opens");
        Self::new(Kept::Disk(journal), Some(dir))
    }

    fn new(kept: Kept, dir: Option<Dir>) -> Self {
        Self {
            kept,
            dir,
            refuse: Mutex::default(),
            gate: Mutex::default(),
        }
    }

    /// Closes it and opens it again, as a process does that is started again. One in memory is
    /// what it was: no process outlives it.
    pub(crate) fn reopen(self) -> Self {
        match (self.kept, self.dir) {
            (Kept::Disk(journal), Some(dir)) => {
                drop(journal);
                let journal = DiskJournal::open(&dir.0, DiskOptions::default());
                let journal = journal.expect("a journal that was closed opens again");
                Self::new(Kept::Disk(journal), Some(dir))
            }
            (kept, dir) => Self::new(kept, dir),
        }
    }

    /// From now on records are kept unless `refuse` has an error for them.
    pub(crate) fn refuse_records(
        &self,
        refuse: impl FnMut(&[Record]) -> Option<JournalError> + Send + 'static,
    ) {
        *self.refuse.lock().unwrap() = Some(Box::new(refuse));
    }

    /// Hooks are kept only once what this returns was dropped.
    pub(crate) fn hold_hooks(&self) -> Sender<()> {
        let (held, gate) = async_channel::bounded(1);
        *self.gate.lock().unwrap() = Some(gate);
        held
    }

    /// Every dead letter.
    pub(crate) async fn letters(&self) -> Vec<DeadLetter> {
        let all = self.dead_letters(Filter::default(), DeadId::default(), usize::MAX);
        all.await.expect("the journal is read")
    }

    /// How many queues have rows.
    pub(crate) async fn lanes_left(&self) -> usize {
        self.lanes().await.expect("the journal is read").len()
    }
}

macro_rules! kept {
    ($self:ident.$call:ident($($argument:expr),*)) => {
        match &$self.kept {
            Kept::Memory(journal) => journal.$call($($argument),*).await,
            Kept::Disk(journal) => journal.$call($($argument),*).await,
        }
    };
}

impl Journal for Watched {
    fn durable(&self) -> bool {
        match &self.kept {
            Kept::Memory(journal) => journal.durable(),
            Kept::Disk(journal) => journal.durable(),
        }
    }

    async fn lanes(&self) -> Result<Vec<(Lane, i64)>, JournalError> {
        kept!(self.lanes())
    }

    async fn enqueue(&self, now: i64, hooks: Vec<Enqueue>) -> Result<Vec<Enqueued>, JournalError> {
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            // Nothing is ever sent: it ends when the other side is dropped.
            let _ = gate.recv().await;
        }
        kept!(self.enqueue(now, hooks))
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, JournalError> {
        kept!(self.claim(claim))
    }

    async fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        let refused = {
            let mut refuse = self.refuse.lock().unwrap();
            refuse.as_mut().and_then(|refuse| refuse(&records))
        };
        match refused {
            Some(error) => Err(error),
            None => kept!(self.record(records)),
        }
    }

    async fn stopped(&self) -> Result<Vec<StoppedLane>, JournalError> {
        kept!(self.stopped())
    }

    async fn resume(&self, lane: Lane) -> Result<Option<i64>, JournalError> {
        kept!(self.resume(lane))
    }

    async fn dead_letters(
        &self,
        filter: Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Vec<DeadLetter>, JournalError> {
        kept!(self.dead_letters(filter, after, max))
    }

    async fn discard(&self, letters: Vec<DeadId>) -> Result<usize, JournalError> {
        kept!(self.discard(letters))
    }

    async fn begin_replay(&self, job: ReplayJob) -> Result<ReplayJob, JournalError> {
        kept!(self.begin_replay(job))
    }

    async fn replays(&self) -> Result<Vec<ReplayJob>, JournalError> {
        kept!(self.replays())
    }

    async fn set_replay(&self, id: Text, running: bool) -> Result<ReplayJob, JournalError> {
        kept!(self.set_replay(id, running))
    }

    async fn replay(
        &self,
        now: i64,
        id: Text,
        max: usize,
    ) -> Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError> {
        kept!(self.replay(now, id, max))
    }
}
