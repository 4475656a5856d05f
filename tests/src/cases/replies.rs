//! R27: every reply has its class, by its status and never by how its body reads.

use std::time::Duration;

use pubsink_core::failure::{Class, Failure};
use pubsink_core::options::Wire;
use pubsink_core::publish::Message;
use pubsink_core::reason::Reason;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::{all_delivered, failed, is_throttled, numbered, publish_all, publish_together};
use crate::harness::case::{BOTH, cases};
use crate::harness::env::Env;
use crate::harness::retrying::policy;

cases! {
    Faults, "R27 every refusal has its class, costs one request, and passes after the repair without a restart" => classes, .publishes(BOTH);
    Faults, "R27 a 413 halves a batch until it fits" => too_large;
    Faults, "R27 a 200 without one id a message invents no id and says it may be stored" => odd_successes;
    Faults, "R27 a redirect is not followed" => redirect;
    Faults, "R27 a transient answer is tried again with pauses and stored in the end" => passes_in_time, .publishes(BOTH);
    Faults, "R27 publish right alone is enough to run" => publish_right, .publishes(BOTH);
    Faults, "a pause the service names is kept, for each message its own draw" => named_pause, .publishes(BOTH);
    Faults, "a long or cut-off error body costs no class" => odd_bodies;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Permanent,
    Config,
    Throttled,
    Transient,
}

fn class_of(failure: &Failure) -> Expected {
    match failure.class {
        Class::Permanent => Expected::Permanent,
        Class::Config => Expected::Config,
        Class::RetryAfter(pause) => {
            assert!(pause > Duration::ZERO);
            Expected::Throttled
        }
        Class::Transient => Expected::Transient,
    }
}

fn html(status: u16) -> Action {
    Action::answer(
        status,
        &[("content-type", "text/html")],
        "<html><title>Error</title></html>",
    )
}

fn google(http: u16, status: &'static str) -> Action {
    Action::refuse(&Status::new(http, status, "words"))
}

/// The answer, its class, the reason's kind, and whether the message may have been stored.
fn table(wire: Wire) -> Vec<(Action, Expected, &'static str, bool)> {
    use Expected::{Config, Permanent, Throttled, Transient};
    let rate = Status::new(403, "PERMISSION_DENIED", "words")
        .with_reason("RATE_LIMIT_EXCEEDED", "googleapis.com");
    let legacy = r#"{"error":{"code":403,"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}]}}"#;
    let wrapped = r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#;
    vec![
        (google(400, "INVALID_ARGUMENT"), Permanent, "pubsub", false),
        (Action::answer(400, &[], ""), Transient, "status", false),
        (html(400), Transient, "status", false),
        (
            google(400, "FAILED_PRECONDITION"),
            Transient,
            "pubsub",
            false,
        ),
        (google(401, "UNAUTHENTICATED"), Config, "pubsub", false),
        (google(403, "PERMISSION_DENIED"), Config, "pubsub", false),
        (Action::refuse(&rate), Throttled, "pubsub", false),
        (Action::answer(403, &[], legacy), Throttled, "pubsub", false),
        (google(404, "NOT_FOUND"), Config, "pubsub", false),
        (html(404), Transient, "status", false),
        (Action::status(408, ""), Transient, "status", true),
        (google(409, "ABORTED"), Transient, "pubsub", true),
        (google(499, "CANCELLED"), Transient, "pubsub", true),
        (html(413), Transient, "status", false),
        (Action::status(429, "slow down"), Throttled, "status", false),
        (
            google(429, "RESOURCE_EXHAUSTED"),
            Throttled,
            "pubsub",
            false,
        ),
        (
            Action::answer(429, &[], wrapped),
            Throttled,
            "pubsub",
            false,
        ),
        (google(500, "INTERNAL"), Transient, "pubsub", true),
        (html(502), Transient, "status", true),
        (Action::status(503, "busy"), Throttled, "status", true),
        (google(503, "UNAVAILABLE"), Throttled, "pubsub", true),
        (Action::answer(504, &[], ""), Transient, "status", true),
        (Action::status(529, "overloaded"), Transient, "status", true),
        // Over gRPC that is no code, and so it is UNKNOWN, as HTTP a 500.
        (
            google(418, "SOMETHING_NEW"),
            Transient,
            "pubsub",
            wire == Wire::Grpc,
        ),
    ]
}

async fn classes(env: Env) {
    let publisher = env.publisher(env.options());
    for (action, expected, kind, maybe) in table(env.wire()) {
        let what = format!("{action:?}");
        env.server().clear_log();
        env.server()
            .script([Rule::on(Match::publish()).then(action)]);
        let outcomes = publish_all(&publisher, [Message::new("m")]).await;
        let failure = failed(&outcomes[0]);
        assert_eq!(
            (class_of(failure), failure.reason.kind()),
            (expected, kind),
            "{what}"
        );
        assert_eq!(failure.may_have_been_stored, maybe, "{what}");
        assert_eq!(env.publishes(), 1, "{what}");
        // Repaired.
        env.server().script([]);
        all_delivered(&publish_all(&publisher, [Message::new("m")]).await);
    }
    assert_eq!(env.stored().len(), table(env.wire()).len());
}

async fn too_large(env: Env) {
    let several = Match::publish().messages(|messages| messages.len() > 1);
    env.server().script([Rule::on(several).then(html(413))]);
    let publisher = env.publisher(env.patient_options());
    all_delivered(&publish_together(&publisher, numbered("m", 3)).await);
    assert_eq!(env.stored_text(), ["m-0", "m-1", "m-2"]);
    assert_eq!(env.publishes(), 5);
}

