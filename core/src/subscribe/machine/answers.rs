//! Calls are answered, or not.

use super::Subscriber;
use crate::reason::{Reason, TransportKind};
use crate::subscribe::calls::What;
use crate::subscribe::failure::{CallClass, CallFailure};
use crate::subscribe::io::{CallId, SubscribeEvent, SubscribeMisuse, SubscribeOutput};

impl Subscriber {
    /// An acknowledge or a deadline change was answered.
    pub(super) fn answered(
        &mut self,
        id: CallId,
        result: Result<(), CallFailure>,
    ) -> Result<(), SubscribeMisuse> {
        match self.calls.get(id).map(|call| &call.what) {
            Some(What::Settle(..) | What::Extend { .. }) => {
                self.end_call(id, result);
                Ok(())
            }
            None if self.calls.knows(id) => Ok(()),
            Some(What::Pull(_)) | None => Err(SubscribeMisuse::UnknownCall(id)),
        }
    }

    /// A call that took too long has failed.
    pub(super) fn expire_call(&mut self) -> bool {
        let Some(id) = self.calls.overdue(self.now) else {
            return false;
        };
        self.outputs.push_back(SubscribeOutput::Cancel(id));
        let detail = "no answer came in time".into();
        let transport = TransportKind::Timeout;
        let reason = Reason::Transport { transport, detail };
        self.end_call(id, Err(CallFailure::new(CallClass::Transient, reason)));
        true
    }

    /// Stops working on a call.
    pub(super) fn cancel(&mut self, id: CallId) {
        if self.calls.end(id).is_some() {
            self.outputs.push_back(SubscribeOutput::Cancel(id));
        }
    }

    pub(super) fn tell_failed(&mut self, what: &'static str, ids: usize, failure: &CallFailure) {
        let failure = failure.clone();
        self.event(SubscribeEvent::CallFailed { what, ids, failure });
    }

    fn end_call(&mut self, id: CallId, result: Result<(), CallFailure>) {
        let Some(call) = self.calls.end(id) else {
            return;
        };
        match (call.what, result) {
            (What::Settle(way, batch), result) => self.sent(way, batch, call.renewed, result),
            (What::Extend { leases, seconds }, result) => {
                self.extended(leases, seconds, call.began, call.renewed, result);
            }
            (What::Pull(_), Err(failure)) => self.pull_failed(call.began, call.renewed, &failure),
            // Answered in its own way.
            (What::Pull(_), Ok(())) => {}
        }
    }
}
