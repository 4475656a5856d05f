//! R06: leases are kept, however many acks wait.

use std::time::Duration;

use pubsink_core::subscribe::Wire;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::service::{Context, handler};

use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::subscribing::{Handlings, PATIENCE, extensions, text, texts};

cases! {
    Faults, "subscribe R06 thousands of acks that take long hold up no extension" => slow_acks, .wires(BOTH), .waits(), .limit(100);
    Faults, "subscribe R06.4 every third extension may fail" => failing, .wires(BOTH), .waits(), .limit(100);
}

const CROWD: usize = 5_000;
const HANDLERS: usize = 10;
/// All but one of the handlers' places are taken for so long.
const SLOW: u64 = 35_000;
/// So long is the last one taken, with one message behind it.
const LAST: u64 = 25_000;

fn takes(text: &str) -> u64 {
    let number: usize = text.trim_start_matches("m-").parse().expect("a number");
    match number {
        slow if slow < HANDLERS - 1 => SLOW,
        last if last == CROWD - 2 => LAST,
        _ => 0,
    }
}

async fn slow_acks(env: Env) {
    let extension = Action::proceed().answer_delay(Duration::from_millis(20));
    crowd(
        &env,
        [Rule::on(Match::verb("modifyAckDeadline")).then(extension)],
    )
    .await;
}

async fn failing(env: Env) {
    // Of 240 in a row every third one.
    let rules = (0..80).map(|number| {
        let busy = Action::refuse(&Status::unavailable("busy"));
        let extends = Rule::on(Match::verb("modifyAckDeadline"));
        // A rule does not count what those before it took.
        extends.nth(3 + 2 * number).then(busy)
    });
    crowd(&env, rules).await;
}

/// 5,000 messages for ten handlers. Acks count when they arrive, and are answered one after the other.
async fn crowd(env: &Env, rules: impl IntoIterator<Item = Rule>) {
    let slow = Duration::from_secs(2);
    let ack = Action::proceed().answer_delay(slow).in_turn();
    let mut script = vec![Rule::on(Match::verb("acknowledge")).then(ack)];
    script.extend(rules);
    env.server().script(script);
    env.create_served().await;
    env.put_texts(texts("m", CROWD));

    let handlings = Handlings::default();
    let (noted, place) = (handlings.clone(), env.clone());
    let work = move |context: Context| {
        let (noted, env) = (noted.clone(), place.clone());
        async move {
            let _running = noted.begin(&context);
            match takes(&text(&context)) {
                0 => {}
                time => env.sleep(time).await,
            }
        }
    };
    let options = env.subscriber().max_outstanding(CROWD).handlers(HANDLERS);
    // Of the four acks that are under way the last one waits for the others.
    let options = options.timeout(Duration::from_secs(20));
    let serving = env.serve(options, handler(work));
    serving.quiet_after(env, PATIENCE + 40, CROWD).await;
    let calls = env.served_calls();
    serving.stop().await;

    env.nothing_came_again();
    handlings.each_once(texts("m", CROWD));
    assert_eq!(serving.told.unsettled(), []);
    let extended = extensions(&calls);
    assert!(extended.len() <= 80, "{} requests", extended.len());
    let all = handlings.all();
    for slow in all.iter().filter(|one| takes(&one.text) == SLOW) {
        let of_it = extended.iter().flat_map(|call| &call.modified);
        let of_it = of_it.filter(|(id, _)| *id == slow.ack_id).count();
        assert!(of_it >= 3, "{} was extended {of_it} times", slow.text);
    }
    // Two pulls may come in any order.
    if env.wire() == Wire::Grpc {
        let began = |text: String| handlings.of(&text)[0].began;
        let waited = began(format!("m-{}", CROWD - 1)) - began(format!("m-{}", CROWD - 2));
        assert!(waited >= Duration::from_millis(LAST), "{waited:?}");
    }
}
