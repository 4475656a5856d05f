//! What every claim store does, whichever it is. The runtimes' tests run it on theirs.

use bytes::Bytes;
use pubsink_runtime::claims::{ClaimStore, redeem};
use pubsink_runtime::core::claim::endpoint::pieces;
use pubsink_runtime::core::claim::{ClaimError, ClaimRef, sha256_hex};

/// A claim id. Every case has its own, so that a store may be used again.
pub(crate) fn claim(tenant: &str, name: &str) -> ClaimRef {
    ClaimRef::derive(Some(tenant), 1_764_500_000_332, name).unwrap()
}

/// A body that no two names share.
pub(crate) fn body(name: &str, size: usize) -> Bytes {
    let words = format!("{name}\r\n\0\u{e9}");
    words.bytes().cycle().take(size).collect()
}

/// Runs every case on a store that has none of `tenant`'s claims.
pub(crate) async fn hold(store: &impl ClaimStore, tenant: &str) {
    what_is_not_there_is_not_found(store, tenant).await;
    what_was_checked_in_is_there(store, tenant).await;
    a_part_ends_where_the_body_does(store, tenant).await;
    a_body_is_checked_in_once(store, tenant).await;
    a_body_is_never_replaced(store, tenant).await;
    tenants_do_not_meet(store, tenant).await;
    a_claim_is_redeemed(store, tenant).await;
    a_large_body_comes_in_pieces(store, tenant).await;
}

async fn what_is_not_there_is_not_found(store: &impl ClaimStore, tenant: &str) {
    let claim = claim(tenant, "nothing");
    assert_eq!(store.size(&claim).await, Err(ClaimError::NotFound));
    assert_eq!(store.fetch(&claim, 9).await, Err(ClaimError::NotFound));
    for range in [0..1, 5..9, 3..3] {
        let part = store.fetch_range(&claim, range).await;
        assert_eq!(part, Err(ClaimError::NotFound));
    }
}

async fn what_was_checked_in_is_there(store: &impl ClaimStore, tenant: &str) {
    for size in [1_u64, 100, 70_000] {
        let name = format!("there {size}");
        let claim = claim(tenant, &name);
        let body = body(&name, usize::try_from(size).unwrap());
        store.check_in(&claim, body.clone()).await.unwrap();
        assert_eq!(store.size(&claim).await, Ok(size));
        assert_eq!(store.fetch(&claim, size).await, Ok(body));
        let max = size - 1;
        let too_large = store.fetch(&claim, max).await;
        assert_eq!(too_large, Err(ClaimError::TooLarge { size, max }));
        // A signed ref is of the same body.
        let signed = format!(
            "urn:ankusa:claim:v2:{tenant}:{}:1790345000:MAmydaNzNwA3sV38ggZG15ElUTajA8QtBkKevsaq1Ac",
            claim.id()
        );
        let signed = ClaimRef::parse(&signed).unwrap();
        assert_eq!(store.size(&signed).await, Ok(size));
    }
}

async fn a_part_ends_where_the_body_does(store: &impl ClaimStore, tenant: &str) {
    let claim = claim(tenant, "parts");
    let body = Bytes::from_static(b"0123456789");
    store.check_in(&claim, body).await.unwrap();
    for (range, part) in [
        (0..10, "0123456789"),
        (0..1, "0"),
        (3..7, "3456"),
        (9..10, "9"),
        (7..999, "789"),
        (0..u64::MAX - 1, "0123456789"),
        (10..11, ""),
        (10_000..10_001, ""),
        (4..4, ""),
        (10..10, ""),
    ] {
        let fetched = store.fetch_range(&claim, range.clone()).await;
        assert_eq!(
            fetched,
            Ok(Bytes::from_static(part.as_bytes())),
            "{range:?}"
        );
    }
}

async fn a_body_is_checked_in_once(store: &impl ClaimStore, tenant: &str) {
    let claim = claim(tenant, "again");
    for _ in 0..3 {
        store.check_in(&claim, body("again", 5_000)).await.unwrap();
    }
    assert_eq!(store.fetch(&claim, 5_000).await, Ok(body("again", 5_000)));
}

async fn a_body_is_never_replaced(store: &impl ClaimStore, tenant: &str) {
    let claim = claim(tenant, "kept");
    store.check_in(&claim, body("kept", 500)).await.unwrap();
    for (other, differs) in [(body("other", 500), "sha256"), (body("kept", 501), "size")] {
        match store.check_in(&claim, other).await {
            Err(ClaimError::Integrity { what, .. }) => assert_eq!(what, differs),
            taken => panic!("{taken:?}"),
        }
    }
    assert_eq!(store.fetch(&claim, 500).await, Ok(body("kept", 500)));
}

async fn tenants_do_not_meet(store: &impl ClaimStore, tenant: &str) {
    let other = format!("{tenant}-2");
    let (ours, theirs) = (claim(tenant, "same"), claim(&other, "same"));
    assert_eq!(ours.id(), theirs.id());
    store.check_in(&ours, body("ours", 10)).await.unwrap();
    assert_eq!(store.size(&theirs).await, Err(ClaimError::NotFound));
    store.check_in(&theirs, body("theirs", 20)).await.unwrap();
    assert_eq!(store.fetch(&ours, 10).await, Ok(body("ours", 10)));
    assert_eq!(store.fetch(&theirs, 20).await, Ok(body("theirs", 20)));
}

async fn a_claim_is_redeemed(store: &impl ClaimStore, tenant: &str) {
    let claim = claim(tenant, "redeemed");
    let body = body("redeemed", 300);
    store.check_in(&claim, body.clone()).await.unwrap();
    let sha256 = sha256_hex(&body);
    assert_eq!(redeem(store, &claim, 300, &sha256, 300).await, Ok(body));
    let (size, max) = (300, 299);
    let too_large = redeem(store, &claim, size, &sha256, max).await;
    assert_eq!(too_large, Err(ClaimError::TooLarge { size, max }));
    for (size, sha256, differs) in [
        (299, sha256.as_str(), "size"),
        (301, &sha256, "size"),
        (300, "00", "sha256"),
    ] {
        match redeem(store, &claim, size, sha256, 1_000).await {
            Err(ClaimError::Integrity { what, .. }) => assert_eq!(what, differs),
            redeemed => panic!("{redeemed:?}"),
        }
    }
}

async fn a_large_body_comes_in_pieces(store: &impl ClaimStore, tenant: &str) {
    let claim = claim(tenant, "large");
    let body = body("large", 3_000_001);
    store.check_in(&claim, body.clone()).await.unwrap();
    let mut put_together = Vec::new();
    for piece in pieces(0..store.size(&claim).await.unwrap(), 1_000_000) {
        put_together.extend_from_slice(&store.fetch_range(&claim, piece).await.unwrap());
    }
    assert!(put_together == body);
}
