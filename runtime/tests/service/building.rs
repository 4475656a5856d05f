//! What a service is made of.

use std::sync::{Arc, Mutex};

use pubsink_runtime::core::subscribe::Settlement;
use pubsink_runtime::service::{BuildError, Context, Json, Service, handler};

use crate::broker::{Broker, SUBSCRIPTION, Script};
use crate::support::{Paused, messages, run, serving};

async fn nothing(_: Context) {}

#[test]
fn a_service_needs_a_subscription() {
    let built = Service::builder().build();
    assert_eq!(built.unwrap_err(), BuildError::NoSubscription);
}

#[tokio::test(start_paused = true)]
async fn a_handler_shares_with_others_what_it_captures() {
    let (broker, sum) = (
        Broker::new(Script::default(), messages(4)),
        Arc::new(Mutex::new(0)),
    );
    let shared = Arc::clone(&sum);
    let adding = move |Json(number): Json<u32>| {
        let sum = Arc::clone(&shared);
        async move { *sum.lock().unwrap() += number }
    };
    run(serving(&broker, adding)).await;
    assert_eq!(*sum.lock().unwrap(), 10);
}

#[tokio::test(start_paused = true)]
async fn each_subscription_has_its_own_handler() {
    let (first, second) = (
        Broker::new(Script::default(), messages(2)),
        Broker::new(Script::default(), messages(3)),
    );
    let service = Service::builder()
        .subscription(first.clone(), nothing)
        .subscription(second.clone(), handler(|| async { Settlement::Drop }))
        .build()
        .unwrap();
    let shown = format!("{service:?}");
    assert!(shown.contains(SUBSCRIPTION), "{shown}");
    let stopped = service.run(Paused, 1).await;
    assert_eq!(stopped.subscriptions.len(), 2);
    assert_eq!((first.log().len(), second.log().len()), (2, 3));
    assert_eq!(second.settlements("3"), [Settlement::Drop]);
}

#[test]
fn handles_and_services_may_go_to_other_threads() {
    fn is_send<T: Send + 'static>() {}
    fn is_shared<T: Send + Sync + Clone + 'static>() {}
    is_send::<Service>();
    is_send::<pubsink_runtime::service::ServiceDriver>();
    is_send::<pubsink_runtime::subscribe::Delivery>();
    is_shared::<pubsink_runtime::service::ServiceHandle>();
    is_shared::<Context>();
    is_shared::<pubsink_runtime::subscribe::Lease>();
}
