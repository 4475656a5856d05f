//! Metrics, through the `metrics` facade: whatever recorder the program installs gets them.
//!
//! Install it when the program starts and call [`describe`] once after that. Without a recorder
//! nothing is kept. [`names::ALL`] has every metric with its labels and its
//! meaning; `docs/observability.md` is the page for operators.
//!
//! What is counted for each message is added up in the machine's turn and recorded once, after the
//! lock was given back: a recorder is somebody else's code.

mod class;
mod dispatch;
mod metric;
pub mod names;
mod publish;
mod record;
mod sink;
mod subscribe;

pub(crate) use dispatch::{DispatchMetrics, DispatchTally};
pub use metric::{Kind, Metric};
pub(crate) use publish::{PublishMetrics, PublishTally};
pub(crate) use subscribe::{Asked, HandlingMetrics, SubscribeMetrics, SubscribeTally};

/// Tells the recorder of every metric: its unit and what it means. Call it once after the recorder
/// was installed.
pub fn describe() {
    for metric in names::ALL {
        ::metrics::with_recorder(|recorder| metric.describe(recorder));
    }
}
