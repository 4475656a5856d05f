//! What is done with a message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pubsink_core::subscribe::Settlement;
use pubsink_core::trace_context::{TRACEPARENT, TRACESTATE, TraceContext};
use pubsink_runtime::service::{BoxError, Context, Outcome, Reply};
use pubsink_tokio::seam::Transport;
use tracing::Span;

use super::exec::Exec;
use super::flags::Work;
use super::forward::{Answered, Forward};
use super::print::Printer;
use super::tally::Tally;
use crate::exit::CommandError;
use crate::telemetry::trace_context;

/// The most bytes of a reply: no message holds more.
pub(super) const REPLY_MAX: usize = 10_000_000;
/// The attribute of a reply that names the message it answers.
const IN_REPLY_TO: &str = "in_reply_to";

/// Handles messages, several at a time.
pub(super) struct Handler<T> {
    action: Action<T>,
    tally: Arc<Tally>,
    /// Whether replies carry a trace.
    traces: bool,
}

enum Action<T> {
    Print(Printer),
    Exec(Exec),
    Forward(Forward<T>),
}

impl<T: Transport> Handler<T> {
    pub(super) fn new(
        work: Work,
        client: T,
        tally: Arc<Tally>,
        retry_base: Duration,
    ) -> Result<Self, CommandError> {
        let action = match work {
            Work::Print => Action::Print(Printer::start(Arc::clone(&tally))?),
            Work::Exec { command, replies } => Action::Exec(Exec { command, replies }),
            Work::Forward { url, replies } => Action::Forward(Forward {
                client,
                url,
                replies,
                retry_base,
            }),
        };
        Ok(Self {
            action,
            tally,
            traces: false,
        })
    }

    /// The same, whose replies carry a trace where that is asked for.
    pub(super) fn tracing_replies(self, traces: bool) -> Self {
        Self { traces, ..self }
    }

    pub(super) async fn handle(&self, context: Context) -> Result<Outcome, BoxError> {
        if !self.tally.begin().await {
            return Ok(Outcome::new(Settlement::Retry));
        }
        match &self.action {
            // What could not be written ends the command: there is no failure to wait after.
            Action::Print(printer) => Ok(Outcome::new(match printer.print(&context).await {
                true => Settlement::Ack,
                false => Settlement::Retry,
            })),
            Action::Exec(exec) => {
                let printed = exec.run(&context).await?;
                Ok(self.acked(&context, printed, None))
            }
            Action::Forward(forward) => match forward.post(&context).await? {
                Answered::Done { body, content_type } => {
                    Ok(self.acked(&context, body, content_type))
                }
                Answered::Later(pause) => {
                    self.tally.fail(&context, &"the server asks for a pause");
                    Ok(Outcome::new(Settlement::RetryAfter(pause)))
                }
            },
        }
    }

    /// Done, with `reply` where it is not empty.
    fn acked(&self, context: &Context, reply: Bytes, content_type: Option<String>) -> Outcome {
        let outcome = Outcome::new(Settlement::Ack);
        if reply.is_empty() {
            return outcome;
        }
        let key = context.ordering_key().unwrap_or_default();
        let mut reply = Reply::new(reply)
            .attribute(IN_REPLY_TO, context.message_id().as_str().to_owned())
            .ordering_key(key);
        if let Some(content_type) = content_type {
            reply = reply.attribute("content_type", content_type);
        }
        if self.traces
            && let Some(trace) = trace(context)
        {
            reply = reply.attribute(TRACEPARENT, trace.traceparent().to_owned());
            if let Some(state) = trace.tracestate() {
                reply = reply.attribute(TRACESTATE, state.to_owned());
            }
        }
        outcome.with_reply(reply)
    }
}

/// The trace of this handling where its span is exported, else that of the message.
fn trace(context: &Context) -> Option<TraceContext> {
    let of_message = context.trace_context();
    let Some(own) = trace_context(&Span::current()) else {
        return of_message;
    };
    match of_message.as_ref().and_then(TraceContext::tracestate) {
        Some(state) => Some(own.with_state(state)),
        None => Some(own),
    }
}
