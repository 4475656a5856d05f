//! A service whose connections do not last.

use std::time::{Duration, Instant};

use pubsink_core::subscribe::Wire;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule, StreamEnd};
use pubsink_runtime::service::{Context, handler};

use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::subscribing::{Handlings, PATIENCE, acks, texts};

cases! {
    Faults, "subscribe a minute of cuts, one a second, loses no message and no ack" => cut, .wires(BOTH), .waits(), .limit(150);
}

const CUTS: usize = 60;
/// Between two cuts messages come so often, so many at a time: a little more than handlers can do, so that
/// at a cut there are always some on their way, and acks.
const TICKS: usize = 20;
const TICK: Duration = Duration::from_millis(50);
const LOAD: usize = 3;

/// Ends every stream in one of the ways it can end; over REST whatever is in flight.
fn cut_now(env: &Env, number: usize) {
    let server = env.server();
    match (env.wire(), number % 4) {
        (Wire::Rest, _) => server.drop_connections(),
        (Wire::Grpc, 0) => server.end_streams(StreamEnd::Status(Status::unavailable("cut"))),
        (Wire::Grpc, 1) => server.end_streams(StreamEnd::Reset),
        (Wire::Grpc, 2) => server.end_streams(StreamEnd::Connection),
        (Wire::Grpc, _) => server.end_streams(StreamEnd::GoAway),
    }
}

async fn cut(env: Env) {
    env.create_served().await;
    let handlings = Handlings::default();
    let (noted, place) = (handlings.clone(), env.clone());
    let by = move |context: Context| {
        let (noted, env) = (noted.clone(), place.clone());
        async move {
            let _running = noted.begin(&context);
            env.sleep(fastrand::u64(0..180)).await;
        }
    };
    // An ack that is cut off does not count, and what a pull leased before it was is gone for a while.
    let ack = Action::proceed().delay(Duration::from_millis(100));
    let pull = Action::proceed().answer_delay(Duration::from_millis(50));
    env.server().script([
        Rule::on(Match::verb("acknowledge")).then(ack),
        Rule::on(Match::verb("pull")).then(pull),
    ]);
    // So few that some always wait to be read.
    let options = env.subscriber().handlers(5).max_outstanding(20);
    let serving = env.serve(options, handler(by));
    let start = Instant::now();
    let mut next = Duration::ZERO;
    for number in 0..CUTS * TICKS {
        env.put_texts(texts(&format!("m-{number}"), LOAD));
        next += TICK;
        let pause = next.saturating_sub(start.elapsed()).as_millis();
        env.sleep(u64::try_from(pause).unwrap()).await;
        if number % TICKS == TICKS - 1 {
            cut_now(&env, number / TICKS);
        }
    }
    let expected: Vec<_> = (0..CUTS * TICKS)
        .flat_map(|number| texts(&format!("m-{number}"), LOAD).collect::<Vec<_>>())
        .collect();
    serving
        .quiet_after(&env, 2 * PATIENCE, expected.len())
        .await;
    // What was on its way in a cut comes again when its lease is over.
    env.until_within(PATIENCE, "nothing is left", || {
        let gauges = serving.subscription.gauges();
        gauges.outstanding + gauges.unconfirmed == 0 && env.nothing_left()
    })
    .await;
    serving.stop().await;

    let handled = handlings.all();
    let mut once: Vec<_> = handled.iter().map(|one| one.text.clone()).collect();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), expected.len());
    let gauges = env.server().gauges();
    // A message is handled again only where it came again.
    let again = handled.len() - once.len();
    assert!(again as u64 <= gauges.redeliveries, "{again} handled again");
    // Whatever was handled was acked, by the newest of its leases.
    let unsettled = serving.told.unsettled();
    assert_eq!(unsettled, []);
    let calls = env.served_calls();
    let acked = acks(&calls).len();
    assert!(acked > expected.len(), "no cut met an ack");
    if env.wire() == Wire::Grpc {
        assert!(gauges.streams > CUTS as u64 / 2, "{gauges:?}");
    }
    eprintln!(
        "NOTE: {:?}, {CUTS} cuts, {} messages: {} redelivered, {again} handled again, {} leases ran out, {acked} ids acked",
        env.wire(),
        expected.len(),
        gauges.redeliveries,
        gauges.expired_leases,
    );
}
