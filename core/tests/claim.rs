//! Claim refs: the exact form, agreement with an independent reader, and derivation.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use pubsink_core::claim::{ClaimRef, InvalidClaimRef, object_key};

const ULID: &str = "01M39VMD8RA3C5HR4RBV67Y002";
const SIG: &str = "MAmydaNzNwA3sV38ggZG15ElUTajA8QtBkKevsaq1Ac";

fn v1(tenant: &str, id: &str) -> String {
    format!("urn:ankusa:claim:v1:{tenant}:{id}")
}

fn v2(expiry: &str, signature: &str) -> String {
    format!("urn:ankusa:claim:v2:acme:{ULID}:{expiry}:{signature}")
}

/// Parses, and insists that the oracle says the same.
fn parse(text: &str) -> Result<ClaimRef, InvalidClaimRef> {
    let ours = ClaimRef::parse(text);
    match (&ours, ankusa::parse_claim_ref(text)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.tenant(), theirs.tenant_id());
            assert_eq!(ours.id(), theirs.claim_id());
            assert_eq!(ours.path(), theirs.path());
            assert_eq!(ours.as_str(), text);
            assert_eq!(ours.to_string(), text);
        }
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("{text:?}: {ours:?}, the oracle {theirs:?}"),
    }
    ours
}

#[test]
fn both_forms_are_read() {
    let plain = parse(&v1("acme", ULID)).unwrap();
    assert_eq!((plain.tenant(), plain.id()), ("acme", ULID));
    assert!(!plain.is_signed());
    assert_eq!(plain.path(), format!("/v1/claims/acme/{ULID}"));

    let signed = parse(&v2("1790345000", SIG)).unwrap();
    assert!(signed.is_signed());
    assert_eq!(
        signed.path(),
        format!("/v1/claims/acme/{ULID}?exp=1790345000&sig={SIG}")
    );
}

#[test]
fn a_tenant_has_1_to_64_plain_characters() {
    for tenant in ["a", "A-z_09", &"a".repeat(64)] {
        parse(&v1(tenant, ULID)).unwrap();
    }
    for tenant in ["", "a.b", "é", "a b", "a/b", &"a".repeat(65)] {
        let refused = parse(&v1(tenant, ULID)).unwrap_err();
        assert!(
            matches!(refused, InvalidClaimRef::Tenant { .. }),
            "{refused}"
        );
    }
}

