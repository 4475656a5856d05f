//! Values by chance keep what their types promise.

use std::fmt::Debug;

use arbitrary::{Arbitrary, Unstructured};
use pubsink_core::attributes::Attributes;
use pubsink_core::claim::ClaimRef;
use pubsink_core::delivery::{DeliveryContext, ForwardHeaders};
use pubsink_core::envelope::Envelope;
use pubsink_core::publish::Message;
use pubsink_core::testing::{Answer, TokenAnswer};
use pubsink_core::wire::{Reply, Verdict, read_reply};

/// Many values, each of bytes of its own.
fn many<T: for<'a> Arbitrary<'a> + Debug>() -> Vec<T> {
    let mut rng = fastrand::Rng::with_seed(5);
    let values = std::iter::from_fn(|| {
        let bytes: Vec<u8> = (0..600).map(|_| rng.u8(..)).collect();
        Some(T::arbitrary_take_rest(Unstructured::new(&bytes)).unwrap())
    });
    values.take(2_000).collect()
}

/// How many of them are so. Neither none nor all: both sides are met.
fn some<T>(values: &[T], is: impl Fn(&T) -> bool) {
    let count = values.iter().filter(|value| is(value)).count();
    assert!((20..values.len() - 20).contains(&count), "{count}");
}

#[test]
fn claim_refs_are_valid_signed_or_not() {
    let claims: Vec<ClaimRef> = many();
    for claim in &claims {
        assert_eq!(ClaimRef::parse(claim.as_str()).as_ref(), Ok(claim));
    }
    some(&claims, ClaimRef::is_signed);
    some(&claims, |claim| claim.tenant().len() > 32);
}

#[test]
fn attributes_are_sorted_each_name_once() {
    for attributes in many::<Attributes>() {
        let names: Vec<_> = attributes.iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn replies_have_every_kind_of_verdict() {
    let replies: Vec<Reply> = many();
    let verdicts: Vec<_> = replies.iter().map(|reply| read_reply(reply, 3)).collect();
    some(&verdicts, |verdict| {
        matches!(verdict, Verdict::Delivered(_))
    });
    some(&verdicts, |verdict| matches!(verdict, Verdict::Refused(_)));
    some(&verdicts, |verdict| matches!(verdict, Verdict::TooLarge(_)));
    some(&verdicts, |verdict| {
        matches!(verdict, Verdict::Unauthenticated(_))
    });
    some(&verdicts, |verdict| matches!(verdict, Verdict::Config(_)));
    some(&verdicts, |verdict| {
        matches!(verdict, Verdict::Throttled { .. })
    });
    some(&verdicts, |verdict| {
        matches!(verdict, Verdict::Transient { .. })
    });
}

#[test]
fn hooks_and_messages_have_every_part() {
    let envelopes: Vec<Envelope> = many();
    some(&envelopes, |envelope| envelope.headers.is_empty());
    some(&envelopes, |envelope| envelope.tenant_id.is_some());
    some(&envelopes, |envelope| envelope.body.is_empty());
    let contexts: Vec<DeliveryContext> = many();
    assert!(contexts.iter().all(|context| context.attempt >= 1));
    some(&contexts, |context| context.claim.is_some());
    some(&contexts, |context| {
        context.forward_headers == ForwardHeaders::Default
    });
    let messages: Vec<Message> = many();
    some(&messages, |message| message.attributes.is_empty());
    some(&messages, |message| message.ordering_key.is_empty());
}

#[test]
fn servers_and_providers_do_all_they_can() {
    let answers: Vec<Answer> = many();
    some(&answers, Answer::stores);
    for kind in [
        Answer::stored(),
        Answer::never(),
        Answer::lost(),
        Answer::refused(),
    ] {
        some(&answers, |answer| *answer == kind);
    }
    let tokens: Vec<TokenAnswer> = many();
    for kind in ["Never", "Lost", "Ok(Token(***))", "Err("] {
        some(&tokens, |answer| format!("{answer:?}").contains(kind));
    }
}
