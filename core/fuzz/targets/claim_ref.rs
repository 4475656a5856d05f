//! A text is a claim ref, or it is not: as the independent parser says, and it reads back as it
//! was.

use pubsink_core::claim::ClaimRef;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let ours = ClaimRef::parse(text);
    let theirs = ankusa::parse_claim_ref(text);
    assert_eq!(ours.is_ok(), theirs.is_ok(), "{text:?}");
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.as_str(), text);
            assert_eq!(ours.tenant(), theirs.tenant_id());
            assert_eq!(ours.id(), theirs.claim_id());
            assert_eq!(ours.path(), theirs.path());
        }
        // The error of a broken ref is short, whatever the ref.
        (Err(error), _) => assert!(error.to_string().len() < 20_000),
        (Ok(_), Err(_)) => unreachable!(),
    }
}
