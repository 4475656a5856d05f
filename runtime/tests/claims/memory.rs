//! Claims in memory.

use pubsink_runtime::claims::{ClaimStore as _, MemoryClaims};
use pubsink_runtime::core::claim::ClaimError;

use crate::contract::{self, body, claim};
use crate::support::block_on;

#[test]
fn it_is_a_claim_store() {
    block_on(contract::hold(&MemoryClaims::default(), "acme"));
}

#[test]
fn it_is_bounded() {
    let store = MemoryClaims::new(100);
    let check_in = |name: &str, size| {
        let body = body(name, size);
        block_on(store.check_in(&claim("acme", name), body))
    };
    check_in("first", 60).unwrap();
    let full = check_in("second", 41).unwrap_err();
    assert!(matches!(full, ClaimError::Unavailable { .. }), "{full}");
    check_in("second", 40).unwrap();
    check_in("second", 40).unwrap();
    assert!(check_in("third", 1).is_err());
    assert_eq!(store.clone().len(), 2);
    let shown = format!("{store:?}");
    assert_eq!(shown, "MemoryClaims { claims: 2, max_bytes: 100 }");
}
