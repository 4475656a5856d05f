//! A progress bar on a terminal, nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how far the input is read.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// For an input of `size` bytes, where that is known.
    pub(super) fn new(size: Option<u64>) -> Self {
        // Standard error that is no terminal gets nothing.
        let (bar, template) = match size {
            Some(size) => (
                ProgressBar::new(size),
                "{bar:32} {bytes}/{total_bytes}  {msg}  {eta} left",
            ),
            None => (ProgressBar::no_length(), "{spinner} {bytes}  {msg}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    pub(super) fn update(&self, position: u64, delivered: u64, failed: u64) {
        self.0.set_position(position);
        self.0.set_message(format!("{delivered} delivered, {failed} failed"));
    }

    /// Writes a line for a person, above the bar.
    pub(super) fn say(&self, line: &str) {
        self.0.suspend(|| eprintln!("{line}"));
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
