//! The loop between input lines and finished hooks.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use pubsink_core::delivery::DeliveryContext;
use pubsink_core::envelope::Envelope;
use pubsink_core::envelope_line;
use pubsink_core::publish::Admission;
use pubsink_core::retry::RetryPolicy;
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{Runtime, Timer as _};
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

/// How long outcomes that an interrupt's limit settled take to be written, where they are read.
const LAST_WRITES: Duration = Duration::from_secs(2);

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
            Event::Finished(hook) => run.settle_ready(*hook),
            Event::End(end) => break end,
        }
    };
    if end == End::Interrupted {
        let unsent = format!("line {next} and all after it were not sent");
        run.shut_down(&unsent, settings.shutdown_limit);
    } else {
        drop(run.attempts.publisher.flush());
    }
    run.finish_all(&interrupt, settings.shutdown_limit).await;
    run.finish_output(&interrupt, settings.shutdown_limit).await;
    run.exit(end, interrupt.is_asked())
}

struct Run<R> {
    attempts: Attempts<R>,
    window: Window,
    report: Report,
    under_way: FuturesUnordered<BoxFuture<'static, Hook>>,
    /// When outcomes that nobody reads are given up: set by an interrupt.
    given_up_at: Option<Instant>,
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

impl<R: Runtime> Run<R> {
    /// The next line, or what comes before it.
    async fn next_line(&mut self, lines: &Lines, interrupt: &Interrupt) -> Event {
        let report = &self.report;
        // No further line while its outcome has no room; hooks under way go on meanwhile.
        let mut line = pin!(async {
            report.room().await;
            lines.recv().await
        });
        let mut asked = pin!(interrupt.asked());
        poll_fn(|cx| {
            if asked.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Event::End(End::Interrupted));
            }
            if let Poll::Ready(line) = line.as_mut().poll(cx) {
                return Poll::Ready(line.map_or(Event::End(End::Whole), Event::Line));
            }
            // Nothing under way is not the end.
            match self.under_way.poll_next_unpin(cx) {
                Poll::Ready(Some(hook)) => Poll::Ready(Event::Finished(Box::new(hook))),
                Poll::Ready(None) | Poll::Pending => Poll::Pending,
            }
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
                self.send(line.number, line.text.len(), envelope, interrupt)
                    .await
            }
        }
    }

    /// Sends a hook on its way once there is room for it. It was read from `length` bytes.
    async fn send(
        &mut self,
        line: u64,
        length: usize,
        envelope: Envelope,
        interrupt: &Interrupt,
    ) -> bool {
        let publisher = &self.attempts.publisher;
        let context = DeliveryContext::batched();
        let admission = Admission::hook(&envelope, &context, publisher.options());
        let share = Share {
            tenant: (admission.as_ref().ok()).and_then(|admission| admission.tenant().cloned()),
            // All of it is held until its last attempt, what is not sent (method, path, cookies)
            // and what is refused too.
            bytes: length.max(admission.as_ref().map_or(0, Admission::size)),
        };
        let mut asked = pin!(interrupt.asked());
        while !self.window.has_room(&share) {
            match select(asked.as_mut(), self.under_way.next()).await {
                Either::Right((Some(hook), _)) => self.settle_ready(hook),
                Either::Left(_) | Either::Right((None, _)) => break,
            }
        }
        // The room may be there because of it.
        if interrupt.is_asked() {
            return false;
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
        true
    }

    /// Settles a hook and all others that are ready, then writes their outcomes out.
    fn settle_ready(&mut self, hook: Hook) {
        let mut next = Some(hook);
        while let Some(hook) = next {
            self.window.give_back(&hook.share);
            self.report
                .finished(hook.line, &hook.envelope, &hook.finished);
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
            self.shut_down("all lines were read", limit);
        }
        self.settle_all().await;
    }

    /// Bounds what is under way; every hook still gets its outcome.
    fn shut_down(&mut self, input: &str, limit: Duration) {
        self.report.say(&format!(
            "pubsink: interrupted; {input}; finishing {} under way within {} ms",
            self.under_way.len(),
            limit.as_millis(),
        ));
        drop(self.attempts.publisher.shutdown(limit));
        self.give_up_after(limit);
    }

    fn give_up_after(&mut self, limit: Duration) {
        let now = self.attempts.runtime.now();
        // None is so far off that it never comes.
        self.given_up_at = now.checked_add(limit.saturating_add(LAST_WRITES));
    }

    /// Waits until all outcomes are written: as long as it takes, but for an interrupt.
    async fn finish_output(&mut self, interrupt: &Interrupt, limit: Duration) {
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
                limit.as_millis()
            ));
            self.give_up_after(limit);
        }
        let written = pin!(self.report.written());
        let Some(at) = self.given_up_at else {
            return written.await;
        };
        let mut timer = pin!(self.attempts.runtime.timer());
        timer.as_mut().reset(at);
        if let Either::Right(_) = select(written, timer).await {
            self.report
                .say("pubsink: the last outcomes are given up: nobody reads them");
        }
    }

    async fn settle_all(&mut self) {
        while let Some(hook) = self.under_way.next().await {
            self.settle_ready(hook);
        }
    }

    fn exit(self, end: End, interrupted: bool) -> Exit {
        let failed = self.report.failed > 0;
        let written = self.report.end();
        if interrupted {
            Exit::Interrupted
        } else if failed || end == End::Broken || !written {
            Exit::Failed
        } else {
            Exit::Delivered
        }
    }
}
