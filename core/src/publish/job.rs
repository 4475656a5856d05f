//! A batch from its first request until the last of its messages is settled.

use std::ops::Range;

use super::admission::Admission;
use super::entry::Kind;
use super::flushes::Stretch;
use super::waiting::Batch;
use crate::failure::Diagnostics;
use crate::text::Text;
use crate::wire::EncodedPublish;

/// A batch on its way. A refused one is bisected: it then has several parts, some waiting for
/// their turn.
#[derive(Debug)]
pub(super) struct Job<T> {
    pub(super) kind: Kind,
    pub(super) key: Option<Text>,
    /// Its messages; what is settled is taken out.
    members: Vec<Option<Member<T>>>,
    /// The messages themselves, until they are handed out to be encoded.
    pub(super) fresh: Option<Vec<Admission>>,
    /// Parts that wait, the next one last.
    parts: Vec<Range<usize>>,
    /// Parts that have a request.
    active: usize,
    encoded: Option<EncodedPublish>,
}

/// What a message needs when it is settled.
#[derive(Debug)]
pub(super) struct Member<T> {
    pub(super) tag: T,
    pub(super) attempt: u32,
    pub(super) tenant: Option<Text>,
    pub(super) size: usize,
    pub(super) stretch: Stretch,
    pub(super) diagnostics: Diagnostics,
}

impl<T> Job<T> {
    pub(super) fn new(kind: Kind, batch: Batch<T>) -> Self {
        let mut members = Vec::with_capacity(batch.entries.len());
        let mut fresh = Vec::with_capacity(batch.entries.len());
        for mut entry in batch.entries {
            members.push(Some(Member {
                tag: entry.tag,
                attempt: entry.admission.attempt(),
                tenant: entry.admission.tenant().cloned(),
                size: entry.admission.size(),
                stretch: entry.stretch,
                diagnostics: entry.admission.take_diagnostics(),
            }));
            fresh.push(entry.admission);
        }
        Self {
            kind,
            key: batch.key,
            parts: std::iter::once(0..members.len()).collect(),
            members,
            fresh: Some(fresh),
            active: 0,
            encoded: None,
        }
    }

    /// How many messages it began with.
    pub(super) fn len(&self) -> usize {
        self.members.len()
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
    pub(super) fn take(&mut self, part: Range<usize>) -> impl Iterator<Item = Member<T>> {
        self.members[part].iter_mut().filter_map(Option::take)
    }

    /// Takes out everything that waits for a part of its own.
    pub(super) fn take_parts(&mut self) -> Vec<Range<usize>> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.reverse();
        parts
    }
}
