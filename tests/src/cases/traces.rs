//! A real run, repeated by the core alone.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use pubsink_core::testing::trace::replay;
use pubsink_core::token::Token;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{numbered, publish_all};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;

cases! {
    Faults, "a recorded run is repeated by the core alone, request by request" => recorded, .publishes(BOTH);
}

async fn recorded(env: Env) {
    let server = env.server();
    server.broker(|broker| broker.reject_data(&env.topic(), "POISON").unwrap());
    let busy = Status::resource_exhausted("slow down");
    server.script([
        Rule::on(Match::publish())
            .nth(2)
            .then(Action::refuse(&busy)),
        Rule::on(Match::publish())
            .nth(4)
            // Its stream alone: whatever else is on its connection may have been read or not.
            .then(Action::reset_stream().store()),
        Rule::on(Match::publish())
            .nth(5)
            .then(Action::status(502, "<html>")),
    ]);
    let trace = Arc::new(Mutex::new(String::new()));
    let sink = {
        let trace = Arc::clone(&trace);
        move |line: &str| {
            let mut trace = trace.lock().unwrap();
            trace.push_str(line);
            trace.push('\n');
        }
    };
    let token = Token::new("a-secret-of-the-run").unwrap();
    let spec = env.spec(env.options().batch_max_entries(20)).tokens(token);
    let (publisher, driver) = env.host().connect_recorded(spec, Box::new(sink));
    env.host().spawn(Box::pin(driver));

    let mut messages = numbered("m", 160);
    messages[33].data = "POISON".into();
    for (index, message) in messages.iter_mut().enumerate() {
        message.tenant = Some(format!("tenant-{}", index % 3));
    }
    let outcomes = publish_all(&publisher, messages).await;
    publisher.flush().await;

    let trace = trace.lock().unwrap().clone();
    assert!(!trace.contains("a-secret-of-the-run"));
    let replay = replay(&trace, Instant::now()).unwrap();
    // What the server really got, and what the callers were really told.
    let log = env.server().log();
    let mut sent: Vec<_> = log
        .publishes()
        .iter()
        .map(|request| request.body_bytes)
        .collect();
    let mut again: Vec<_> = replay
        .requests
        .iter()
        .map(|request| request.body().len() as u64)
        .collect();
    sent.sort_unstable();
    again.sort_unstable();
    assert_eq!(again, sent);
    assert_eq!(replay.outcomes.len(), outcomes.len());
    for outcome in &outcomes {
        assert!(
            replay
                .outcomes
                .iter()
                .any(|settled| settled.outcome == *outcome),
            "{outcome:?}"
        );
    }
}
