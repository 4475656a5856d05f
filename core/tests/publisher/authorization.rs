//! Tokens: asked for once a request, and once more when one is refused.

use std::cell::Cell;
use std::rc::Rc;

use pubsink_core::failure::Class;

use crate::sim::answers::{Answer, TokenAnswer};
use crate::sim::look::{Authorized as _, Tagged as _};
use crate::sim::messages::{keyed, message};
use crate::sim::{Recorded, Sim, defaults, ms, options};

/// Gives `old`, and `fresh` once a token was refused.
fn refreshing(
    fresh: &'static str,
) -> impl FnMut(Option<&pubsink_core::token::Token>) -> TokenAnswer {
    move |refused| TokenAnswer::give(if refused.is_some() { fresh } else { "old" })
}

/// Takes only the token `good`.
fn wanting(good: &'static str) -> impl FnMut(&Recorded) -> Answer {
    move |request| {
        if request.authorization() == Some(&format!("Bearer {good}")) {
            return Answer::stored();
        }
        Answer::error(401, "UNAUTHENTICATED")
    }
}

#[test]
fn without_a_provider_no_header_is_sent() {
    let mut sim = Sim::new(&defaults(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.requests()[0].authorization(), None);
    assert!(sim.asked().is_empty());
}

#[test]
fn the_provider_is_asked_once_for_each_request_bisected_ones_too() {
    let server = |request: &Recorded| match request.messages.len() {
        1 => Answer::stored(),
        _ => Answer::refused(),
    };
    let mut sim = Sim::authorized(&defaults(), |_| TokenAnswer::give("t"), server);
    sim.admit_all(0..4);
    sim.run();
    assert_eq!(sim.requests().len(), 7);
    assert_eq!(sim.asked().len(), 7);
    assert!(sim.asked().iter().all(|(_, refused)| !refused));
    let all = sim
        .requests()
        .iter()
        .all(|request| request.authorization() == Some("Bearer t"));
    assert!(all);
    assert_eq!(sim.deliveries(), 4);
}

#[test]
fn a_fresh_token_saves_the_request_and_nobody_hears_of_it() {
    let mut sim = Sim::authorized(&defaults(), refreshing("new"), wanting("new"));
    sim.admit_all(0..100);
    sim.run();
    assert_eq!(sim.sent_counts(), [100, 100]);
    assert_eq!(sim.requests()[0].body(), sim.requests()[1].body());
    assert_eq!(sim.requests()[0].id, sim.requests()[1].id);
    assert_eq!(sim.asked(), [(ms(20), false), (ms(70), true)]);
    assert_eq!(sim.deliveries(), 100);
    sim.assert_quiescent();
}

#[test]
fn a_fresh_token_that_is_refused_too_is_a_config_failure_after_two_requests() {
    let mut sim = Sim::authorized(&defaults(), refreshing("new"), wanting("another"));
    sim.admit_all(0..100);
    sim.run();
    assert_eq!((sim.requests().len(), sim.asked().len()), (2, 2));
    for tag in 0..100 {
        assert_eq!(sim.why(tag), (Class::Config, "pubsub"));
    }
    sim.assert_quiescent();
}

#[test]
fn the_same_token_again_is_a_config_failure_after_one_request() {
    let mut sim = Sim::authorized(&defaults(), refreshing("old"), wanting("another"));
    sim.admit_all(0..100);
    sim.run();
    assert_eq!((sim.requests().len(), sim.asked().len()), (1, 2));
    for tag in 0..100 {
        assert_eq!(sim.why(tag), (Class::Config, "pubsub"));
    }
    sim.assert_quiescent();
}

#[test]
fn a_request_that_was_saved_can_still_be_bisected() {
    let mut good = wanting("new");
    let server = move |request: &Recorded| match good(request) {
        answer if !answer.stores() => answer,
        _ if request.messages.iter().any(|message| message.tag() == 2) => Answer::refused(),
        answer => answer,
    };
    let mut sim = Sim::authorized(&defaults(), refreshing("new"), server);
    sim.admit_all(0..4);
    sim.run();
    let mut stored = sim.stored_tags();
    stored.sort_unstable();
    assert_eq!(stored, [0, 1, 3]);
    assert_eq!(sim.why(2), (Class::Permanent, "pubsub"));
    // Four, two and one twice each, on either side.
    assert_eq!(sim.requests().len(), 10);
    sim.assert_quiescent();
}

#[test]
fn a_provider_that_says_no_costs_no_request() {
    let mut sim = Sim::authorized(
        &defaults(),
        |_| TokenAnswer::refuse("metadata is down"),
        |_| Answer::stored(),
    );
    sim.admit_all(0..3);
    sim.run();
    assert!(sim.requests().is_empty());
    assert_eq!(sim.asked().len(), 1);
    for tag in 0..3 {
        assert_eq!(sim.why(tag), (Class::Transient, "no_credentials"));
        assert!(!sim.failure(tag).may_have_been_stored);
        assert_eq!(
            sim.failure(tag).reason.to_string(),
            "no credentials: metadata is down"
        );
    }
    sim.assert_quiescent();
}

#[test]
fn a_provider_that_has_no_fresh_token_leaves_it_without_credentials() {
    let tokens = |refused: Option<&_>| match refused {
        None => TokenAnswer::give("old"),
        Some(_) => TokenAnswer::refuse("metadata is down"),
    };
    let mut sim = Sim::authorized(&defaults(), tokens, wanting("new"));
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.requests().len(), 1);
    assert_eq!(sim.why(1), (Class::Transient, "no_credentials"));
    assert!(!sim.failure(1).may_have_been_stored);
}