async fn odd_successes(env: Env) {
    let json = |body: &str| {
        Action::answer(
            200,
            &[("content-type", "application/json")],
            body.to_owned(),
        )
    };
    let answers = [
        html(200),
        json(""),
        json("{}"),
        json("null"),
        json("[]"),
        json(r#"{"messageIds":[]}"#),
        json(r#"{"messageIds":["1","2"]}"#),
        json(r#"{"messageIds":["1","2","3","4"]}"#),
        json(r#"{"messageIds":[1,2,3]}"#),
        json(r#"{"messageIds":["1","2",null]}"#),
        json(r#"{"messageIds":["1","2","3"]"#),
        json(r#"{"messageIds":"123"}"#),
        Action::answer(204, &[], ""),
        Action::answer(206, &[], r#"{"messageIds":["1","2","3"]}"#),
    ];
    let publisher = env.publisher(env.patient_options());
    for action in answers {
        let what = format!("{action:?}");
        env.server().clear_log();
        env.server()
            .script([Rule::on(Match::publish()).then(action)]);
        for outcome in publish_together(&publisher, numbered("m", 3)).await {
            let failure = failed(&outcome);
            assert_eq!(failure.class, Class::Transient, "{what}");
            assert!(failure.may_have_been_stored, "{what}");
            // Read as what it is, not waited for until it times out.
            let kind = failure.reason.kind();
            assert!(
                matches!(kind, "unexpected_reply" | "status"),
                "{what}: {failure}"
            );
        }
        assert_eq!(env.publishes(), 1, "{what}");
    }
}

async fn redirect(env: Env) {
    let to = format!("{}/elsewhere", env.endpoint());
    for status in [301, 302, 303, 307, 308] {
        env.server().clear_log();
        let action = Action::answer(status, &[("location", &to)], "");
        env.server()
            .script([Rule::on(Match::publish()).then(action)]);
        let publisher = env.publisher(env.options());
        let outcomes = publish_all(&publisher, [Message::new("m")]).await;
        let failure = failed(&outcomes[0]);
        assert_eq!(failure.class, Class::Transient);
        assert!(matches!(*failure.reason, Reason::Status { http, .. } if http == status));
        assert_eq!(env.server().log().total(), 1);
    }
}

async fn passes_in_time(env: Env) {
    let publisher = env.publisher(env.options());
    for action in [
        google(500, "INTERNAL"),
        html(502),
        html(200),
        Action::status(503, "busy"),
        Action::reset(),
    ] {
        env.server().clear_log();
        env.server()
            .script([Rule::on(Match::publish()).times(4).then(action)]);
        let tried = env
            .try_publish(&publisher, Message::new("m"), policy())
            .await;
        assert!(tried.outcome.is_ok(), "{tried:?}");
        assert_eq!(tried.attempts, 5);
        assert!(tried.may_have_been_stored);
        assert_eq!(env.publishes(), 5);
    }
}

async fn publish_right(env: Env) {
    let get = Match::any().method("GET");
    env.server()
        .script([Rule::on(get).then(google(403, "PERMISSION_DENIED"))]);
    env.server().clear_log();
    let publisher = env.publisher(env.options());
    all_delivered(&publish_all(&publisher, numbered("m", 3)).await);
    // It asks for nothing but publish.
    assert_eq!(env.server().log().total(), 1);
}

async fn named_pause(env: Env) {
    let retry_info = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.250s"}]}}"#;
    let rules = [
        Action::answer(503, &[("retry-after", "7")], "busy"),
        Action::answer(429, &[], retry_info),
        Action::answer(503, &[("retry-after", "999999999")], "busy"),
        Action::answer(503, &[("retry-after", "-1")], "busy"),
    ];
    env.server()
        .script(rules.map(|action| Rule::on(Match::publish()).times(1).then(action)));
    let publisher = env.publisher(env.options());
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let outcomes = publish_all(&publisher, numbered("m", 50)).await;
        assert!(outcomes.iter().all(|outcome| is_throttled(failed(outcome))));
        let pause = |outcome: &pubsink_core::failure::Outcome| match failed(outcome).class {
            Class::RetryAfter(pause) => pause,
            _ => unreachable!(),
        };
        pauses.push(outcomes.iter().map(pause).collect::<Vec<_>>());
    }
    let ms = Duration::from_millis;
    assert_eq!(pauses[0], [ms(7_000); 50]);
    assert_eq!(pauses[1], [ms(7_250); 50]);
    assert_eq!(pauses[2], [ms(3_600_000); 50]);
    // Without a usable hint: a draw of its own for each, from the first window.
    assert!(
        pauses[3]
            .iter()
            .all(|pause| (ms(1)..=ms(500)).contains(pause))
    );
    pauses[3].sort();
    pauses[3].dedup();
    assert!(pauses[3].len() > 10, "{:?}", pauses[3]);
}

async fn odd_bodies(env: Env) {
    let publisher = env.publisher(env.options());
    let long = "x".repeat(100_000);
    let long_json = Status::not_found(long.clone());
    let cut = |status| Action::cut_short(status, &[], "half a bo", 1_000);
    let table = [
        (Action::status(503, long), Expected::Throttled),
        (Action::refuse(&long_json), Expected::Config),
        (Action::status(500, vec![0xFF; 20_000]), Expected::Transient),
        (cut(503), Expected::Throttled),
        (cut(500), Expected::Transient),
        (cut(200), Expected::Transient),
    ];
    for (action, expected) in table {
        env.server()
            .script([Rule::on(Match::publish()).then(action.clone())]);
        let outcomes = publish_all(&publisher, [Message::new("m")]).await;
        let failure = failed(&outcomes[0]);
        assert_eq!(class_of(failure), expected, "{failure}");
        assert!(format!("{failure}").len() < 30_000, "the body is cut");
    }
}
