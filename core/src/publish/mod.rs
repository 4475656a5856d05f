//! Publishing to one topic, as a machine without I/O.
//!
//! ```text
//! message or hook ─ Admission ─▶ tenants in turn ─▶ batch ─▶ authorize ─▶ send ─▶ reply
//!                     │ refused      │ queue full                              │
//!                     ▼              ▼                          refused: halves, ahead of
//!                  outcome        outcome ◀──────── settled ◀── new batches ◀──┘
//! ```
//!
//! A driver calls [`Publisher::handle`] when something happened, then [`Publisher::poll`] until
//! it answers [`Step::Wait`]; it sleeps until that instant or the next input. No other order of
//! calls matters.

mod admission;
mod arrivals;
mod body;
mod ceilings;
mod entry;
mod fill;
mod flushes;
mod io;
mod job;
mod lane;
mod linger;
mod machine;
mod outlet;
mod request;
mod run;
mod stopped;
mod tenants;
#[cfg(test)]
mod testing;
mod turns;
mod waiting;

pub(crate) use admission::unboxed;
pub use admission::{Admission, Message};
pub use body::Unsent;
pub(crate) use body::{Body, Content};
pub use io::{Gauges, Input, Misuse, Output, Refused, Step, WaitReason};
pub use machine::{AUTHORIZE_TIMEOUT, Publisher};
#[cfg(feature = "test-util")]
pub(crate) use request::Arrived;
pub use request::{PublishRequest, RequestId, Response, Sent};