#[test]
fn a_claim_id_is_a_canonical_ulid() {
    for id in [
        &ULID[..25],
        &format!("{ULID}0"),
        &ULID.to_lowercase(),
        &ULID.replacen('0', "8", 1),
        &ULID.replace('M', "I"),
        &ULID.replace('M', "L"),
        &ULID.replace('M', "O"),
        &ULID.replace('M', "U"),
        &format!("{ULID}\n"),
        "",
    ] {
        let refused = parse(&v1("acme", id)).unwrap_err();
        assert!(
            matches!(refused, InvalidClaimRef::ClaimId { .. }),
            "{refused}"
        );
    }
    parse(&v1("acme", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")).unwrap();
}

#[test]
fn a_ref_is_made_of_its_parts_by_the_same_rules() {
    let made = ClaimRef::new("acme", ULID).unwrap();
    assert_eq!(Ok(&made), parse(&v1("acme", ULID)).as_ref());
    for (tenant, id) in [("", ULID), ("a:b", ULID), ("a/b", ULID), ("..", ULID)] {
        let refused = ClaimRef::new(tenant, id).unwrap_err();
        assert!(matches!(refused, InvalidClaimRef::Tenant { .. }));
    }
    for id in ["", "..", "x/y", &ULID[1..], &format!("{ULID}:1:{SIG}")] {
        let refused = ClaimRef::new("acme", id).unwrap_err();
        assert!(matches!(refused, InvalidClaimRef::ClaimId { .. }));
    }
}

#[test]
fn a_signature_in_another_place_is_not_repeated() {
    let signed = |tenant: &str, id: &str, sig: &str| {
        parse(&format!(
            "urn:ankusa:claim:v2:{tenant}:{id}:1790345000:{sig}"
        ))
        .unwrap_err()
    };
    for refused in [
        signed("acme", SIG, ULID),
        signed("acme", &SIG[1..], ULID),
        signed(&format!("{SIG}="), ULID, "acme"),
        parse(&v1("acme", SIG)).unwrap_err(),
        ClaimRef::new("acme", SIG).unwrap_err(),
        ClaimRef::new("acme", &format!("{ULID}:1:{SIG}")).unwrap_err(),
    ] {
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains(&SIG[1..9]), "{shown}");
        assert!(shown.contains("[redacted]"), "{shown}");
    }
    // A plain ref tells what is wrong with it.
    let refused = parse(&v1("acme", &ULID[1..])).unwrap_err().to_string();
    assert!(refused.contains(&ULID[1..]), "{refused}");
}

#[test]
fn every_part_and_no_other_has_to_be_there() {
    for text in [
        format!("{}:extra", v1("acme", ULID)),
        format!("{}:extra", v2("1", SIG)),
        format!("{}:1:{SIG}", v1("acme", ULID)),
        format!("urn:ankusa:claim:v2:acme:{ULID}"),
        format!("urn:ankusa:claim:v2:acme:{ULID}:1"),
        "urn:ankusa:claim:v1:".to_owned(),
    ] {
        let refused = parse(&text).unwrap_err();
        assert!(
            matches!(refused, InvalidClaimRef::Parts { .. }),
            "{refused}"
        );
    }
    for text in [
        "",
        "urn:ankusa:claim:v3:acme:x",
        "URN:ankusa:claim:v1:a:b",
        " urn:ankusa",
    ] {
        let refused = parse(text).unwrap_err();
        assert!(
            matches!(refused, InvalidClaimRef::Prefix { .. }),
            "{refused}"
        );
    }
}

#[test]
fn expiry_and_signature_are_checked_for_their_form() {
    parse(&v2("999999999999", SIG)).unwrap();
    for expiry in ["", "0", "01", "1000000000000", "-1", "+1", "soon", "１"] {
        assert_eq!(
            parse(&v2(expiry, SIG)).unwrap_err(),
            InvalidClaimRef::Expiry
        );
    }
    for signature in [
        &SIG[..42],
        &format!("{SIG}A"),
        &format!("{}=", &SIG[..42]),
        &format!("{}+", &SIG[..42]),
        &format!("{SIG}\n"),
    ] {
        assert_eq!(
            parse(&v2("1", signature)).unwrap_err(),
            InvalidClaimRef::Signature
        );
    }
}

#[test]
fn a_signature_is_never_shown_by_accident() {
    let signed = ClaimRef::parse(&v2("1790345000", SIG)).unwrap();
    assert_eq!(
        format!("{signed:?}"),
        format!("ClaimRef(urn:ankusa:claim:v2:acme:{ULID}:[redacted])")
    );
    for broken in [
        v2("0", SIG),
        format!("{}x", v2("1", SIG)),
        format!("{}:x", v2("1", SIG)),
        v2("1", SIG).replace(":v2:", ":v1:"),
        v2("1", SIG).replace(":v2:", ":v3:"),
    ] {
        let refused = ClaimRef::parse(&broken).unwrap_err();
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains(&SIG[..4]), "{shown}");
    }
}

#[test]
fn a_refusal_repeats_no_more_than_a_head() {
    let refused = ClaimRef::parse(&v1(&"é".repeat(1 << 20), ULID)).unwrap_err();
    assert!(refused.to_string().len() < 300, "{refused}");
}

#[test]
fn derivation_is_pinned() {
    let claim = ClaimRef::derive(Some("acme"), 1_764_500_000_332, "hook-1").unwrap();
    assert_eq!(
        claim.as_str(),
        "urn:ankusa:claim:v1:acme:01KBA6AKJCTAHQPNNMYX0715PE"
    );
    let untenanted = ClaimRef::derive(None, 1_764_500_000_332, "hook-1").unwrap();
    assert_eq!(untenanted.tenant(), "default");
    assert_eq!(untenanted.id(), claim.id());
    assert_eq!(
        ClaimRef::derive(Some(""), 1_764_500_000_332, "hook-1").unwrap(),
        untenanted
    );
    assert_ne!(
        ClaimRef::derive(None, 1_764_500_000_332, "hook-2").unwrap(),
        untenanted
    );
}

