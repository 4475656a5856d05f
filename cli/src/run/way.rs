//! How hooks get to the topic.

use std::task::{Context, Poll};
use std::time::Duration;

use pubsink_core::envelope::Envelope;

use super::left::Left;
use super::lines::Line;
use super::report::Report;
use crate::interrupt::Interrupt;

/// A way for hooks to the topic. Whatever becomes of one is told to the report, once.
pub(super) trait Way {
    /// Something that happened to what is under way.
    type Step;

    /// Sends a hook on its way once there is room for it; false where an interrupt came first, and
    /// it was not sent.
    async fn send(
        &mut self,
        line: Line,
        envelope: Envelope,
        report: &mut Report,
        interrupt: &Interrupt,
    ) -> bool;

    /// What happened next. Nothing under way is not the end: pending then.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Step>;

    /// Tells of it, and of all else that happened by now.
    fn settle(&mut self, step: Self::Step, report: &mut Report);

    /// How many hooks are under way.
    fn under_way(&self) -> usize;

    /// No more hooks come: none has to wait for company.
    fn flush(&mut self);

    /// Bounds what is under way.
    fn shut_down(&mut self, limit: Duration, report: &mut Report);

    /// Resolves when nothing is under way. May be dropped and called again.
    async fn finish(&mut self, report: &mut Report);

    /// The last thing it does: lets go of what it has.
    async fn end(&mut self) -> Left;

    /// Whether it failed beside the hooks that did.
    fn has_failed(&self) -> bool;
}
