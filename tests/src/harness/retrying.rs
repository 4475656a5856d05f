//! A caller that tries again, as dispatch does: the library itself sends each message once.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pubsink_core::failure::Outcome;
use pubsink_core::publish::{Admission, Message};
use pubsink_core::retry::{NextStep, RetryPolicy};
use pubsink_runtime::Publisher;

use super::env::Env;

/// What became of a message, and after how many attempts.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u32,
    /// Whether any failed attempt may have been stored.
    pub(crate) may_have_been_stored: bool,
}

/// First pause 100 ms, doubling to 2 s, 20 s in all.
pub(crate) fn policy() -> RetryPolicy {
    RetryPolicy {
        max: Duration::from_secs(2),
        max_elapsed: Duration::from_secs(20),
        ..RetryPolicy::default()
    }
}

impl Env {
    /// Publishes a message until it is delivered or the policy gives up.
    pub(crate) async fn try_publish(
        &self,
        publisher: &Publisher,
        message: Message,
        policy: RetryPolicy,
    ) -> Tried {
        let mut rng = fastrand::Rng::with_seed(7);
        let start = Instant::now();
        let mut may_have_been_stored = false;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let admission = Admission::message(message.clone(), publisher.options());
            let admission = admission.map(|admission| admission.with_attempt(attempts));
            let outcome = publisher.admit(admission).await;
            if let Err(failure) = &outcome {
                may_have_been_stored |= failure.may_have_been_stored;
                let next = policy.next_step(failure, attempts, start.elapsed(), &mut rng);
                if let NextStep::RetryAfter(pause) = next {
                    self.host().sleep(pause).await;
                    continue;
                }
            }
            return Tried {
                outcome,
                attempts,
                may_have_been_stored,
            };
        }
    }

    /// [`try_publish`](Self::try_publish) for many at once; every one has to be delivered.
    pub(crate) async fn try_publish_all(
        &self,
        publisher: &Publisher,
        messages: impl IntoIterator<Item = Message>,
    ) -> Vec<Tried> {
        let tries = messages
            .into_iter()
            .map(|message| self.try_publish(publisher, message, policy()));
        let all = join_all(tries).await;
        for tried in &all {
            assert!(tried.outcome.is_ok(), "{tried:?}");
        }
        all
    }
}