#[test]
fn a_time_outside_of_48_bits_is_clamped() {
    let id = |time| ClaimRef::derive(None, time, "x").unwrap().id().to_owned();
    assert_eq!(id(-1), id(0));
    assert_eq!(id(i64::MIN), id(0));
    assert_eq!(id(i64::MAX), id((1 << 48) - 1));
    assert!(id(0).starts_with("0000000000"));
    assert!(id(i64::MAX).starts_with("7ZZZZZZZZZ"));
}

#[test]
fn nothing_is_derived_for_a_tenant_that_no_ref_can_name() {
    for tenant in ["a.b", "a:b", &"a".repeat(65)] {
        let refused = ClaimRef::derive(Some(tenant), 0, "x").unwrap_err();
        assert!(matches!(refused, InvalidClaimRef::Tenant { .. }));
    }
}

/// Refs, nearly refs and other text.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("acme".to_owned()),
        Just(ULID.to_owned()),
        Just(SIG.to_owned()),
        "[0-9]{0,13}",
        "[A-Za-z0-9_-]{0,66}",
        "[0-8][0-9A-Z]{25}",
        "[0-7][0-9A-HJKMNP-TV-Z]{25}",
        "[A-Za-z0-9_-]{43}",
        ".{0,5}",
    ];
    let prefix = prop_oneof![
        4 => Just("urn:ankusa:claim:v1:"),
        4 => Just("urn:ankusa:claim:v2:"),
        1 => Just("urn:ankusa:claim:v3:"),
        1 => Just(""),
    ];
    let valid = (
        "[A-Za-z0-9_-]{1,64}",
        "[0-7][0-9A-HJKMNP-TV-Z]{25}",
        "[1-9][0-9]{0,11}",
        "[A-Za-z0-9_-]{43}",
    );
    let mutation = (any::<prop::sample::Index>(), "[:0-9A-Za-z\n.=]{0,1}");
    prop_oneof![
        (prefix, prop::collection::vec(part, 1..6))
            .prop_map(|(prefix, parts)| prefix.to_owned() + &parts.join(":")),
        (valid, any::<bool>(), prop::option::of(mutation)).prop_map(
            |((tenant, id, expiry, sig), signed, mutation)| {
                let mut text = if signed {
                    format!("urn:ankusa:claim:v2:{tenant}:{id}:{expiry}:{sig}")
                } else {
                    format!("urn:ankusa:claim:v1:{tenant}:{id}")
                };
                if let Some((at, with)) = mutation {
                    let at = at.index(text.len());
                    text.replace_range(at..=at, &with);
                }
                text
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn agrees_with_the_oracle(text in texts()) {
        if let Ok(claim) = parse(&text) {
            let plain = ClaimRef::new(claim.tenant(), claim.id()).unwrap();
            prop_assert_eq!(claim.is_signed(), plain != claim);
            // Nothing in the name of its object leads out of the store.
            let key = object_key("prefix", &claim);
            prop_assert_eq!(&key, &object_key("prefix", &plain));
            let parts: Vec<_> = key.split('/').collect();
            prop_assert_eq!(&parts, &["prefix", claim.tenant(), claim.id()]);
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            prop_assert!(parts.iter().all(|part| !part.is_empty() && part.bytes().all(is_plain)));
        }
    }

    #[test]
    fn what_is_derived_can_be_read(
        tenant in prop::option::of("[A-Za-z0-9_-]{1,64}"),
        time: i64,
        id in ".{1,40}",
    ) {
        let claim = ClaimRef::derive(tenant.as_deref(), time, &id).unwrap();
        prop_assert_eq!(&parse(claim.as_str()).unwrap(), &claim);
        prop_assert_eq!(ClaimRef::derive(tenant.as_deref(), time, &id).unwrap(), claim);
    }
}
