//! Rows are given out.
//!
//! Claims are looked at and marked under their lock, on a snapshot taken under it. The writer
//! drops a claim only after the commit that says what became of the row, so a row that looks
//! unclaimed is one: none is given out twice. And it lowers a lane's floor for a new row after
//! the commit that added it and before it answers, so none is missed by a claim made after that.

use pubsink_core::journal::{Claim, Claimed, JournalError, Row};
use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase as _};

use super::{Reader, Reply};
use crate::calls::Looked;
use crate::claims::Claims;
use crate::error::Fault;
use crate::record::{RowRecord, decode, decode_hook, lane_key};
use crate::tables::{CHECKED_IN, HOOKS, LANES, Place, ROWS, STOPPED};

type Bytes = &'static [u8];

/// A snapshot, as far as claims look at it.
struct Snapshot {
    rows: ReadOnlyTable<&'static [u8; 24], Bytes>,
    hooks: ReadOnlyTable<u64, Bytes>,
    checked_in: ReadOnlyTable<u64, &'static str>,
    lanes: ReadOnlyTable<Bytes, u64>,
    stopped: ReadOnlyTable<Bytes, Bytes>,
}

/// Rows that were marked as claimed, and are not read yet.
#[derive(Default)]
struct Picked {
    rows: Vec<(Place, RowRecord)>,
    next_due: Option<i64>,
    /// Before this place every row of the lane is claimed now.
    floor: Option<Place>,
}

impl Reader {
    /// Answers claims, in order.
    pub(super) fn claim(&self, asked: Vec<(Claim, Reply)>) {
        if asked.is_empty() {
            return;
        }
        let mut taken = Vec::new();
        let picked = self.shared.store.with(|database| {
            let mut claims = self.claims();
            let snapshot = Snapshot::new(&database.begin_read()?)?;
            let mut picked = Vec::with_capacity(asked.len());
            for (claim, _) in &asked {
                match snapshot.pick(claim, &claims) {
                    Ok(one) => {
                        one.mark(&mut claims, &mut taken);
                        picked.push(Ok(one));
                    }
                    // Only this lane is damaged.
                    Err(fault @ Fault::Damaged(_)) => picked.push(Err(fault)),
                    Err(fault) => return Err(fault),
                }
            }
            Ok((snapshot, picked))
        });
        let (snapshot, picked) = match picked {
            Ok(picked) => picked,
            Err(fault) => {
                self.put_back(taken);
                for (_, reply) in asked {
                    drop(reply.send(Err((&fault).into())));
                }
                return;
            }
        };
        for ((claim, reply), picked) in asked.into_iter().zip(picked) {
            self.give_out(&snapshot, &claim, picked, reply);
        }
    }

    /// Reads the rows that were picked, and answers with them. What nobody takes is put back.
    fn give_out(
        &self,
        snapshot: &Snapshot,
        claim: &Claim,
        picked: Result<Picked, Fault>,
        reply: Reply,
    ) {
        let (places, answer) = match picked {
            Ok(picked) => {
                let places: Vec<_> = picked.rows.iter().map(|(place, _)| *place).collect();
                let read = self.shared.store.with(|_| snapshot.read(claim, picked));
                (places, read)
            }
            Err(fault) => (Vec::new(), Err(fault)),
        };
        let failed = answer.is_err();
        let answer = answer.map(Looked::Claimed).map_err(JournalError::from);
        if reply.send(answer).is_err() || failed {
            self.put_back(places);
        }
    }

    fn put_back(&self, places: Vec<Place>) {
        let mut claims = self.claims();
        for place in places {
            claims.put_back(place);
        }
    }
}

impl Picked {
    /// The rows are claimed from now.
    fn mark(&self, claims: &mut Claims, taken: &mut Vec<Place>) {
        for (place, _) in &self.rows {
            claims.take(*place);
            taken.push(*place);
        }
        if let Some(floor) = self.floor {
            claims.raise(floor);
        }
    }
}

impl Snapshot {
    fn new(tx: &ReadTransaction) -> Result<Self, Fault> {
        Ok(Self {
            rows: tx.open_table(ROWS)?,
            hooks: tx.open_table(HOOKS)?,
            checked_in: tx.open_table(CHECKED_IN)?,
            lanes: tx.open_table(LANES)?,
            stopped: tx.open_table(STOPPED)?,
        })
    }

    /// Chooses the rows of a claim.
    fn pick(&self, claim: &Claim, claims: &Claims) -> Result<Picked, Fault> {
        let mut picked = Picked::default();
        let key = lane_key(&claim.lane);
        if self.stopped.get(&*key)?.is_some() {
            return Ok(picked);
        }
        let Some(lane) = self.lanes.get(&*key)?.map(|lane| lane.value()) else {
            return Ok(picked);
        };
        let ordered = claim.lane.key.is_some();
        if ordered && claims.is_busy(lane) {
            return Ok(picked);
        }
        let max_rows = if ordered {
            claim.max_rows.min(1)
        } else {
            claim.max_rows
        };
        let start = if ordered {
            Place::first_of(lane)
        } else {
            claims.floor(lane)
        };
        let end = Place::first_of(lane + 1);
        let mut bytes = 0;
        for entry in self.rows.range::<&[u8; 24]>(&start.key()..&end.key())? {
            let (place, row) = entry?;
            let place = Place::of(place.value());
            picked.floor = Some(place.next());
            if claims.holds(place.row) {
                continue;
            }
            let row: RowRecord = decode("a row", row.value())?;
            let size = usize::try_from(row.bytes).unwrap_or(usize::MAX);
            let first = claim.oversize && picked.rows.is_empty();
            let fits = first || size.saturating_add(bytes) <= claim.max_bytes;
            if picked.rows.len() >= max_rows || row.due > claim.due_by || !fits {
                picked.next_due = Some(row.due);
                picked.floor = Some(place);
                break;
            }
            bytes = bytes.saturating_add(size);
            picked.rows.push((place, row));
            if ordered {
                break;
            }
        }
        Ok(picked)
    }

    fn read(&self, claim: &Claim, picked: Picked) -> Result<Claimed, Fault> {
        let rows = picked.rows.into_iter();
        let rows = rows.map(|(place, row)| self.row(claim, place, row));
        Ok(Claimed {
            rows: rows.collect::<Result<_, _>>()?,
            next_due: picked.next_due,
        })
    }

    fn row(&self, claim: &Claim, place: Place, row: RowRecord) -> Result<Row, Fault> {
        let hook = self
            .hooks
            .get(row.hook)?
            .ok_or_else(|| Fault::damaged(format_args!("row {} has lost its hook", place.row)))?;
        let checked_in = self.checked_in.get(row.hook)?;
        let checked_in = checked_in.as_ref().map(|claim| claim.value());
        let hook = decode_hook(hook.value(), checked_in)?;
        Ok(row.row(place.row, claim.lane.clone(), hook))
    }
}
