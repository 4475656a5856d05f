//! Dead letters, stopped lanes and replay jobs.

use std::ops::Bound;

use pubsink_core::journal::{DeadId, Filter, ReplayJob, StoppedLane};
use redb::{ReadableDatabase as _, ReadableTable as _};

use super::Reader;
use crate::calls::Letters;
use crate::error::Fault;
use crate::record::{DeadRecord, ReplayRecord, StoppedRecord, decode, decode_hook, decode_lane};
use crate::tables::{CHECKED_IN, DEAD, HOOKS, REPLAYS, STOPPED};

/// How many dead letters are looked at in one go: claims wait for as long, and the file keeps what
/// was deleted meanwhile.
const LOOK_MAX: usize = 1_000;

impl Reader {
    /// The dead letters that `filter` means among the next ones behind `after`, at most `max`.
    pub(super) fn letters(
        &self,
        filter: &Filter,
        after: DeadId,
        max: usize,
    ) -> Result<Letters, Fault> {
        self.shared.store.with(|database| {
            let tx = database.begin_read()?;
            let hooks = tx.open_table(HOOKS)?;
            let checked_in = tx.open_table(CHECKED_IN)?;
            let mut letters = Letters {
                found: Vec::new(),
                next: None,
            };
            let behind = (Bound::Excluded(after.0), Bound::Unbounded);
            let entries = tx.open_table(DEAD)?.range::<u64>(behind)?;
            for (looked, entry) in entries.enumerate() {
                if looked == LOOK_MAX || letters.found.len() >= max {
                    return Ok(letters);
                }
                let (id, letter) = entry?;
                let letter: DeadRecord = decode("a dead letter", letter.value())?;
                let hook = hooks.get(letter.hook)?;
                let hook = hook.ok_or_else(|| Fault::damaged("a dead letter has lost its hook"))?;
                let claim = checked_in.get(letter.hook)?;
                let claim = claim.as_ref().map(|claim| claim.value());
                let letter = letter.letter(id.value(), decode_hook(hook.value(), claim)?)?;
                letters.next = Some(letter.id);
                if filter.matches(&letter) {
                    letters.found.push(letter);
                }
            }
            letters.next = None;
            Ok(letters)
        })
    }

    pub(super) fn stopped(&self) -> Result<Vec<StoppedLane>, Fault> {
        self.shared.store.with(|database| {
            let table = database.begin_read()?.open_table(STOPPED)?;
            let lanes = table.iter()?.map(|entry| {
                let (lane, stopped) = entry?;
                let stopped: StoppedRecord = decode("a stopped lane", stopped.value())?;
                stopped.stopped(decode_lane(lane.value())?)
            });
            let mut lanes = lanes.collect::<Result<Vec<_>, Fault>>()?;
            lanes.sort_unstable_by(|a, b| a.lane.cmp(&b.lane));
            Ok(lanes)
        })
    }

    pub(super) fn replays(&self) -> Result<Vec<ReplayJob>, Fault> {
        self.shared.store.with(|database| {
            let table = database.begin_read()?.open_table(REPLAYS)?;
            let jobs = table.iter()?.map(|entry| {
                let (id, job) = entry?;
                decode::<ReplayRecord>("a replay", job.value())?.job(id.value())
            });
            jobs.collect()
        })
    }
}
