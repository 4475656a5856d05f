//! Panics on the threads of a case, wherever they were caught: a case passes only without one.

use std::collections::HashMap;
use std::panic;
use std::sync::Mutex;
use std::thread;

static SEEN: Mutex<Option<HashMap<String, Vec<String>>>> = Mutex::new(None);

/// From now on keeps every panic by the name of its thread. A panic a case means to cause says so.
pub(super) fn watch() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let text = info.to_string();
        if text.contains(MEANT) {
            return;
        }
        let name = thread::current().name().unwrap_or_default().to_owned();
        let mut seen = SEEN.lock().unwrap();
        seen.get_or_insert_default()
            .entry(name)
            .or_default()
            .push(text);
        drop(seen);
        before(info);
    }));
}

/// What a panic says that a case means to cause.
pub(crate) const MEANT: &str = "meant by the case";

/// The panics so far on threads of that name.
pub(super) fn on(thread_name: &str) -> Vec<String> {
    let mut seen = SEEN.lock().unwrap();
    seen.as_mut()
        .and_then(|seen| seen.remove(thread_name))
        .unwrap_or_default()
}
