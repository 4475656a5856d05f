//! One run that meets every class, over a socket: what its spans, its metrics and its words say,
//! and that no secret is in any of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[allow(dead_code, reason = "the metrics tests use more of it")]
#[path = "../metrics/ledger.rs"]
mod ledger;
mod log;
mod planted;
mod run;
#[allow(dead_code, reason = "the dispatch tests use more of it")]
#[path = "../dispatch/support.rs"]
mod support;

use std::error::Error as _;

use pubsink_runtime::core::asyncapi::AsyncApi;
use pubsink_runtime::core::options::PublisherOptions;
use pubsink_runtime::core::sink::{Description, Subject};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::metrics::describe;

use ledger::Ledger;
use log::Log;
use planted::{BEARER, assert_clean, hook, signed_claim};
use run::{CASES, Run, SINK, TOPIC};

/// The attempts of a case: each with its class, none where it was delivered.
fn expected(what: &str) -> &'static [Option<&'static str>] {
    match what {
        "delivered" | "claimed" => &[None],
        "permanent" | "config" | "claim_check" => &[Some("permanent")],
        "throttled" => &[Some("throttled"), None],
        // An attempt that is stopped ends without a word.
        "attempt_timeout" => &[None, None],
        _ => &[Some("transient"), None],
    }
}

#[test]
fn a_run_that_meets_every_class_says_so_everywhere_and_no_secret_anywhere() {
    let (ledger, log) = (Ledger::default(), Log::default());
    metrics::set_global_recorder(ledger.clone()).ok().unwrap();
    describe();
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    let run = Run::start();
    let settled = run.every_case();
    let dead = run.dead_letters();
    assert_eq!(dead.len(), 3);
    run.end();

    for (settled, (what, dies_of)) in settled.iter().zip(CASES) {
        assert_eq!(settled.row.envelope.id, what);
        let died = settled.outcome.as_ref().err();
        assert_eq!(
            died.map(|(failure, _)| failure.reason.kind()),
            dies_of,
            "{what}"
        );
        let spans = log.attempts(what);
        let classes: Vec<_> = spans.iter().map(|span| span.get("error_class")).collect();
        let classes: Vec<_> = classes
            .iter()
            .map(|class| class.map(String::as_str))
            .collect();
        assert_eq!(classes, expected(what), "{what}");
        for (span, attempt) in spans.iter().zip(1..) {
            assert_eq!(span["sink"], SINK);
            assert_eq!(span["attempt"], attempt.to_string());
            assert_eq!(span["tenant_id"], "acme");
            let status = span.get("otel.status_code").map(String::as_str);
            assert_eq!(status, span.contains_key("error_class").then_some("ERROR"));
            assert_eq!(span.get("traceparent"), None, "what it came with is none");
        }
    }
    counted(&ledger);
    run.the_secrets_were_there();

    assert_clean(&format!("{settled:?} {dead:?}"));
    said(&run).iter().for_each(|text| assert_clean(text));
    log.lines()
        .iter()
        .for_each(|line| assert_clean(&format!("{line:?}")));
    for series in ledger.series() {
        assert_clean(&format!("{series:?} {:?}", ledger.described(&series.name)));
    }
}

/// What was recorded: each case once, under its class.
fn counted(ledger: &Ledger) {
    let attempts = "pubsink_dispatch_attempts_total";
    let settled = "pubsink_dispatch_settled_total";
    let messages = "pubsink_publish_messages_total";
    let requests = "pubsink_publish_requests_total";
    for (name, labels, count) in [
        (attempts, &[SINK, "delivered", "none"][..], 5.0),
        (attempts, &[SINK, "failed", "permanent"], 1.0),
        // One of them is refused by the topic, one before anything is sent.
        (attempts, &[SINK, "failed", "config"], 2.0),
        (attempts, &[SINK, "failed", "throttled"], 1.0),
        (attempts, &[SINK, "failed", "transient"], 1.0),
        (attempts, &[SINK, "stopped", "transient"], 1.0),
        (settled, &[SINK, "delivered", "none"], 5.0),
        (settled, &[SINK, "dead", "permanent"], 3.0),
        (settled, &[SINK, "dead", "transient"], 0.0),
        ("ankusa_dispatch_config_errors_total", &[SINK], 2.0),
        ("pubsink_dispatch_retries_total", &[SINK, "throttled"], 1.0),
        ("pubsink_dispatch_retries_total", &[SINK, "transient"], 2.0),
        (messages, &[TOPIC, "delivered", "none"], 5.0),
        (messages, &[TOPIC, "failed", "permanent"], 1.0),
        (messages, &[TOPIC, "failed", "config"], 2.0),
        (messages, &[TOPIC, "failed", "throttled"], 1.0),
        (requests, &[TOPIC, "delivered"], 5.0),
        (requests, &[TOPIC, "refused"], 1.0),
        (requests, &[TOPIC, "config"], 1.0),
        (requests, &[TOPIC, "throttled"], 1.0),
        (requests, &[TOPIC, "transient"], 1.0),
    ] {
        let so = || ledger.count(name, labels) >= count;
        support::wait_until(&format!("{name} {labels:?}"), so);
        assert_eq!(ledger.count(name, labels), count, "{name} {labels:?}");
    }
}

/// All that the run has words for: events, failures with their causes, values as `Debug` shows
/// them, what an address with a password becomes, and the AsyncAPI document.
fn said(run: &Run) -> Vec<String> {
    let mut said = vec![format!("{:?}", run.heard.events())];
    for failure in run.failures() {
        let mut cause = failure.source();
        said.push(format!("{failure} {failure:?}"));
        while let Some(error) = cause {
            said.push(format!("{error} {error:?}"));
            cause = error.source();
        }
    }
    said.push(format!(
        "{:?} {:?} {:?}",
        run.dispatch,
        run.publisher,
        run.publisher.options()
    ));
    said.push(format!("{:?} {:?}", Token::new(BEARER), signed_claim()));
    said.push(format!("{:?}", hook("shown")));
    let userinfo = format!("https://planted:{BEARER}@example.com:8443/v1?token={BEARER}");
    let refused = PublisherOptions::builder("p", "hooks")
        .endpoint(&userinfo)
        .build();
    let refused = refused.unwrap_err();
    said.push(format!("{refused} {refused:?}"));
    let subject = Subject {
        source_id: "github".to_owned(),
        tenant_id: None,
    };
    let mut document = AsyncApi::new("Hooks", "1");
    let topic = Description::of_topic(run.publisher.options());
    document.add(&subject, SINK, &topic);
    document.add(
        &subject,
        "other",
        &Description::message("kafka", userinfo, "hooks"),
    );
    said.push(document.to_json());
    said
}
