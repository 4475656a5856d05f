//! Where large bodies are checked in, so many at a time.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{Either, select};
use pubsink_core::claim::{ClaimError, ClaimRef};
use pubsink_tokio::claims::ClaimStore as _;
use smol::lock::{Semaphore, SemaphoreGuard};

use crate::claims::{Store, caught};
use crate::interrupt::Interrupt;

/// A claim store, and how many bodies go there at once.
#[derive(Debug, Clone)]
pub(super) struct CheckIns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    store: Store,
    free: Semaphore,
}

/// The right to check one body in.
pub(super) struct Turn<'a> {
    store: &'a Store,
    _one: SemaphoreGuard<'a>,
}

impl CheckIns {
    pub(super) fn new(store: Store, at_once: usize) -> Self {
        Self(Arc::new(Shared {
            store,
            free: Semaphore::new(at_once),
        }))
    }

    /// Waits until there are few enough under way; none once there was an interrupt.
    pub(super) async fn turn(&self, interrupt: &Interrupt) -> Option<Turn<'_>> {
        let (asked, free) = (pin!(interrupt.asked()), pin!(self.0.free.acquire()));
        match select(asked, free).await {
            // It may be free because the interrupt has broken another one off.
            Either::Right((one, _)) if !interrupt.is_asked() => Some(Turn {
                _one: one,
                store: &self.0.store,
            }),
            Either::Left(_) | Either::Right(_) => None,
        }
    }
}

impl Turn<'_> {
    pub(super) async fn check_in(&self, claim: &ClaimRef, body: Bytes) -> Result<(), ClaimError> {
        caught(self.store.check_in(claim, body)).await
    }
}

#[cfg(test)]
mod tests {
    use async_channel::bounded;
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn an_interrupt_starts_none_of_those_that_wait() {
        let (sender, receiver) = bounded(1);
        let interrupt = Interrupt::of(receiver);
        let check_ins = CheckIns::new(Store::on_smol("claims").unwrap(), 1);
        let first = check_ins.turn(&interrupt).now_or_never().flatten();
        assert!(first.is_some());
        let mut second = Box::pin(check_ins.turn(&interrupt));
        assert!(second.as_mut().now_or_never().is_none(), "it waits");
        sender.close();
        drop(first);
        assert!(second.now_or_never().is_some_and(|turn| turn.is_none()));
        let third = check_ins.turn(&interrupt).now_or_never();
        assert!(third.is_some_and(|turn| turn.is_none()));
    }
}
