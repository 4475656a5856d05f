//! R37: a reply that is not stored never acks what it answers.
//!
//! Of the report only 37.7 applies, and the failed publish of 37.5 seen from the side that answers. There
//! are no requests that wait for a reply here: nothing that could be late, double, unknown or foreign,
//! nothing to leak, and no ids of requests.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_runtime::service::{Context, Reply, ServiceEvent, handler};

use crate::cases::{all_delivered, numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::{Env, PROJECT};
use crate::harness::subscribing::{Handlings, PATIENCE, Serving, acks, text, texts};

cases! {
    Faults, "subscribe R37.7 what is answered is acked once its reply is stored" => stored_first, .publishes(BOTH), .waits(), .limit(60);
    Anything, "subscribe R37.7 without the replies' topic nothing is acked, and nothing loops" => no_topic, .publishes(BOTH), .waits(), .limit(60);
    Faults, "subscribe R37.5 a reply that is refused acks nothing, until it is taken" => refused, .publishes(BOTH), .waits(), .limit(90);
}

const GOOD: usize = 10;

fn replies_id(env: &Env) -> String {
    format!("{}-replies", env.topic_id())
}

fn replies_topic(env: &Env) -> String {
    format!("projects/{PROJECT}/topics/{}", replies_id(env))
}

/// Answers what begins with `ask`, and acks the rest.
fn answering(env: &Env) -> (Serving, Handlings) {
    let handlings = Handlings::default();
    let noted = handlings.clone();
    let answer = move |context: Context| {
        let _running = noted.begin(&context);
        let text = text(&context);
        async move { text.starts_with("ask").then(|| Reply::new(text)) }
    };
    let publisher = env.publisher(env.options_for(&replies_id(env)));
    let by = handler(answer).reply_to(publisher);
    (env.serve(env.subscriber(), by), handlings)
}

async fn ask(env: &Env, asks: usize) {
    let publisher = env.publisher(env.options());
    let all = numbered("ask", asks)
        .into_iter()
        .chain(numbered("good", GOOD));
    all_delivered(&publish_all(&publisher, all).await);
}

fn replies_failed(serving: &Serving) -> usize {
    let failed = |event: &ServiceEvent| matches!(event, ServiceEvent::ReplyFailed { .. });
    serving.told.count(failed)
}

/// When the handlings of these texts were acked.
fn acked(env: &Env, handlings: &Handlings, name: &str) -> Vec<Instant> {
    let all = handlings.all().into_iter();
    let ids: BTreeSet<_> = all
        .filter(|one| one.text.starts_with(name))
        .map(|one| one.ack_id)
        .collect();
    let calls = env.served_calls();
    let acked = acks(&calls).into_iter();
    acked
        .filter(|(_, id)| ids.contains(*id))
        .map(|(at, _)| at)
        .collect()
}

async fn stored_first(env: Env) {
    const STORING: Duration = Duration::from_millis(100);
    env.create_topic(&replies_id(&env), false).await;
    env.create_served().await;
    let topic = || Match::topic(&replies_topic(&env));
    let busy = Action::refuse(&Status::unavailable("busy"));
    env.server().script([
        Rule::on(topic()).times(2).then(busy),
        Rule::on(topic()).then(Action::proceed().answer_delay(STORING)),
    ]);
    let (serving, handlings) = answering(&env);
    ask(&env, 1).await;
    // Two of its handlings end with a reply that is not stored.
    serving.quiet_after(&env, PATIENCE, GOOD + 3).await;
    serving.stop().await;
    let log = env.server().log();
    let all = log.publishes().into_iter();
    // What was asked was published before.
    let replies = all.filter(|one| one.messages.iter().any(|one| one.data == "ask-0"));
    let replies: Vec<_> = replies.skip(1).map(|one| one.at).collect();
    assert_eq!(replies.len(), 3);
    assert_eq!(env.stored_in(&replies_topic(&env)), 1);
    let acked = acked(&env, &handlings, "ask");
    assert_eq!(acked.len(), 1);
    assert!(acked[0] >= replies[2] + STORING);
    assert_eq!(env.pull_from(&replies_id(&env), 1).await[0].data, b"ask-0");
    env.pull_from(&env.served_id(), 0).await;
}

async fn no_topic(env: Env) {
    const WATCHED: u64 = 5_000;
    env.create_served().await;
    let (serving, handlings) = answering(&env);
    ask(&env, 1).await;
    env.until_within(
        PATIENCE,
        "its reply has failed, and the others are handled",
        || replies_failed(&serving) > 0 && serving.told.handled() > GOOD,
    )
    .await;
    env.sleep(WATCHED).await;
    let tries = handlings.of("ask-0").len();
    // The pauses of a default backoff: at once, after 1 s, 3 s and 7 s, each a fifth shorter perhaps.
    assert!(tries <= 4, "{tries} times in about {WATCHED} ms");
    for good in texts("good", GOOD) {
        assert_eq!(handlings.of(&good).len(), 1);
    }
    serving.stop().await;
    if env.embedded().is_some() {
        assert_eq!(acked(&env, &handlings, "ask"), []);
        assert_eq!(acked(&env, &handlings, "good").len(), GOOD);
    } else {
        // What it gave a pull that was dropped has to come back by itself.
        env.sleep(11_000).await;
    }
    let left = env.pull_from(&env.served_id(), 1).await;
    assert_eq!(left[0].data, b"ask-0");
}

async fn refused(env: Env) {
    env.create_topic(&replies_id(&env), false).await;
    env.create_served().await;
    let refusal = Status::new(403, "PERMISSION_DENIED", "no");
    let topic = Match::topic(&replies_topic(&env));
    env.server()
        .script([Rule::on(topic).then(Action::refuse(&refusal))]);
    let (serving, handlings) = answering(&env);
    ask(&env, 3).await;
    env.until_within(PATIENCE, "every reply was refused", || {
        replies_failed(&serving) >= 3 && serving.told.handled() >= GOOD + 3
    })
    .await;
    env.sleep(2_000).await;
    assert_eq!(acked(&env, &handlings, "ask"), []);
    assert_eq!(env.stored_in(&replies_topic(&env)), 0);
    env.server().script([]);
    env.until_within(PATIENCE, "every reply is stored", || {
        acked(&env, &handlings, "ask").len() == 3
    })
    .await;
    serving.stop().await;
    let replies = env.pull_from(&replies_id(&env), 3).await;
    let replies: BTreeSet<_> = replies.into_iter().map(|one| one.data).collect();
    assert_eq!(replies.len(), 3);
    env.pull_from(&env.served_id(), 0).await;
    assert_eq!(env.server().gauges().expired_leases, 0);
}
