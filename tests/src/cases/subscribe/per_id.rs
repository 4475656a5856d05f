//! R15: answers that tell of each ack id, and answers that cannot be read, on an exactly-once
//! subscription.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pubsink_core::subscribe::{SettleError, SubscriberOptionsBuilder, Wire};
use pubsink_fixtures::broker::{ErrorInfo, Status};
use pubsink_fixtures::faults::{Action, Match, Rule};
use pubsink_fixtures::server::LoggedCall;
use pubsink_runtime::service::{Context, ServiceEvent, handler};
use serde_json::json;

use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::subscribing::{Handlings, LEASE, PATIENCE, Serving, acks, extensions, texts};

cases! {
    Faults, "subscribe R15.1-4 each ack id of an answer has its own fate" => own_fates, .wires(BOTH), .waits(), .limit(90);
    Faults, "subscribe R15.5 an extension whose refusal cannot be read is tried three times" => unreadable_extensions, .wires(BOTH), .waits(), .limit(90);
    Faults, "subscribe R15.5 an ack whose refusal cannot be read is tried three times" => unreadable_acks, .wires(BOTH), .waits(), .limit(90);
}

const HANDLER: u64 = 12_000;

/// Over REST a subscription does not say what it is.
fn exactly_once(env: &Env) -> SubscriberOptionsBuilder {
    env.subscriber().exactly_once(env.wire() == Wire::Rest)
}

/// Four messages, each with a handler of that many milliseconds.
async fn four(env: &Env, milliseconds: u64) -> (Serving, Handlings) {
    env.create_served_with(json!({"enableExactlyOnceDelivery": true}))
        .await;
    let handlings = Handlings::default();
    let (noted, place) = (handlings.clone(), env.clone());
    let work = move |context: Context| {
        let (noted, env) = (noted.clone(), place.clone());
        async move { noted.watched(&env, &context, milliseconds).await }
    };
    let serving = env.serve(exactly_once(env), handler(work));
    env.put_texts(texts("m", 4));
    env.until("four handlers have begun", || handlings.count() == 4)
        .await;
    (serving, handlings)
}

/// A refusal that says of some ids how they failed, and by that of the others that they did not.
fn per_id<const N: usize>(fates: [(&str, &str); N]) -> Action {
    let metadata = fates.map(|(id, fate)| (id.to_owned(), fate.to_owned()));
    let mut status = Status::invalid_argument("Some acknowledgement ids in the request failed.");
    status.info = Some(ErrorInfo {
        reason: "EXACTLY_ONCE_ACKID_FAILURE".to_owned(),
        domain: "pubsub.googleapis.com".to_owned(),
        metadata: BTreeMap::from(metadata),
    });
    Action::refuse(&status).store()
}

const PERMANENT: &str = "PERMANENT_FAILURE_INVALID_ACK_ID";
const TRANSIENT: &str = "TRANSIENT_FAILURE_INTERNAL";

fn has(call: &LoggedCall, id: &str) -> bool {
    let acked = call.acknowledged.iter().any(|other| other == id);
    acked || call.modified.iter().any(|(other, _)| other == id)
}

