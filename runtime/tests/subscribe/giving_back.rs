//! What is given back comes again.

use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pubsink_runtime::core::subscribe::{SettleError, Wire};

use super::support::{Place, leased, next, options, publish, server, subscribe};

pub(crate) async fn what_is_nacked_comes_again<P: Place>(wire: Wire) {
    let server = server();
    let mut subscription = subscribe::<P>(options(&server, wire));
    publish::<P>(&server, 1).await;
    let first = next(&mut subscription).await;
    let id = first.message().message_id.clone();
    first.retry().await.unwrap();
    let second = next(&mut subscription).await;
    assert_eq!(second.message().message_id, id);
    second.ack().await.unwrap();
    assert_eq!(server.log().nacked().len(), 1);
    assert_eq!(leased(&server), 0);
}

pub(crate) async fn what_is_dropped_comes_again<P: Place>(wire: Wire) {
    let server = server();
    let mut subscription = subscribe::<P>(options(&server, wire));
    publish::<P>(&server, 1).await;
    drop(next(&mut subscription).await);
    next(&mut subscription).await.discard().await.unwrap();
    assert_eq!(leased(&server), 0);
}

pub(crate) async fn a_pause_is_held_before<P: Place>(wire: Wire) {
    let server = server();
    let mut subscription = subscribe::<P>(options(&server, wire));
    let handle = subscription.handle();
    publish::<P>(&server, 1).await;
    let pause = Duration::from_millis(300);
    let began = Instant::now();
    let first = next(&mut subscription).await;
    let settling = first.retry_after(pause);
    assert_eq!(handle.gauges().held, 1);
    settling.await.unwrap();
    assert!(began.elapsed() >= pause);
    let second = next(&mut subscription).await;
    // Its hour, less what has passed and two seconds.
    let longest = second.longest_pause().unwrap();
    let hour = Duration::from_secs(3_598);
    assert!(longest <= hour && longest > hour - Duration::from_secs(60));
    // The answer is there when the call returns, whatever the driver does.
    let too_late = second
        .retry_after(Duration::from_secs(7_200))
        .now_or_never();
    let Some(Err(SettleError::RetryTooLate { asked, max })) = too_late else {
        panic!("{too_late:?}")
    };
    assert_eq!(asked, Duration::from_secs(7_200));
    assert!(max <= longest);
    next(&mut subscription).await.ack().await.unwrap();
}
