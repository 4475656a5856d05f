//! How much dispatch has under way at a topic.

use std::time::Duration;

use pubsink_core::dispatch::DispatchOptions;
use pubsink_core::options::{OrderingOnFailure, PublisherOptions};

use super::flags::Settings;

/// How long fetching a token may take.
const TOKEN: Duration = Duration::from_secs(30);
/// How many times what is in flight may be claimed: enough that requests never wait for rows, and
/// that no row waits longer for its request than an attempt may take.
const AHEAD: usize = 2;

/// Dispatch that gives the topic's publisher as much as it takes, and as long as it may need.
pub(super) fn dispatch_options(
    publisher: &PublisherOptions,
    settings: &Settings,
) -> DispatchOptions {
    let defaults = DispatchOptions::default();
    let unbatched = publisher.sink_concurrency();
    let in_flight = if publisher.batch() {
        let batches = publisher.batch_max_inflight();
        batches.saturating_mul(publisher.batch_max_entries())
    } else {
        unbatched
    };
    // Hooks of an ordering key that is held go in requests of their own.
    let in_flight = match publisher.ordering_on_failure() {
        OrderingOnFailure::Hold => in_flight.min(unbatched),
        OrderingOnFailure::Continue => in_flight,
    };
    let window = in_flight.saturating_mul(AHEAD);
    let window_rows = window.min(publisher.batch_queue_max());
    // Connecting and the reply, twice: a request whose token is refused is sent again.
    let rounds = (0..AHEAD).map(|_| publisher.timeout().saturating_mul(2 * 2));
    let requests = rounds.fold(Duration::ZERO, Duration::saturating_add);
    DispatchOptions {
        window_rows,
        window_bytes: publisher.batch_queue_bytes(),
        lane_rows: defaults.lane_rows.min(window_rows),
        concurrency: unbatched,
        sink_concurrency: unbatched,
        attempt_timeout: TOKEN
            .saturating_add(publisher.batch_linger())
            .saturating_add(requests),
        retry: settings.policy,
        on_dead: settings.on_dead,
        ..defaults
    }
}

#[cfg(test)]
mod tests {
    use pubsink_core::dispatch::OnDead;
    use pubsink_core::retry::RetryPolicy;

    use super::super::headers::Headers;
    use super::*;

    fn of(publisher: &PublisherOptions) -> DispatchOptions {
        let settings = Settings {
            policy: RetryPolicy::default(),
            on_dead: OnDead::Skip,
            shutdown_limit: Duration::ZERO,
            headers: Headers::default(),
        };
        dispatch_options(publisher, &settings)
    }

    #[test]
    fn no_more_is_claimed_than_the_publisher_has_in_flight_soon() {
        let builder = || PublisherOptions::builder("p", "hooks");
        let default = of(&builder().build().unwrap());
        assert_eq!((default.window_rows, default.lane_rows), (4_096, 1_024));
        let small = builder().batch_max_inflight(1).batch_max_entries(10);
        assert_eq!(of(&small.build().unwrap()).window_rows, 20);
        let unbatched = builder().batch(false).sink_concurrency(3);
        let unbatched = of(&unbatched.build().unwrap());
        assert_eq!((unbatched.window_rows, unbatched.concurrency), (6, 3));
        let held = builder().ordering_on_failure(OrderingOnFailure::Hold);
        assert_eq!(of(&held.build().unwrap()).window_rows, 16);
        let largest = builder()
            .batch_queue_max(usize::MAX)
            .sink_concurrency(usize::MAX)
            .batch_max_inflight(usize::MAX)
            .timeout(Duration::MAX);
        assert_eq!(of(&largest.build().unwrap()).window_rows, usize::MAX);
    }
}
