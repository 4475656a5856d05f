//! What the journal said.

use std::sync::Arc;

use super::Dispatcher;
use crate::dispatch::io::{Accepted, CallId, DispatchMisuse, DispatchOutput, EnqueueError, Event};
use crate::dispatch::records::Pending;
use crate::journal::{Enqueued, JournalError, Lane, ReplayJob, ReplayState, RowId};

impl<T> Dispatcher<T> {
    pub(super) fn stored(
        &mut self,
        call: CallId,
        result: Result<Vec<Enqueued>, JournalError>,
    ) -> Result<(), DispatchMisuse> {
        let tags = self.intake.answered(call);
        let tags = tags.ok_or(DispatchMisuse::UnknownCall(call))?;
        let mut results = match result {
            Ok(kept) if kept.len() == tags.len() => Ok(kept.into_iter()),
            Ok(kept) => {
                let words = format!("it answered for {} of {} hooks", kept.len(), tags.len());
                Err(JournalError::Storage(words.into()))
            }
            Err(error) => Err(error),
        };
        for tag in tags {
            let result = match &mut results {
                Ok(kept) => kept
                    .next()
                    .map_or(Err(EnqueueError::Closed), |kept| Ok(self.kept(kept))),
                Err(error) => Err(EnqueueError::Journal(error.clone())),
            };
            self.outputs
                .push_back(DispatchOutput::Accepted { tag, result });
        }
        Ok(())
    }

    pub(super) fn recorded(
        &mut self,
        call: CallId,
        result: Result<(), JournalError>,
    ) -> Result<(), DispatchMisuse> {
        let known = result.as_ref().copied();
        let kept = self.records.answered(self.now, call, known);
        let kept = kept.ok_or(DispatchMisuse::UnknownCall(call))?;
        if let Err(error) = result {
            self.event(Event::Journal {
                what: "record",
                error,
            });
        }
        // One that is not claimed any more was kept by a call that failed only afterwards.
        for mut pending in kept {
            // First, so that the lane is not forgotten in between, with what is known of it.
            if let Some(due) = pending.due {
                self.due(&pending.row.lane, due);
            }
            self.release(&pending);
            match pending.event.take() {
                Some(event) => self.event(event),
                None => self.let_go.push(Arc::clone(&pending.row.envelope)),
            }
        }
        self.hungry_waits = false;
        Ok(())
    }

    pub(super) fn replayed(
        &mut self,
        call: CallId,
        result: Result<(ReplayJob, Vec<(RowId, Lane)>), JournalError>,
    ) -> Result<(), DispatchMisuse> {
        let id = self.replays.answered(self.now, call, result.is_err());
        let id = id.ok_or(DispatchMisuse::UnknownCall(call))?;
        match result {
            Ok((job, rows)) => {
                let now = self.unix_now();
                for (_, lane) in rows {
                    self.due(&lane, now);
                }
                if job.state != ReplayState::Running {
                    self.replays.remove(&id);
                    self.event(Event::Replay(job));
                }
            }
            Err(error) => {
                if matches!(error, JournalError::UnknownReplay(_)) {
                    self.replays.remove(&id);
                }
                self.event(Event::Journal {
                    what: "replay",
                    error,
                });
            }
        }
        Ok(())
    }

    /// A row is claimed no more.
    pub(super) fn release(&mut self, pending: &Pending) {
        let row = &pending.row;
        self.window.rows -= 1;
        self.window.bytes -= row.bytes();
        if let Some(sink) = self.sinks.get_mut(&row.lane.sink) {
            sink.release(&row.lane, 1);
        }
        self.lanes.recorded(&row.lane);
        self.list_if_due(&row.lane);
    }

    fn kept(&mut self, kept: Enqueued) -> Accepted {
        match kept {
            Enqueued::Known(state) => Accepted::Known(state),
            Enqueued::Stored(rows) => {
                let now = self.unix_now();
                let ids = rows.into_iter().map(|(id, lane)| {
                    self.due(&lane, now);
                    id
                });
                Accepted::Stored(ids.collect())
            }
        }
    }
}
