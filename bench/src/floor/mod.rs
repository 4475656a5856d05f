//! The least work with which messages can be published, or consumed.
//!
//! Up to four requests are in flight, each with a buffer that is used again. Nothing is checked,
//! nothing is queued, nothing is tried again; whatever is not expected ends the run.

pub mod grpc;
pub mod hyper;
pub mod pull;
pub mod rest;

use std::cell::Cell;
use std::ops::Range;

use crate::Error;
use crate::load::Load;

/// How many requests are in flight.
const IN_FLIGHT: usize = 4;

/// The messages of the next request, until there are none left.
fn next_batch(load: &Load, next: &Cell<usize>) -> Option<Range<usize>> {
    let start = next.get();
    let end = load.messages.min(start + load.batch());
    next.set(end);
    (start < end).then_some(start..end)
}

/// Every message has its id.
fn all_stored(messages: &Range<usize>, ids: usize) -> Result<(), Error> {
    match ids == messages.len() {
        true => Ok(()),
        false => Err(format!("{} messages have {ids} ids", messages.len()).into()),
    }
}
