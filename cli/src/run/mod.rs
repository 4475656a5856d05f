//! A run: hooks on their way to a topic, an outcome for each, and an end that loses none.
//!
//! [`Run`] is the loop between input lines, hooks that are settled and signals. How a hook gets to
//! the topic is its [`Way`]: [`direct`], attempted from memory, or [`journaled`], kept on disk
//! until it is settled.

mod attempts;
mod check_ins;
mod dead_letters;
mod direct;
mod files;
mod flags;
mod headers;
mod journaled;
mod keeping;
mod left;
mod level;
mod lines;
mod names;
mod opened;
mod outcome_line;
mod outcomes;
mod pace;
mod paced;
mod places;
mod progress;
mod read_ahead;
mod report;
mod start;
mod told;
mod watch;
mod way;
mod window;
mod windows;
mod writer;

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use pubsink_core::envelope_line;
use pubsink_tokio::seam::{Runtime, Timer as _};
use uuid::Uuid;

use crate::exit::Exit;
use crate::interrupt::Interrupt;
pub(crate) use dead_letters::{About, dead_letter_line};
pub(crate) use flags::SendFlags;
use left::Left;
use lines::{Line, Lines};
pub(crate) use names::line_of;
pub(crate) use opened::{Opened, Replay};
use pace::Pace;
use report::Report;
use report::unix_ms;
pub(crate) use start::{Route, start};
use way::Way;

/// How long outcomes that an interrupt's limit settled take to be written, where they are read.
const LAST_WRITES: Duration = Duration::from_secs(2);

/// What a run is made of beside its way.
struct Parts<R> {
    runtime: R,
    lines: Lines,
    pace: Option<Pace>,
    report: Report,
    interrupt: Interrupt,
    shutdown_limit: Duration,
}

/// Sends every line on its way, as many at a time as there is room for.
async fn run<R: Runtime, W: Way>(parts: Parts<R>, way: W) -> Exit {
    let Parts {
        runtime,
        lines,
        pace,
        report,
        interrupt,
        shutdown_limit,
    } = parts;
    let mut run = Run {
        runtime,
        way,
        pace,
        report,
        shutdown_limit,
        given_up_at: None,
    };
    let mut next = 1;
    let end = loop {
        match run.next_line(&lines, &interrupt).await {
            Event::Line(Ok(line)) => {
                let number = line.number;
                if !run.line(line, &interrupt).await {
                    break End::Interrupted;
                }
                next = number + 1;
            }
            Event::Line(Err(error)) => {
                run.report
                    .say(&format!("pubsink: cannot read line {next}: {error}"));
                break End::Broken;
            }
            Event::Step(step) => run.way.settle(*step, &mut run.report),
            Event::End(end) => break end,
        }
    };
    if end == End::Interrupted {
        let unsent = format!("line {next} and all after it were not sent");
        run.shut_down(&unsent);
    } else {
        run.way.flush();
    }
    run.finish_all(&interrupt).await;
    let left = run.way.end().await;
    run.finish_output(&interrupt).await;
    run.exit(end, &left, interrupt.is_asked())
}

struct Run<R, W> {
    runtime: R,
    way: W,
    pace: Option<Pace>,
    report: Report,
    shutdown_limit: Duration,
    /// When outcomes that nobody reads are given up: set by an interrupt.
    given_up_at: Option<Instant>,
}

/// What comes next.
enum Event<S> {
    Line(io::Result<Line>),
    Step(Box<S>),
    End(End),
}

/// Why no more lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// There are none.
    Whole,
    /// They cannot be read.
    Broken,
    Interrupted,
}

