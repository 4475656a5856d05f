//! The service that handles the messages, from its start to its exit code.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use pubsink_core::subscribe::Backoff;
use pubsink_runtime::service::{Context, Service, Stopped, handler};
use pubsink_runtime::subscribe::{Source as _, SourceEnd, Subscription};
use pubsink_tokio::Publisher;
use pubsink_tokio::seam::{Runtime, Transport};

use super::flags::Work;
use super::handler::Handler;
use super::tally::Tally;
use crate::exit::{CommandError, Exit};
use crate::interrupt::Interrupt;
use crate::say::say;

/// What is done with the messages of a subscription, and until when.
pub(super) struct Serving {
    pub(super) work: Work,
    pub(super) count: Option<u32>,
    /// After how many attempts a message is left to the dead-letter policy.
    pub(super) max_attempts: Option<u32>,
    /// Whether replies carry a trace.
    pub(super) trace_context: bool,
    pub(super) retry_base: Duration,
    pub(super) shutdown_limit: Duration,
    pub(super) interrupt: Interrupt,
}

impl Serving {
    pub(super) async fn run<R: Runtime, T: Transport>(
        self,
        runtime: R,
        client: T,
        subscription: Subscription,
        replies: Option<Publisher>,
    ) -> Result<Exit, CommandError> {
        let interrupt = &self.interrupt;
        let name = subscription.subscription().to_owned();
        let tally = Arc::new(Tally::new(self.count));
        let handling = Handler::new(self.work, client, Arc::clone(&tally), self.retry_base)?;
        let handling = Arc::new(handling.tracing_replies(self.trace_context));
        let backoff = Backoff {
            base: self.retry_base,
            max: Backoff::default().max.max(self.retry_base),
            max_attempts: self.max_attempts,
            ..Backoff::default()
        };
        let handling = handler(move |context: Context| {
            let handling = Arc::clone(&handling);
            async move { handling.handle(context).await }
        });
        let mut handling = handling.retry(backoff);
        if let Some(replies) = replies {
            handling = handling.reply_to(replies);
        }
        let observed = Arc::clone(&tally);
        let service = Service::builder()
            .subscription(subscription, handling)
            .on_event(move |event| observed.observe(event))
            .shutdown_grace(self.shutdown_limit)
            .build();
        let service = service.map_err(|error| CommandError(error.to_string()))?;
        let stop = async {
            let (asked, finished) = (pin!(interrupt.asked()), pin!(tally.finished()));
            if let Either::Left(_) = select(asked, finished).await {
                say(
                    "pubsink: ending once what is in hand is settled; a second signal ends at once",
                );
            }
            tally.close();
        };
        let stopped = service.run_until(runtime, fastrand::u64(..), stop).await;
        say(format_args!("pubsink: {}", tally.counts()));
        end(&name, &stopped, &tally, interrupt.is_asked())
    }
}

/// How it ends.
fn end(
    name: &str,
    stopped: &Stopped,
    tally: &Tally,
    interrupted: bool,
) -> Result<Exit, CommandError> {
    for subscription in &stopped.subscriptions {
        match &subscription.end {
            SourceEnd::GaveUp(reason) => return Err(CommandError::new(name, reason)),
            SourceEnd::Lost(what) => say(format_args!("pubsink: {name} was lost: {what}")),
            _ => {}
        }
    }
    if let Some(error) = tally.broken() {
        say(format_args!(
            "pubsink: cannot write to standard output: {error}"
        ));
        return Ok(Exit::Failed);
    }
    let settled = stopped.is_clean();
    Ok(match interrupted {
        true if settled => Exit::Delivered,
        true => Exit::Interrupted,
        false if settled && !tally.is_short() => Exit::Delivered,
        false => Exit::Failed,
    })
}
