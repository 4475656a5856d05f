//! Keeps credentials out of the logs: on its thread, isahc logs requests as they are sent, with
//! all their headers (HTTP/1.1 at trace, HTTP/2 at debug).

use std::cell::RefCell;

use tracing::Dispatch;
use tracing::dispatcher::{DefaultGuard, has_been_set, set_default};

thread_local! {
    static SILENCE: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
}

/// Sends what this thread logs from now on nowhere.
///
/// Only where there is someone to read it: doing so ends, for the whole program, tracing's habit
/// of logging to the `log` crate while it has no subscriber.
pub(super) fn silence_this_thread() {
    if !is_listened_to() {
        return;
    }
    SILENCE.with_borrow_mut(|silence| {
        silence.get_or_insert_with(|| set_default(&Dispatch::none()));
    });
}

fn is_listened_to() -> bool {
    has_been_set()
        || log::log_enabled!(target: "isahc::handler", log::Level::Debug)
        || log::log_enabled!(target: "isahc::wire", log::Level::Trace)
}