async fn own_fates(env: Env) {
    let (serving, handlings) = four(&env, HANDLER).await;
    let x = |number| handlings.of(&format!("m-{number}"))[0].ack_id.clone();
    let [x0, x1, x2, x3] = [0, 1, 2, 3].map(x);
    let before = extensions(&env.served_calls()).len();
    let extends = Rule::on(Match::verb("modifyAckDeadline")).nth(1);
    let acknowledges = Rule::on(Match::verb("acknowledge")).nth(1);
    env.server().script([
        extends.then(per_id([(&x0, PERMANENT), (&x2, TRANSIENT)])),
        acknowledges.then(per_id([(&x3, PERMANENT)])),
    ]);
    env.until("the extension has failed", || {
        !handlings.all().iter().all(|one| one.lost.is_none())
    })
    .await;
    // It comes again while its handler runs.
    let back = [x0.as_str()];
    let give_back = |broker: &mut pubsink_fixtures::broker::Broker| {
        broker.modify_ack_deadline(&env.served(), &back, 0, Instant::now())
    };
    env.server().broker(give_back).expect("it is leased");
    serving.quiet_after(&env, PATIENCE, 4).await;
    serving.stop().await;

    let calls = env.served_calls();
    let asked = extensions(&calls);
    let failed = asked[before];
    assert_eq!(failed.modified.len(), 4, "{failed:?}");
    let later = |call: &&&LoggedCall| call.at > failed.at;
    assert!(
        !calls
            .iter()
            .any(|call| call.at > failed.at && has(call, &x0))
    );
    let first = &handlings.of("m-0")[0];
    let lost = first.lost.expect("its handler was told");
    let told = lost - failed.at;
    assert!(told <= Duration::from_secs(1), "told after {told:?}");
    // The third alone goes again, soon; the others at their time.
    let again = asked.iter().filter(later).find(|call| has(call, &x2));
    let again = again.expect("it is extended again");
    let (after, ids) = (again.at - failed.at, &again.modified);
    assert!(
        after <= Duration::from_secs(2) && ids.len() == 1,
        "{after:?}: {ids:?}"
    );
    let next = asked.iter().filter(later).find(|call| has(call, &x1));
    let next = next.expect("it is extended at its time").at - failed.at;
    assert!(next >= LEASE * 4 / 10, "{next:?}");
    // The ack of the first has its new id; the last one's does not count, and the others' do.
    handlings.each_once(texts("m", 4));
    let acked = acks(&calls);
    assert!(acked.iter().all(|(_, id)| *id != x0), "{acked:?}");
    let news: Vec<_> = acked
        .iter()
        .filter(|(_, id)| ![&x1, &x2, &x3].contains(&&(*id).to_owned()))
        .collect();
    assert!(!news.is_empty(), "{acked:?}");
    let unsettled = serving.told.unsettled();
    let [(text, SettleError::LeaseLost(_))] = &unsettled[..] else {
        panic!("{unsettled:?}");
    };
    assert_eq!(text, "m-3");
    assert_eq!(env.leased(), 0);
    env.pull_from(&env.served_id(), 0).await;
}

/// A refusal for `INVALID_ARGUMENT` whose details are none.
fn unreadable(env: &Env) -> Action {
    match env.wire() {
        Wire::Rest => Action::answer(
            400,
            &[("content-type", "application/json")],
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":7},8]}}"#,
        ),
        Wire::Grpc => Action::answer(
            200,
            &[
                ("content-type", "application/grpc"),
                ("grpc-status", "3"),
                ("grpc-message", "no"),
                ("grpc-status-details-bin", "/////w"),
            ],
            "",
        ),
    }
}

async fn unreadable_extensions(env: Env) {
    let (serving, handlings) = four(&env, HANDLER).await;
    let before = extensions(&env.served_calls()).len();
    let rule = Rule::on(Match::verb("modifyAckDeadline"));
    env.server().script([rule.then(unreadable(&env))]);
    let lost = || handlings.all().iter().all(|one| one.lost.is_some());
    env.until("every handler is told that its lease is lost", lost)
        .await;
    // Their leases go on for a while; nothing is asked for any more.
    env.sleep(2_000).await;
    assert_eq!(extensions(&env.served_calls()).len() - before, 3);
    let told = |event: &ServiceEvent| matches!(event, ServiceEvent::LeaseLost { .. });
    assert_eq!(serving.told.count(told), 4);
    // They come again in the end, and are not handled beside those that run.
    env.server().script([]);
    env.until_within(PATIENCE, "every message is acked", || {
        env.server().broker(|broker| broker.stored_messages()) == 4
            && env.leased() == 0
            && handlings.running() == 0
    })
    .await;
    serving.stop().await;
}

async fn unreadable_acks(env: Env) {
    let rule = Rule::on(Match::verb("acknowledge"));
    env.server().script([rule.then(unreadable(&env))]);
    let (serving, handlings) = four(&env, 1_000).await;
    env.until("every ack has failed", || {
        serving.told.unsettled().len() == 4
    })
    .await;
    let calls = env.served_calls();
    for one in handlings.all() {
        let acked = acks(&calls);
        let times = acked.iter().filter(|(_, id)| *id == one.ack_id).count();
        assert_eq!(times, 3, "{}", one.text);
    }
    for (text, error) in serving.told.unsettled() {
        let is_lost = matches!(error, SettleError::LeaseLost(_));
        assert!(is_lost, "{text}: {error:?}");
    }
    let asked = calls.iter().filter(|call| !call.acknowledged.is_empty());
    // The four may have ended apart.
    assert!(asked.count() <= 12);
    serving.stop_within(5).await;
}
