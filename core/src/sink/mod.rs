//! The sink contract: what becomes of a delivered hook, whatever it is delivered to.
//!
//! The trait itself is async and lives with the runtimes; what it means is here. A sink answers a
//! delivery with a [`Receipt`] or a [`Failure`](crate::failure::Failure), whose class says what
//! follows:
//!
//! | class | what dispatch does | counts against the sink |
//! |---|---|---|
//! | [`Permanent`](crate::failure::Class::Permanent) | dead letter now | no |
//! | [`Config`](crate::failure::Class::Config) | dead letter now, and the operator is told | no |
//! | [`RetryAfter`](crate::failure::Class::RetryAfter) | again, no sooner than the pause | yes |
//! | [`Transient`](crate::failure::Class::Transient) | again, by the retry policy | yes |
//!
//! A sink of one's own makes its failures by [`Failure::permanent`], [`Failure::config`],
//! [`Failure::retry_after`] and [`Failure::transient`], each with what it has to say.
//!
//! [`Failure::permanent`]: crate::failure::Failure::permanent
//! [`Failure::config`]: crate::failure::Failure::config
//! [`Failure::retry_after`]: crate::failure::Failure::retry_after
//! [`Failure::transient`]: crate::failure::Failure::transient

mod answer;
mod description;
mod destination;
mod refusal;

pub use answer::{Answer, Receipt};
pub use description::{Bindings, Description, Payload, Subject};
pub(crate) use description::{GOOGLEPUBSUB, binding};
pub use destination::UNKNOWN_HOST;
pub(crate) use destination::{address, host, protocol};
