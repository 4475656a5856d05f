//! R27 through dispatch: every reply's class decides how often a hook is tried and where it ends.
//! All rows at once, each with a topic and a sink of its own.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use pubsink_core::dispatch::Event;
use pubsink_core::failure::{Class, Failure};
use pubsink_core::journal::Filter;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::died;
use crate::harness::case::cases;
use crate::harness::dispatching::{Dispatching, hooks, quick};
use crate::harness::env::{Env, PROJECT};
use crate::harness::journals::Watched;

cases! {
    Faults, "dispatch R27 every reply has its class, is tried as often as that says in two seconds, and ends stored after the repair, or as a dead letter" => table, .limit(120);
    Faults, "dispatch R27 a 413 halves a batch, and each of its hooks takes one attempt" => too_large, .limit(60);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Permanent,
    Config,
    Throttled,
    Transient,
}

use Expected::{Config, Permanent, Throttled, Transient};

impl Expected {
    fn of(failure: &Failure) -> Self {
        match failure.class {
            Class::Permanent => Permanent,
            Class::Config => Config,
            Class::RetryAfter(_) => Throttled,
            Class::Transient => Transient,
        }
    }

    /// How often a hook may be tried in two seconds.
    fn attempts(self) -> RangeInclusive<usize> {
        match self {
            Permanent | Config => 1..=1,
            // Its own pause or the policy's, whichever is longer.
            Throttled => 1..=6,
            Transient => 3..=8,
        }
    }
}

struct Row {
    name: &'static str,
    answer: Action,
    expected: Expected,
    /// How many hooks, in one batch.
    hooks: usize,
    maybe_stored: bool,
}

fn google(http: u16, status: &'static str) -> Action {
    Action::refuse(&Status::new(http, status, "words"))
}

fn html(status: u16) -> Action {
    let headers = [("content-type", "text/html")];
    Action::answer(status, &headers, "<html><title>Error</title></html>")
}

fn json(body: &'static str) -> Action {
    Action::answer(200, &[("content-type", "application/json")], body)
}

