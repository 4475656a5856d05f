//! R29 through dispatch: a token that Pub/Sub refuses.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pubsink_core::failure::Class;
use pubsink_core::journal::{Filter, ReplayState};
use pubsink_core::token::Token;
use pubsink_fixtures::broker::Status;
use pubsink_fixtures::faults::{Action, Match, Rule};

use super::super::token_refused::{t1_then_t2, token_answer};
use super::super::token_service::Endpoint;
use super::died;
use crate::harness::case::cases;
use crate::harness::dispatching::{hook, hooks, quick};
use crate::harness::env::Env;
use crate::harness::journals::Watched;
use crate::harness::logs::{SECRET, seen_in_logs};

cases! {
    Faults, "dispatch R29.1 a token that ends is replaced without a failed attempt, at two token requests" => ends, .limit(60);
    Faults, "dispatch R29.2 eight batches in flight when the token ends are all stored, at two token requests" => ends_under_batches, .limit(60);
    Faults, "dispatch R29.3 every token refused: two requests a batch, no halving, and a replay after the repair stores every dead letter" => all_refused, .limit(60);
    Faults, "dispatch R29 a token is never shown by a dead letter, an event or a log, whatever repeats it" => never_shown, .limit(60);
}

async fn ends(env: Env) {
    let ended = t1_then_t2(&env);
    let tokens = Endpoint::tokens(&env, &env.endpoint());
    let publisher = env.start(env.spec(env.options()).tokens(tokens));
    let dispatching = env.dispatching(Watched::memory(), publisher, quick());
    for (number, hook) in hooks("m", 50).into_iter().enumerate() {
        if number == 20 {
            ended.store(true, Ordering::Relaxed);
        }
        dispatching.accept([hook]).await;
        env.sleep(100).await;
    }
    for settled in dispatching.delivered(&env, 50).await {
        assert_eq!(
            settled.attempts, 1,
            "the sink's own second try is no attempt"
        );
    }
    let mut stored = env.stored_hooks();
    stored.sort();
    stored.dedup();
    assert_eq!((stored.len(), env.stored().len()), (50, 50));
    assert!(dispatching.heard.retried().is_empty());
    assert_eq!(env.server().log().tokens().len(), 2);
}

async fn ends_under_batches(env: Env) {
    let ended = t1_then_t2(&env);
    let tokens = Endpoint::tokens(&env, &env.endpoint());
    let options = env.options().batch_max_entries(10);
    let publisher = env.start(env.spec(options).tokens(tokens));
    let dispatching = env.dispatching(Watched::memory(), publisher, quick());
    dispatching.accept(hooks("warm", 1)).await;
    dispatching.delivered(&env, 1).await;
    // A token is not asked for again within a second.
    env.sleep(1_200).await;
    ended.store(true, Ordering::Relaxed);
    env.server().add_rule(
        Rule::on(Match::publish()).then(Action::proceed().delay(Duration::from_millis(100))),
    );
    dispatching.accept(hooks("m", 80)).await;
    dispatching.delivered(&env, 81).await;
    assert!(env.server().gauges().max_publishes_in_flight > 1);
    assert_eq!(env.stored().len(), 81);
    assert!(dispatching.heard.retried().is_empty());
    assert_eq!(env.server().log().tokens().len(), 2);
}

async fn all_refused(env: Env) {
    // A fresh token each time, and none that is taken.
    for number in 0..20 {
        let fresh = token_answer(&format!("F{number}"));
        let once = Rule::on(Match::token()).times(1);
        env.server().add_rule(once.then(fresh));
    }
    env.server().require_token_with(|_| false);
    let tokens = Endpoint::tokens(&env, &env.endpoint());
    // Each round is one batch: it leaves when it is full.
    let options = env.patient_options().batch_max_entries(100);
    let publisher = env.start(env.spec(options).tokens(tokens));
    let mut options = quick();
    options.attempt_timeout = Duration::from_secs(120);
    let dispatching = env.dispatching(Watched::disk(), publisher, options);
    for round in 0..4 {
        dispatching.accept(hooks(&format!("r{round}"), 100)).await;
        for settled in dispatching.settled(&env, 100 * (round + 1)).await {
            let failure = died(&settled);
            assert_eq!(
                (failure.class, failure.reason.kind(), settled.attempts),
                (Class::Config, "pubsub", 1)
            );
            assert!(!failure.may_have_been_stored);
        }
        env.sleep(1_200).await;
    }
    let log = env.server().log();
    let publishes = log.publishes();
    assert!(
        publishes.len() <= 10,
        "{} publish requests",
        publishes.len()
    );
    assert!(
        publishes.iter().all(|request| request.message_count == 100),
        "nothing is halved"
    );
    let asked = log.tokens().len();
    assert!(asked <= 10, "{asked} token requests");
    let letters = dispatching.journal.letters().await;
    assert_eq!(letters.len(), 400);
    assert!(letters.iter().all(|letter| letter.cause.config));

    env.server().require_token_with(|token| token.is_some());
    let config = Filter {
        config: Some(true),
        ..Filter::default()
    };
    let job = dispatching.replay(&env, "after-the-repair", config).await;
    let progress = (job.progress.sent, job.progress.delivered, job.progress.died);
    assert_eq!((job.state, progress), (ReplayState::Done, (400, 400, 0)));
    let mut stored = env.stored_hooks();
    stored.sort();
    stored.dedup();
    assert_eq!((stored.len(), env.stored().len()), (400, 400));
    for stored in env.stored() {
        let replay = &stored.message.attributes["ankusa_replay_id"];
        assert_eq!(replay, "after-the-repair");
    }
    assert!(dispatching.journal.letters().await.is_empty());
}

async fn never_shown(env: Env) {
    let secret = format!("ya29.{SECRET}");
    let tokens = Token::new(&secret).unwrap();
    let publisher = env.start(env.spec(env.options()).tokens(tokens));
    let dispatching = env.dispatching(Watched::disk(), publisher, quick());
    let answers = [
        Action::refuse(&Status::invalid_argument(format!("what is {secret}?"))),
        Action::refuse(&Status::new(403, "PERMISSION_DENIED", secret.clone())),
        Action::refuse(&Status::unauthenticated(format!("not {secret}"))),
    ];
    let count = answers.len();
    for (number, answer) in answers.into_iter().enumerate() {
        // First a failure that is tried again, then one that is not.
        let later = Action::answer(500, &[], format!("<html>{secret}</html>"));
        env.server().script([
            Rule::on(Match::publish()).times(1).then(later),
            Rule::on(Match::publish()).then(answer),
        ]);
        dispatching.accept([hook(format!("m-{number}"))]).await;
        dispatching.settled(&env, number + 1).await;
    }
    let letters = dispatching.journal.letters().await;
    assert_eq!(
        (letters.len(), dispatching.heard.retried().len()),
        (count, count)
    );
    for letter in &letters {
        assert!(letter.cause.message.contains("***"), "{:?}", letter.cause);
    }
    let shown = format!(
        "{letters:?} {:?} {:?}",
        dispatching.heard.events(),
        dispatching.dispatch
    );
    assert!(!shown.contains(SECRET), "{shown}");
    let (leaks, _) = seen_in_logs("");
    assert!(leaks.is_empty(), "{leaks:?}");
}
