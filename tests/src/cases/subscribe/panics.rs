//! A handler that panics.

use pubsink_core::subscribe::Settlement;
use pubsink_runtime::service::{Context, ServiceEvent, handler};

use crate::cases::{all_delivered, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::panics::MEANT;
use crate::harness::subscribing::{Handlings, PATIENCE, text, texts};

cases! {
    Anything, "subscribe a handler's panic is a retry of its message, and nothing to the others" => panics, .wires(BOTH), .waits(), .limit(60);
}

const COUNT: usize = 30;
const POISON: &str = "m-7";

async fn panics(env: Env) {
    env.create_served().await;
    let handlings = Handlings::default();
    let (noted, place) = (handlings.clone(), env.clone());
    let by = move |context: Context| {
        let (noted, env) = (noted.clone(), place.clone());
        async move {
            let _running = noted.begin(&context);
            env.sleep(20).await;
            if text(&context) == POISON && context.attempt() < 3 {
                panic!("{MEANT}");
            }
            Settlement::Ack
        }
    };
    let serving = env.serve(env.subscriber().handlers(4), handler(by));
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered("m", COUNT)).await);
    serving.quiet_after(&env, PATIENCE, COUNT + 2).await;
    serving.stop().await;
    let poison = [POISON.to_owned(), POISON.to_owned()];
    handlings.each_once(texts("m", COUNT).chain(poison));
    let attempts: Vec<_> = handlings.of(POISON).iter().map(|one| one.attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
    let panicked = |event: &ServiceEvent| match event {
        ServiceEvent::Panicked { context, error } => {
            assert_eq!((&*text(context), error.as_str()), (POISON, MEANT));
            true
        }
        _ => false,
    };
    assert_eq!(serving.told.count(panicked), 2);
    assert_eq!(serving.told.unsettled(), []);
    env.pull_from(&env.served_id(), 0).await;
    if let Some(server) = env.embedded() {
        let gauges = server.gauges();
        assert_eq!((gauges.expired_leases, gauges.redeliveries), (0, 2));
    }
}
