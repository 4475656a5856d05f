//! The loop between input lines and finished hooks.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;
use pubsink_core::publish::Admission;
use pubsink_core::retry::RetryPolicy;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::Runtime;
use uuid::Uuid;

use super::attempts::{Attempts, Finished};
use super::lines::{Line, Lines};
use super::report::{Report, unix_ms};
use super::window::{Share, Window};
use crate::exit::Exit;
use crate::interrupt::Interrupt;

/// How hooks are tried, and how long an interrupt leaves them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) policy: RetryPolicy,
    pub(super) shutdown_limit: Duration,
}

/// Publishes every line, as many at a time as the publisher takes.
pub(super) async fn run<R: Runtime>(
    runtime: R,
    publisher: Publisher,
    settings: Settings,
    lines: Lines,
    report: Report,
    interrupt: Interrupt,
) -> Exit {
    let mut run = Run {
        window: Window::new(publisher.options()),
        attempts: Attempts {
            runtime,
            publisher,
            policy: settings.policy,
            interrupt: interrupt.clone(),
        },
        report,
        under_way: FuturesUnordered::new(),
    };
    let mut next_unsent = 1;
    let mut input_broken = false;
    while let Some(line) = run.next_line(&lines, &interrupt).await {
        match line {
            Ok(line) => {
                next_unsent = line.number + 1;
                run.line(line).await;
            }
            Err(error) => {
                run.report.say(&format!("pubsink: cannot read on: {error}"));
                input_broken = true;
            }
        }
    }
    let interrupted = interrupt.is_asked();
    if interrupted {
        run.report.say(&format!(
            "pubsink: interrupted; line {next_unsent} and all after it were not sent, \
             finishing {} under way within {} ms",
            run.under_way.len(),
            settings.shutdown_limit.as_millis(),
        ));
        // Bounds what is under way; every hook still gets its outcome.
        drop(run.attempts.publisher.shutdown(settings.shutdown_limit));
    } else {
        drop(run.attempts.publisher.flush());
    }
    run.finish_all(&interrupt, settings.shutdown_limit).await;
    run.end(interrupted, input_broken)
}

struct Run<R> {
    attempts: Attempts<R>,
    window: Window,
    report: Report,
    under_way: FuturesUnordered<BoxFuture<'static, Hook>>,
}

/// A hook that is finished, and which it was.
struct Hook {
    line: u64,
    envelope: Envelope,
    share: Share,
    finished: Finished,
}

/// What comes next.
enum Event {
    Line(io::Result<Line>),
    Finished(Box<Hook>),
    End,
}

impl<R: Runtime> Run<R> {
    /// The next line, while hooks under way finish; none after the last one or an interrupt.
    async fn next_line(
        &mut self,
        lines: &Lines,
        interrupt: &Interrupt,
    ) -> Option<io::Result<Line>> {
        let mut line = pin!(lines.recv());
        let mut asked = pin!(interrupt.asked());
        loop {
            let under_way = &mut self.under_way;
            let event = poll_fn(|cx| {
                if asked.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Event::End);
                }
                if let Poll::Ready(line) = line.as_mut().poll(cx) {
                    return Poll::Ready(line.map_or(Event::End, Event::Line));
                }
                // Nothing under way is not the end.
                match under_way.poll_next_unpin(cx) {
                    Poll::Ready(Some(hook)) => Poll::Ready(Event::Finished(Box::new(hook))),
                    Poll::Ready(None) | Poll::Pending => Poll::Pending,
                }
            });
            match event.await {
                Event::End => return None,
                Event::Line(line) => return Some(line),
                Event::Finished(hook) => self.settle_ready(*hook),
            }
        }
    }

    /// Reads a hook from a line and sends it on its way.
    async fn line(&mut self, line: Line) {
        self.report.read_to(line.position);
        if line.is_blank() {
            return;
        }
        if line.cut {
            return self.report.unreadable(line.number, &line.text, &Line::too_long());
        }
        match envelope_line::parse(&line.text) {
            Err(error) => {
                let error = format!("line {}, {error}", line.number);
                self.report.unreadable(line.number, &line.text, &error);
            }
            Ok(hook) => {
                let new_id = || Uuid::now_v7().to_string();
                self.send(line.number, hook.into_envelope(new_id, unix_ms())).await;
            }
        }
    }

    async fn send(&mut self, line: u64, envelope: Envelope) {
        let publisher = &self.attempts.publisher;
        let context = DeliveryContext::batched();
        let admission = Admission::hook(&envelope, &context, publisher.options());
        let share = Share {
            tenant: (admission.as_ref().ok()).and_then(|admission| admission.tenant().cloned()),
            bytes: admission.as_ref().map_or(0, Admission::size),
        };
        while !self.window.has_room(&share) {
            match self.under_way.next().await {
                Some(hook) => self.settle_ready(hook),
                None => break,
            }
        }
        self.window.take(&share);
        let delivery = self.attempts.publisher.admit(admission);
        let attempts = self.attempts.clone();
        self.under_way.push(Box::pin(async move {
            let finished = attempts.finish(&envelope, delivery).await;
            Hook {
                line,
                envelope,
                share,
                finished,
            }
        }));
    }

    /// Settles a hook and all others that are ready, then writes their outcomes out.
    fn settle_ready(&mut self, hook: Hook) {
        let mut next = Some(hook);
        while let Some(hook) = next {
            self.window.give_back(&hook.share);
            self.report.finished(hook.line, &hook.envelope, &hook.finished);
            next = self.under_way.next().now_or_never().flatten();
        }
        self.report.flush();
    }

    /// Waits for everything under way; an interrupt that comes meanwhile bounds it.
    async fn finish_all(&mut self, interrupt: &Interrupt, limit: Duration) {
        if !interrupt.is_asked() {
            let asked = interrupt.asked();
            if let Either::Left(_) = select(pin!(self.settle_all()), pin!(asked)).await {
                return;
            }
            drop(self.attempts.publisher.shutdown(limit));
        }
        self.settle_all().await;
    }

    async fn settle_all(&mut self) {
        while let Some(hook) = self.under_way.next().await {
            self.settle_ready(hook);
        }
    }

    fn end(self, interrupted: bool, input_broken: bool) -> Exit {
        let failed = self.report.failed > 0;
        let written = self.report.end();
        if interrupted {
            Exit::Interrupted
        } else if failed || input_broken || !written {
            Exit::Failed
        } else {
            Exit::Delivered
        }
    }
}