impl<R: Runtime, W: Way> Run<R, W> {
    /// The next line, or what comes before it.
    async fn next_line(&mut self, lines: &Lines, interrupt: &Interrupt) -> Event<W::Step> {
        let (waiting, runtime) = (self.report.waiting(), &self.runtime);
        let (way, pace) = (&mut self.way, &mut self.pace);
        // No further line while its outcome has no room; hooks under way go on meanwhile.
        let mut line = pin!(async {
            if let Some(waiting) = waiting {
                waiting.room().await;
            }
            if let Some(pace) = pace {
                pace.due(runtime).await;
            }
            let line = lines.recv().await;
            if let Some(pace) = pace {
                pace.took(runtime.now());
            }
            line
        });
        let mut asked = pin!(interrupt.asked());
        poll_fn(|cx| {
            if asked.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Event::End(End::Interrupted));
            }
            if let Poll::Ready(line) = line.as_mut().poll(cx) {
                return Poll::Ready(line.map_or(Event::End(End::Whole), Event::Line));
            }
            way.poll(cx).map(|step| Event::Step(Box::new(step)))
        })
        .await
    }

    /// Reads a hook from a line and sends it on its way; false where an interrupt came first.
    async fn line(&mut self, line: Line, interrupt: &Interrupt) -> bool {
        self.report.read_to(line.position);
        if line.is_blank() {
            return true;
        }
        let hook = if line.cut {
            Err(Line::TOO_LONG.to_owned())
        } else {
            envelope_line::parse(&line.text).map_err(|error| error.to_string())
        };
        match hook {
            Err(error) => {
                self.report.unreadable(line.number, &line.text, &error);
                true
            }
            Ok(hook) => {
                let new_id = || Uuid::now_v7().to_string();
                let envelope = hook.into_envelope(new_id, unix_ms());
                let (way, report) = (&mut self.way, &mut self.report);
                way.send(line, envelope, report, interrupt).await
            }
        }
    }

    /// Waits for everything under way; an interrupt that comes meanwhile bounds it.
    async fn finish_all(&mut self, interrupt: &Interrupt) {
        if !interrupt.is_asked() {
            let finished = self.way.finish(&mut self.report);
            if let Either::Left(_) = select(pin!(finished), pin!(interrupt.asked())).await {
                return;
            }
            self.shut_down("all lines were read");
        }
        self.way.finish(&mut self.report).await;
    }

    /// Bounds what is under way; every hook still gets its outcome, or stays in the journal.
    fn shut_down(&mut self, input: &str) {
        self.report.say(&format!(
            "pubsink: interrupted; {input}; finishing {} under way within {} ms",
            self.way.under_way(),
            self.shutdown_limit.as_millis(),
        ));
        self.way.shut_down(self.shutdown_limit, &mut self.report);
        self.give_up_later();
    }

    fn give_up_later(&mut self) {
        // None is so far off that it never comes.
        let limit = self.shutdown_limit.saturating_add(LAST_WRITES);
        self.given_up_at = self.runtime.now().checked_add(limit);
    }

    /// Waits until all outcomes are written: as long as it takes, but for an interrupt.
    async fn finish_output(&mut self, interrupt: &Interrupt) {
        if !interrupt.is_asked() {
            let done = async {
                self.report.written().await;
                true
            };
            let asked = async {
                interrupt.asked().await;
                false
            };
            if select(pin!(done), pin!(asked)).await.factor_first().0 {
                return;
            }
            self.report.say(&format!(
                "pubsink: interrupted; all hooks are settled; writing outcomes within {} ms",
                self.shutdown_limit.as_millis(),
            ));
            self.give_up_later();
        }
        let written = pin!(self.report.written());
        let Some(at) = self.given_up_at else {
            return written.await;
        };
        let mut timer = pin!(self.runtime.timer());
        timer.as_mut().reset(at);
        if let Either::Right(_) = select(written, timer).await {
            self.report
                .say("pubsink: the last outcomes are given up: nobody reads them");
        }
    }

    fn exit(self, end: End, left: &Left, interrupted: bool) -> Exit {
        // What stays is not delivered.
        let failed = self.report.has_failures() || self.way.has_failed() || left.is_any();
        let written = self.report.end(left);
        if interrupted {
            Exit::Interrupted
        } else if failed || end == End::Broken || !written {
            Exit::Failed
        } else {
            Exit::Delivered
        }
    }
}
