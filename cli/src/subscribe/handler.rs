//! What is done with a message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pubsink_core::subscribe::Settlement;
use pubsink_runtime::service::{BoxError, Context, Outcome, Reply};
use pubsink_tokio::seam::Transport;

use super::exec::Exec;
use super::flags::Work;
use super::forward::{Answered, Forward};
use super::print::Printer;
use super::tally::Tally;
use crate::exit::CommandError;

/// The most bytes of a reply: no message holds more.
pub(super) const REPLY_MAX: usize = 10_000_000;
/// The attribute of a reply that names the message it answers.
const IN_REPLY_TO: &str = "in_reply_to";

/// Handles messages, several at a time.
pub(super) struct Handler<T> {
    action: Action<T>,
    tally: Arc<Tally>,
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
        Ok(Self { action, tally })
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
                Ok(acked(&context, printed, None))
            }
            Action::Forward(forward) => match forward.post(&context).await? {
                Answered::Done { body, content_type } => Ok(acked(&context, body, content_type)),
                Answered::Later(pause) => {
                    self.tally.fail(&context, &"the server asks for a pause");
                    Ok(Outcome::new(Settlement::RetryAfter(pause)))
                }
            },
        }
    }
}

/// Done, with `reply` where it is not empty.
fn acked(context: &Context, reply: Bytes, content_type: Option<String>) -> Outcome {
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
    outcome.with_reply(reply)
}
