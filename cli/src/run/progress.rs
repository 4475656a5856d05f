//! A progress bar on a terminal, nothing elsewhere.

use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::say::say;

/// A bar that is gone sooner would only flash.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);

/// Shows how far the input is read.
#[derive(Debug, Clone)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// For an input of `size` bytes, where that is known; `quiet` where other lines go to the
    /// same terminal.
    pub(super) fn new(size: Option<u64>, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden());
        let template = match size {
            Some(_) => "{bar:32} {bytes}/{total_bytes}  {msg}  {eta} left",
            None => "{spinner} {bytes}  {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if !quiet {
            show_later(bar.clone());
        }
        Self(bar)
    }

    pub(super) fn update(&self, position: u64, delivered: u64, failed: u64) {
        self.0.set_position(position);
        self.0
            .set_message(format!("{delivered} delivered, {failed} failed"));
    }

    /// Writes a line for a person, above the bar.
    pub(super) fn say(&self, line: &str) {
        self.0.suspend(|| say(line));
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn show_later(bar: ProgressBar) {
    thread::spawn(move || {
        thread::sleep(SHOWN_AFTER);
        if !bar.is_finished() {
            // Standard error that is no terminal still gets nothing.
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(TICK);
        }
    });
}