fn rows() -> Vec<Row> {
    let rate = Status::new(403, "PERMISSION_DENIED", "words")
        .with_reason("RATE_LIMIT_EXCEEDED", "googleapis.com");
    let elsewhere = Action::answer(302, &[("location", "http://127.0.0.1:9/elsewhere")], "");
    let row = |name, answer, expected, hooks, maybe_stored| Row {
        name,
        answer,
        expected,
        hooks,
        maybe_stored,
    };
    let one = |name, answer, expected| row(name, answer, expected, 1, false);
    let maybe = |name, answer, expected, hooks| row(name, answer, expected, hooks, true);
    vec![
        one("400", google(400, "INVALID_ARGUMENT"), Permanent),
        one("400-empty", Action::answer(400, &[], ""), Transient),
        one("400-html", html(400), Transient),
        one("401", google(401, "UNAUTHENTICATED"), Config),
        one("403", google(403, "PERMISSION_DENIED"), Config),
        one("403-rate", Action::refuse(&rate), Throttled),
        one("404", google(404, "NOT_FOUND"), Config),
        row("404-three", google(404, "NOT_FOUND"), Config, 3, false),
        maybe("408", Action::status(408, ""), Transient, 1),
        maybe("409", google(409, "ABORTED"), Transient, 1),
        maybe("499", google(499, "CANCELLED"), Transient, 1),
        one("429", Action::status(429, "slow down"), Throttled),
        maybe("500", google(500, "INTERNAL"), Transient, 1),
        maybe("502", html(502), Transient, 1),
        maybe("503", Action::status(503, "busy"), Throttled, 1),
        maybe("504", Action::answer(504, &[], ""), Transient, 1),
        maybe("529", Action::status(529, "overloaded"), Transient, 1),
        maybe("200-html", html(200), Transient, 1),
        maybe("200-empty", json("{}"), Transient, 3),
        maybe("200-two", json(r#"{"messageIds":["1","2"]}"#), Transient, 3),
        maybe(
            "200-four",
            json(r#"{"messageIds":["1","2","3","4"]}"#),
            Transient,
            3,
        ),
        one("302", elsewhere, Transient),
    ]
}

impl Row {
    fn topic_id(&self, env: &Env) -> String {
        format!("{}-{}", env.topic_id(), self.name)
    }

    fn topic(&self, env: &Env) -> String {
        format!("projects/{PROJECT}/topics/{}", self.topic_id(env))
    }
}

/// The answer of two ids would be right for the two of a batch that come back together.
fn pairs(env: &Env, rows: &[Row]) -> Option<Rule> {
    let row = rows.iter().find(|row| row.name == "200-two")?;
    let two = Match::topic(&row.topic(env)).messages(|messages| messages.len() == 2);
    Some(Rule::on(two).then(json(r#"{"messageIds":["1"]}"#)))
}

/// A sink for each row, each with its topic and its answer.
async fn start(env: &Env, rows: &[Row]) -> Dispatching {
    let mut publishers = Vec::new();
    for row in rows {
        env.create_topic(&row.topic_id(env), false).await;
        let options = env.options_for(&row.topic_id(env));
        let options = options.batch_max_entries(row.hooks);
        publishers.push((row.name.to_owned(), env.publisher(options)));
    }
    let answers = rows.iter().map(|row| {
        let publishes = Match::topic(&row.topic(env));
        Rule::on(publishes).then(row.answer.clone())
    });
    env.server()
        .script(pairs(env, rows).into_iter().chain(answers));
    env.server().clear_log();
    env.dispatching_to(Watched::disk(), publishers, quick())
}

/// How many publish requests each topic got.
fn requests(env: &Env) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in env.server().log().requests() {
        *counts.entry(request.path.clone()).or_default() += 1;
    }
    counts
}

/// Every failed attempt at a sink: the hook, and why.
fn failures(dispatching: &Dispatching, sink: &str) -> Vec<(String, Failure)> {
    let events = dispatching.heard.events().into_iter();
    let failures = events.filter_map(|event| match event {
        Event::Retry { row, failure, .. } if &*row.lane.sink == sink => {
            Some((row.envelope.id.clone(), failure))
        }
        Event::Settled(settled) if &*settled.row.lane.sink == sink => {
            let id = settled.row.envelope.id.clone();
            settled.outcome.err().map(|(failure, _)| (id, failure))
        }
        _ => None,
    });
    failures.collect()
}

async fn table(env: Env) {
    let rows = rows();
    let dispatching = start(&env, &rows).await;
    let total: usize = rows.iter().map(|row| row.hooks).sum();
    for row in &rows {
        let hooks = hooks(row.name, row.hooks).into_iter();
        let accepted = hooks.map(|hook| dispatching.dispatch.enqueue_to(hook, [row.name]));
        for accepted in futures_util::future::join_all(accepted).await {
            assert!(accepted.is_ok(), "{accepted:?}");
        }
    }
    env.sleep(2_000).await;
    let requests = requests(&env);
    let publishes = rows
        .iter()
        .map(|row| format!("/v1/{}:publish", row.topic(&env)));
    let publishes: Vec<_> = publishes.map(|path| requests.get(&path).copied()).collect();
    // Nothing but these: no redirect was followed, and nothing else is asked for.
    let asked: usize = publishes.iter().flatten().sum();
    assert_eq!(asked, requests.values().sum::<usize>(), "{requests:?}");
    for (row, publishes) in rows.iter().zip(publishes) {
        let publishes = publishes.unwrap_or_default();
        let (least, most) = row.expected.attempts().into_inner();
        // Once failed, the hooks of a batch come back each in its own time.
        let bounds = least..=most * row.hooks;
        assert!(bounds.contains(&publishes), "{}: {publishes}", row.name);
        assert!(env.hooks_in(&row.topic(&env)).is_empty(), "{}", row.name);
        let failures = failures(&dispatching, row.name);
        assert!(!failures.is_empty(), "{}", row.name);
        for (id, failure) in &failures {
            let (class, maybe) = (Expected::of(failure), failure.may_have_been_stored);
            assert_eq!(
                (class, maybe),
                (row.expected, row.maybe_stored),
                "{id}: {failure}"
            );
        }
        for hook in hooks(row.name, row.hooks) {
            let attempts = failures.iter().filter(|(id, _)| *id == hook.id).count();
            assert!(attempts <= most, "{}: {attempts} attempts", hook.id);
        }
    }
    let delivered = |event: &Event| matches!(event, Event::Settled(one) if one.outcome.is_ok());
    assert_eq!(dispatching.heard.count(delivered), 0, "no id is invented");

    // Repaired.
    env.server().script([]);
    let settled = dispatching.settled(&env, total).await;
    for one in settled.iter().filter(|one| one.outcome.is_err()) {
        let class = Expected::of(died(one));
        assert!(matches!(class, Permanent | Config), "{one:?}");
    }
    let config = Filter {
        config: Some(true),
        ..Filter::default()
    };
    let job = dispatching.replay(&env, "repaired", config).await;
    assert_eq!((job.progress.sent, job.progress.delivered), (6, 6));
    for row in &rows {
        let mut stored = env.hooks_in(&row.topic(&env));
        stored.sort();
        let expected = match row.expected {
            Permanent => 0,
            _ => row.hooks,
        };
        let expected: Vec<_> = hooks(row.name, expected)
            .into_iter()
            .map(|one| one.id)
            .collect();
        assert_eq!(stored, expected, "{}", row.name);
    }
    let letters = dispatching.journal.letters().await;
    let letters: Vec<_> = letters.iter().map(|one| &*one.envelope.id).collect();
    assert_eq!(letters, ["400-0"]);
    assert_eq!(dispatching.journal.lanes_left().await, 0);
}

async fn too_large(env: Env) {
    let several = Match::publish().messages(|messages| messages.len() > 1);
    env.server().script([Rule::on(several).then(html(413))]);
    // One batch: it leaves when it is full.
    let publisher = env.publisher(env.patient_options().batch_max_entries(3));
    let dispatching = env.dispatching(Watched::memory(), publisher, quick());
    dispatching.accept(hooks("m", 3)).await;
    for settled in dispatching.delivered(&env, 3).await {
        assert_eq!(settled.attempts, 1);
    }
    let mut stored = env.stored_hooks();
    stored.sort();
    assert_eq!(
        (stored, env.publishes()),
        (vec!["m-0".into(), "m-1".into(), "m-2".into()], 5)
    );
}
