//! What a machine wants done, in order.

use std::collections::VecDeque;
use std::vec;

use crate::failure::{Delivered, MessageId};
use crate::publish::entry::Member;
use crate::publish::io::Output;
use crate::publish::unboxed;

/// Outputs until they are polled. The messages of a request that were stored stay together until
/// then, so that none is moved once more.
#[derive(Debug)]
pub(super) struct Outputs<T>(VecDeque<Queued<T>>);

#[derive(Debug)]
enum Queued<T> {
    One(Output<T>),
    Stored(Stored<T>),
}

/// Messages and their ids. The next one is there: those without a member have none.
#[derive(Debug)]
struct Stored<T> {
    members: vec::IntoIter<Option<Member<T>>>,
    ids: vec::IntoIter<MessageId>,
}

/// Room for more than this many is given back once there are none.
const KEEP: usize = 4_096;

impl<T> Outputs<T> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, output: Output<T>) {
        self.0.push_back(Queued::One(output));
    }

    /// An [`Output::Settled`] for each member, with its id.
    pub(super) fn push_stored(&mut self, members: Vec<Option<Member<T>>>, ids: Vec<MessageId>) {
        let mut stored = Stored {
            members: members.into_iter(),
            ids: ids.into_iter(),
        };
        if stored.has_next() {
            self.0.push_back(Queued::Stored(stored));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Output<T>> {
        if let Some((member, id)) = self.next_stored(|_| true) {
            return Some(Output::Settled {
                tag: member.tag,
                outcome: Ok(Delivered::new(id, unboxed(member.diagnostics))),
            });
        }
        match self.0.pop_front() {
            Some(Queued::One(output)) => Some(output),
            Some(Queued::Stored(_)) | None => None,
        }
    }

    /// The mark and the id of the next output, where that is a stored message without diagnostics.
    pub(super) fn pop_stored(&mut self) -> Option<(T, MessageId)> {
        let (member, id) = self.next_stored(|member| member.diagnostics.is_none())?;
        Some((member.tag, id))
    }

    /// Takes the next output, where that is a stored message that is `wanted`.
    fn next_stored(
        &mut self,
        wanted: impl FnOnce(&Member<T>) -> bool,
    ) -> Option<(Member<T>, MessageId)> {
        let Some(Queued::Stored(stored)) = self.0.front_mut() else {
            return None;
        };
        if !stored
            .members
            .as_slice()
            .first()?
            .as_ref()
            .is_some_and(wanted)
        {
            return None;
        }
        let next = (stored.members.next()??, stored.ids.next()?);
        if !stored.has_next() {
            self.0.pop_front();
        }
        Some(next)
    }

    /// Gives back room that was for many.
    pub(super) fn shrink(&mut self) {
        if self.0.capacity() > KEEP {
            self.0 = VecDeque::new();
        }
    }
}

impl<T> Stored<T> {
    /// Passes what has no member; whether there is one then.
    fn has_next(&mut self) -> bool {
        while let Some(None) = self.members.as_slice().first() {
            self.members.next();
            self.ids.next();
        }
        self.members.len() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Diagnostics;
    use crate::publish::request::RequestId;
    use crate::publish::testing::{at, entry};

    /// The next one; where `shortly` and it is a stored message, the short way.
    fn next(outputs: &mut Outputs<u32>, shortly: bool) -> Option<(u32, String)> {
        if shortly && let Some((tag, id)) = outputs.pop_stored() {
            return Some((tag, id.to_string()));
        }
        match outputs.pop()? {
            Output::Settled { tag, outcome } => {
                Some((tag, outcome.unwrap().message_id.to_string()))
            }
            other => Some((0, format!("{other:?}"))),
        }
    }

    #[test]
    fn what_was_stored_comes_in_its_turn_and_nothing_is_left_of_it() {
        let member = |tag| Some(entry(tag, "/", at(0)).member);
        let id = |id: &str| MessageId::from_utf8(id).unwrap();
        for shortly in [false, true] {
            let mut outputs = Outputs::new();
            let cancel = || Output::Cancel(RequestId(7));
            let canceled = Some((0, "Cancel(RequestId(7))".to_owned()));
            outputs.push(cancel());
            let members = vec![None, member(1), None, None, member(2), None];
            outputs.push_stored(members, ["a", "b", "c", "d", "e", "f"].map(id).into());
            outputs.push_stored(vec![None, None], ["a", "b"].map(id).into());
            outputs.push_stored(Vec::new(), Vec::new());
            outputs.push(cancel());
            assert_eq!(next(&mut outputs, shortly), canceled);
            assert_eq!(next(&mut outputs, shortly), Some((1, "b".into())));
            assert_eq!(next(&mut outputs, shortly), Some((2, "e".into())));
            assert_eq!(next(&mut outputs, shortly), canceled);
            assert!(outputs.is_empty());
            assert_eq!(next(&mut outputs, shortly), None);
        }
    }

    #[test]
    fn one_with_more_to_tell_does_not_come_the_short_way() {
        let mut outputs = Outputs::new();
        let mut member = entry(1, "/", at(0)).member;
        let headers_left_out = vec!["x-large".to_owned()];
        member.diagnostics = Some(Box::new(Diagnostics { headers_left_out }));
        let id = MessageId::from_utf8("a").unwrap();
        outputs.push_stored(vec![Some(member)], vec![id]);
        assert_eq!(outputs.pop_stored(), None);
        let Some(Output::Settled { outcome, .. }) = outputs.pop() else {
            panic!("it is the next one");
        };
        assert_eq!(outcome.unwrap().diagnostics.headers_left_out, ["x-large"]);
    }
}
