//! The thread that gives out rows and answers questions. It reads what is committed, so it never
//! waits for a sync.

mod claim;
mod counts;
mod lanes;
mod lists;

use std::sync::{Arc, MutexGuard, PoisonError};

use async_channel::{Receiver, Sender};
use futures_channel::oneshot;
use pubsink_core::journal::{JournalError, RowId};

use crate::calls::{Call, Change, Changed, Look, Looked};
use crate::claims::Claims;
use crate::disk::Shared;
use crate::error::Fault;

/// How many claims are answered from one snapshot.
const BATCH: usize = 64;

pub(crate) struct Reader {
    shared: Arc<Shared>,
    calls: Receiver<Call<Look, Looked>>,
    writer: Sender<Call<Change, Changed>>,
}

type Reply = oneshot::Sender<Result<Looked, JournalError>>;

impl Reader {
    pub(crate) fn new(
        shared: Arc<Shared>,
        calls: Receiver<Call<Look, Looked>>,
        writer: Sender<Call<Change, Changed>>,
    ) -> Self {
        Self {
            shared,
            calls,
            writer,
        }
    }

    pub(crate) fn run(self) {
        while let Ok(call) = self.calls.recv_blocking() {
            let mut next = Some(call);
            let mut claims = Vec::new();
            while let Some(Call { ask, reply }) = next.take() {
                match ask {
                    Look::Claim(claim) => claims.push((claim, reply)),
                    other => {
                        self.claim(std::mem::take(&mut claims));
                        self.answer(&other, reply);
                    }
                }
                if claims.len() < BATCH {
                    next = self.calls.try_recv().ok();
                }
            }
            self.claim(claims);
            if self.shared.store.is_broken() {
                self.have_it_mended();
            }
        }
    }

    fn answer(&self, ask: &Look, reply: Reply) {
        let answer = match ask {
            // These are gathered.
            Look::Claim(_) => return,
            Look::Release(rows) => {
                let release = self.claims().release(rows.iter().map(|row| row.0));
                let released = release.map(|()| Looked::Released);
                drop(reply.send(released.map_err(|row| JournalError::NotClaimed(RowId(row)))));
                return;
            }
            Look::Lanes => self.lanes().map(Looked::Lanes),
            Look::Stopped => self.stopped().map(Looked::Stopped),
            Look::Replays => self.replays().map(Looked::Replays),
            Look::Totals => self.totals().map(Looked::Totals),
            Look::Counts => self.counts().map(Looked::Counts),
            Look::Unclaimed(over) => self.has_unclaimed(*over).map(Looked::Unclaimed),
            Look::Letters { filter, after, max } => {
                self.letters(filter, *after, *max).map(Looked::Letters)
            }
        };
        drop(reply.send(answer.map_err(|fault: Fault| (&fault).into())));
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        let claims = self.shared.claims.lock();
        claims.unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer opens the file again, before it does anything else.
    fn have_it_mended(&self) {
        let (reply, _) = oneshot::channel();
        let ask = Change::Mend;
        // If its queue is full, it has work to do, and mends the file before that.
        drop(self.writer.try_send(Call { ask, reply }));
    }
}
