//! Every answer that was recorded or reported, and what it means: pinned.

use pubsink_core::wire::{Reply, read_reply};
use pubsink_fixtures::exchanges::{self, Exchange, Source};

use crate::sim::answers::Answer;
use crate::sim::{Sim, defaults};

/// The answer as a transport would hand it over, where there is one over REST.
fn reply(exchange: &Exchange) -> Option<Reply> {
    if exchange.name.starts_with("grpc-") {
        return None;
    }
    let mut headers = http::HeaderMap::new();
    for (name, value) in &exchange.response.headers {
        let name: http::HeaderName = name.parse().unwrap();
        headers.append(name, value.parse().unwrap());
    }
    Some(Reply {
        status: exchange.response.status?,
        headers,
        body: exchange.response.payload.bytes().into(),
        // Wed, 30 Sep 2026 00:00:00 GMT
        received_at_ms: 1_790_726_400_000,
    })
}

/// A line of a snapshot, long ones by their head: people read them.
pub(crate) fn line(text: &str) -> String {
    match text.char_indices().nth(400) {
        None => format!("{text}\n"),
        Some((at, _)) => format!("{} [… {} bytes in all]\n", &text[..at], text.len()),
    }
}

/// What becomes of `count` messages, and how many requests it took.
fn settled(reply: &Reply, count: u64) -> String {
    let answer = Answer::reply(reply.clone());
    let mut sim = Sim::new(&defaults(), move |_| answer.clone());
    sim.admit_all(0..count);
    sim.run();
    sim.assert_quiescent();
    let mut outcomes: Vec<_> = sim
        .settled()
        .values()
        .map(|settled| match &settled.outcome {
            Ok(delivered) => line(&format!("delivered as {}", delivered.message_id)),
            Err(failure) => line(&failure.to_string()),
        })
        .collect();
    outcomes.dedup();
    let (messages, requests) = (count, sim.requests().len());
    let outcomes = outcomes.join("      ");
    format!("  messages {messages}, requests {requests}: {outcomes}")
}

fn meaning(exchange: &Exchange) -> Option<String> {
    let reply = reply(exchange)?;
    let (one, three) = (read_reply(&reply, 1), read_reply(&reply, 3));
    let mut text = format!("{}: HTTP {}\n", exchange.name, reply.status);
    text += &line(&format!("  {one:?}"));
    if one != three {
        text += &line(&format!("  of three: {three:?}"));
    }
    text += &settled(&reply, 1);
    text += &settled(&reply, 3);
    Some(text)
}

fn meanings(source: Source, chosen: impl Fn(&str) -> bool) -> String {
    let exchanges = exchanges::all().into_iter();
    let chosen = exchanges.filter(|exchange| exchange.source == source && chosen(&exchange.name));
    let meanings: Vec<_> = chosen.filter_map(|exchange| meaning(&exchange)).collect();
    assert!(!meanings.is_empty());
    meanings.join("\n")
}

pub(crate) fn pin(name: &str, text: &str) {
    insta::with_settings!(
        { snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!(name, text) }
    );
}

#[test]
fn recorded_answers_to_publish() {
    let publish = |name: &str| name.starts_with("publish-");
    pin(
        "wire_recorded_publish",
        &meanings(Source::GoogleEmulator, publish),
    );
}

#[test]
fn recorded_answers_to_other_calls() {
    let others = |name: &str| !name.starts_with("publish-");
    pin(
        "wire_recorded_others",
        &meanings(Source::GoogleEmulator, others),
    );
}

#[test]
fn shaped_answers() {
    pin("wire_shaped", &meanings(Source::Shaped, |_| true));
}

#[test]
fn a_recorded_success_delivers_what_its_request_carried() {
    for (name, count) in [
        ("publish-one", 1),
        ("publish-three", 3),
        ("publish-1000", 1_000),
    ] {
        let exchange = exchanges::named(name).unwrap();
        let verdict = read_reply(&reply(&exchange).unwrap(), count);
        let pubsink_core::wire::Verdict::Delivered(ids) = verdict else {
            panic!("{name}: {verdict:?}");
        };
        assert_eq!(ids.len(), count);
    }
}

/// The class a shaped answer deserves is advice; where the specification differs, it stands here.
#[test]
fn shaped_answers_agree_with_the_reports_about_what_may_have_been_stored() {
    for exchange in exchanges::shaped() {
        let (Some(reply), Some(reported)) = (reply(&exchange), exchange.may_have_been_stored)
        else {
            continue;
        };
        if exchange.class.as_deref() == Some("per ack id") || reply.status == 200 {
            continue;
        }
        let answer = Answer::reply(reply);
        let mut sim = Sim::new(&defaults(), move |_| answer.clone());
        sim.admit_all(0..1);
        sim.run();
        let failure = sim.failure(0);
        // Never less careful than the reports.
        assert!(
            failure.may_have_been_stored || !reported,
            "{}: {failure}",
            exchange.name
        );
    }
}
