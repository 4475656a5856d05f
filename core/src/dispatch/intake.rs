//! Hooks on their way to the journal.

use std::collections::VecDeque;

use super::io::{CallId, EnqueueError, Hook};
use super::options::DispatchOptions;
use crate::journal::Enqueue;

/// The most hooks of one call, and the most bytes: enough that a disk's sync costs each hook
/// little, few enough that the first does not wait long for the last.
const CALL_HOOKS: usize = 1_000;
const CALL_BYTES: usize = 8 * 1024 * 1024;

/// Hooks that came in and are not kept yet.
#[derive(Debug)]
pub(super) struct Intake<T> {
    max_hooks: usize,
    max_bytes: usize,
    hooks: usize,
    bytes: usize,
    waiting: VecDeque<(T, Enqueue, usize)>,
    /// The call under way. One at a time: a runtime may begin two in any order, and hooks of an
    /// ordering key have to be kept in the order they came.
    call: Option<(CallId, Vec<(T, usize)>)>,
}

impl<T> Intake<T> {
    pub(super) fn new(options: &DispatchOptions) -> Self {
        Self {
            max_hooks: options.intake_hooks,
            max_bytes: options.intake_bytes,
            hooks: 0,
            bytes: 0,
            waiting: VecDeque::new(),
            call: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.hooks
    }

    /// Takes a hook, or says what there is too much of. One that is too large by itself is taken
    /// alone. `check_in` is whether its body is to be checked in.
    pub(super) fn push(
        &mut self,
        tag: T,
        hook: Hook,
        check_in: bool,
    ) -> Result<(), (T, EnqueueError)> {
        let bytes = hook.envelope.bytes();
        let busy = |what, held| EnqueueError::Busy { what, held };
        if self.hooks >= self.max_hooks {
            return Err((tag, busy("hooks", self.hooks)));
        }
        if self.hooks > 0 && self.bytes.saturating_add(bytes) > self.max_bytes {
            return Err((tag, busy("bytes of hooks", self.bytes)));
        }
        self.hooks += 1;
        self.bytes += bytes;
        let hook = Enqueue {
            envelope: hook.envelope,
            to: hook.to,
            claim: hook.claim,
            check_in,
            once: hook.once,
        };
        self.waiting.push_back((tag, hook, bytes));
        Ok(())
    }

    /// The hooks of the next call, if there is one to make.
    pub(super) fn next(&mut self, call: impl FnOnce() -> CallId) -> Option<(CallId, Vec<Enqueue>)> {
        if self.waiting.is_empty() || self.call.is_some() {
            return None;
        }
        let (mut hooks, mut tags, mut total) = (Vec::new(), Vec::new(), 0);
        while let Some((_, _, bytes)) = self.waiting.front() {
            let full = hooks.len() >= CALL_HOOKS || total + bytes > CALL_BYTES;
            if full && !hooks.is_empty() {
                break;
            }
            if let Some((tag, hook, bytes)) = self.waiting.pop_front() {
                total += bytes;
                hooks.push(hook);
                tags.push((tag, bytes));
            }
        }
        let call = call();
        self.call = Some((call, tags));
        Some((call, hooks))
    }

    /// A call was answered: the marks of its hooks.
    pub(super) fn answered(&mut self, call: CallId) -> Option<Vec<T>> {
        let (_, tags) = self.call.take_if(|(id, _)| *id == call)?;
        Some(
            tags.into_iter()
                .map(|(tag, bytes)| self.release(tag, bytes))
                .collect(),
        )
    }

    /// Everything is given up: the marks of all hooks, in order, and those that waited.
    pub(super) fn take_all(&mut self) -> Vec<(T, Option<Enqueue>)> {
        let called = self.call.take().into_iter().flat_map(|(_, tags)| tags);
        let called = called.map(|(tag, bytes)| (tag, None, bytes));
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let waiting = waiting.map(|(tag, hook, bytes)| (tag, Some(hook), bytes));
        called
            .chain(waiting)
            .map(|(tag, hook, bytes)| (self.release(tag, bytes), hook))
            .collect()
    }

    fn release(&mut self, tag: T, bytes: usize) -> T {
        self.hooks -= 1;
        self.bytes -= bytes;
        tag
    }
}