#[test]
fn a_provider_has_30_seconds() {
    let slow = |after| move |_: Option<&_>| TokenAnswer::give("t").after(after);
    let mut sim = Sim::authorized(&defaults(), slow(ms(29_999)), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.sent_at(), [30_019]);
    assert_eq!(sim.deliveries(), 1);

    let mut sim = Sim::authorized(&defaults(), slow(ms(30_001)), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run();
    assert!(sim.requests().is_empty());
    assert_eq!(sim.settled_of(1).at, ms(30_020));
    assert_eq!(sim.why(1), (Class::Transient, "no_credentials"));
    assert_eq!(sim.cancelled().len(), 1);
    sim.assert_quiescent();
}

#[test]
fn a_fresh_token_has_30_seconds_of_its_own() {
    let tokens = |refused: Option<&_>| match refused {
        None => TokenAnswer::give("old").after(ms(29_000)),
        Some(_) => TokenAnswer::never(),
    };
    let mut sim = Sim::authorized(&defaults(), tokens, wanting("new"));
    sim.admit(1, message(1));
    sim.run();
    assert_eq!(sim.settled_of(1).at, ms(20 + 29_000 + 50 + 30_000));
    assert_eq!(sim.why(1), (Class::Transient, "no_credentials"));
    sim.assert_quiescent();
}

#[test]
fn a_lost_provider_is_no_credentials() {
    let mut sim = Sim::authorized(&defaults(), |_| TokenAnswer::lost(), |_| Answer::stored());
    sim.admit(1, message(1));
    sim.run();
    assert!(sim.requests().is_empty());
    assert_eq!(sim.why(1), (Class::Transient, "no_credentials"));
    sim.assert_quiescent();
}

#[test]
fn waiting_for_a_token_counts_as_in_flight_but_not_against_the_request_timeout() {
    let options = options(|b| {
        b.batch_max_entries(1)
            .batch_max_inflight(1)
            .timeout(ms(100))
    });
    let tokens = |_: Option<&_>| TokenAnswer::give("t").after(ms(1_000));
    let mut sim = Sim::authorized(&options, tokens, |_| Answer::stored().after(ms(150)));
    sim.admit_all(0..2);
    sim.run();
    assert_eq!(sim.asked(), [(ms(0), false), (ms(1_150), false)]);
    assert_eq!(sim.sent_at(), [1_000, 2_150]);
    assert_eq!(sim.deliveries(), 2);
}

#[test]
fn a_key_waits_while_its_request_waits_for_a_fresh_token() {
    let mut sim = Sim::authorized(
        &options(|b| b.batch_max_entries(1)),
        refreshing("new"),
        wanting("new"),
    );
    for tag in 0..3 {
        sim.admit(tag, keyed(tag, "k"));
    }
    sim.run();
    assert_eq!(sim.sent(), [[0], [0], [1], [1], [2], [2]]);
    assert_eq!(sim.stored_tags(), [0, 1, 2]);
}

#[test]
fn eight_batches_refused_at_once_ask_for_eight_fresh_tokens_and_no_more() {
    let count = Rc::new(Cell::new(0));
    let seen = Rc::clone(&count);
    let tokens = move |refused: Option<&_>| {
        seen.set(seen.get() + 1);
        TokenAnswer::give(if refused.is_some() { "new" } else { "old" })
    };
    let mut sim = Sim::authorized(
        &options(|b| b.batch_max_entries(10)),
        tokens,
        wanting("new"),
    );
    sim.admit_all(0..80);
    sim.run();
    assert_eq!(count.get(), 16);
    assert_eq!(sim.requests().len(), 16);
    assert_eq!(sim.deliveries(), 80);
}
