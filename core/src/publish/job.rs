//! A batch from its first request until the last of its messages is settled.

use std::ops::Range;

use super::body::Body;
use super::entry::{Batch, Kind, Member};
use crate::text::Text;
use crate::wire::EncodedPublish;

/// A batch on its way. A refused one is bisected: it then has several parts, some waiting for
/// their turn.
#[derive(Debug)]
pub(super) struct Job<T> {
    pub(super) kind: Kind,
    pub(super) key: Option<Text>,
    /// How many messages it began with.
    len: usize,
    /// Its messages; what is settled is taken out.
    members: Vec<Option<Member<T>>>,
    /// The messages themselves, until they are handed out to be encoded.
    pub(super) fresh: Option<Vec<Body>>,
    /// Parts that wait, the next one last.
    parts: Vec<Range<usize>>,
    /// Parts that have a request.
    active: usize,
    encoded: Option<EncodedPublish>,
}

impl<T> Job<T> {
    pub(super) fn new(kind: Kind, key: Option<Text>, batch: Batch<T>) -> Self {
        Self {
            kind,
            key,
            parts: std::iter::once(0..batch.len()).collect(),
            len: batch.len(),
            members: batch.members,
            fresh: Some(batch.bodies),
            active: 0,
            encoded: None,
        }
    }

    /// How many messages it began with.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The next part that may have a request. The parts of an ordering key go one after the
    /// other, in order.
    pub(super) fn start_part(&mut self) -> Option<Range<usize>> {
        if self.key.is_some() && self.active > 0 {
            return None;
        }
        let part = self.parts.pop()?;
        self.active += 1;
        Some(part)
    }

    /// A part's request is over.
    pub(super) fn end_part(&mut self) {
        self.active -= 1;
    }

    /// A refused part becomes two, which are next.
    pub(super) fn bisect(&mut self, part: Range<usize>) {
        let middle = part.start + part.len() / 2;
        self.parts.push(middle..part.end);
        self.parts.push(part.start..middle);
    }

    /// How many more parts may have a request now.
    pub(super) fn startable(&self) -> usize {
        match (&self.key, self.active) {
            (None, _) => self.parts.len(),
            (Some(_), 0) => self.parts.len().min(1),
            (Some(_), _) => 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.active == 0 && self.parts.is_empty()
    }

    /// Keeps what was encoded, for the parts of it that are sent again.
    pub(super) fn keep_encoded(&mut self, encoded: EncodedPublish) {
        self.encoded.get_or_insert(encoded);
    }

    /// The encoded messages of `part`, where they were encoded before.
    pub(super) fn encoded(&self, part: &Range<usize>) -> Option<EncodedPublish> {
        self.encoded.as_ref().map(|whole| whole.part(part.clone()))
    }

    /// Takes the messages of `part` out, to settle them.
    pub(super) fn take(&mut self, part: Range<usize>) -> Vec<Option<Member<T>>> {
        if part.len() == self.len {
            // As most often: none is moved.
            return std::mem::take(&mut self.members);
        }
        let part = self.members.get_mut(part).unwrap_or_default();
        part.iter_mut().map(Option::take).collect()
    }

    /// Takes out everything that waits for a part of its own.
    pub(super) fn take_parts(&mut self) -> Vec<Range<usize>> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.reverse();
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::testing::{at, entry};

    fn job(count: u32, key: Option<&str>) -> Job<u32> {
        let mut batch = Batch::with_room(0);
        for tag in 0..count {
            let entry = entry(tag, "/", at(0));
            batch.push(entry.member, entry.body);
        }
        Job::new(Kind::Batched, key.map(Text::new), batch)
    }

    #[test]
    fn halves_are_next_the_first_one_first() {
        let mut job = job(5, None);
        assert_eq!(job.start_part(), Some(0..5));
        job.bisect(0..5);
        job.end_part();
        assert_eq!(job.startable(), 2);
        assert_eq!(job.start_part(), Some(0..2));
        job.bisect(0..2);
        job.end_part();
        let rest: Vec<_> = std::iter::from_fn(|| job.start_part()).collect();
        assert_eq!(rest, [0..1, 1..2, 2..5]);
        assert!(!job.is_done());
        for _ in rest {
            job.end_part();
        }
        assert!(job.is_done());
    }

    #[test]
    fn the_parts_of_a_key_go_one_after_the_other() {
        let mut job = job(4, Some("k"));
        assert_eq!(job.start_part(), Some(0..4));
        job.bisect(0..4);
        job.end_part();
        assert_eq!(job.startable(), 1);
        assert_eq!(job.start_part(), Some(0..2));
        assert_eq!((job.startable(), job.start_part()), (0, None));
        job.end_part();
        assert_eq!(job.start_part(), Some(2..4));
        job.end_part();
        assert!(job.is_done());
    }

    #[test]
    fn a_member_is_taken_once() {
        let mut job = job(3, None);
        assert_eq!(job.len(), 3);
        let tags = |job: &mut Job<u32>, part| {
            let members = job.take(part).into_iter().flatten();
            members.map(|member| member.tag).collect::<Vec<_>>()
        };
        assert_eq!(tags(&mut job, 1..3), [1, 2]);
        assert_eq!(tags(&mut job, 0..3), [0]);
        assert_eq!(job.len(), 3);
    }

    #[test]
    fn parts_that_wait_are_taken_out_in_order() {
        let mut job = job(4, None);
        job.start_part();
        job.bisect(0..4);
        job.end_part();
        assert_eq!(job.take_parts(), [0..2, 2..4]);
        assert!(job.is_done());
    }
}
