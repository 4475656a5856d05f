//! Claim stores on smol.

#![allow(clippy::unwrap_used, clippy::panic, reason = "they fail the test")]

#[path = "../../runtime/tests/claims/contract.rs"]
mod contract;

use std::path::{Path, PathBuf};

use contract::{body, claim};
use pubsink_smol::claims::{ClaimStore as _, ClaimsUrlError, SmolPool, Unblock as _, open};

/// A directory of the test's own.
fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_directory_is_a_claim_store() {
    let path = place("claims-path");
    std::fs::create_dir(&path).unwrap();
    let store = open(path.to_str().unwrap()).unwrap();
    // Any executor will do.
    futures_executor::block_on(contract::hold(&store, "acme"));
    let store = open(&format!("file://{}", path.display())).unwrap();
    let kept = smol::block_on(store.fetch(&claim("acme", "kept"), 500));
    assert_eq!(kept, Ok(body("kept", 500)));
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn an_object_store_is_refused_by_what_to_use() {
    for (url, scheme) in [("s3://b/p", "s3"), ("gs://b", "gs"), ("abfs://c", "az")] {
        let refused = open(url).unwrap_err();
        assert!(matches!(refused, ClaimsUrlError::NoClient { .. }));
        assert_eq!(
            refused.to_string(),
            format!(
                "smol has no client for {scheme}:// stores; use tokio (--runtime tokio), or a local \
                 directory"
            )
        );
    }
    assert_eq!(open(" ").unwrap_err(), ClaimsUrlError::Empty);
}

#[test]
fn work_that_panics_is_not_done() {
    assert_eq!(smol::block_on(SmolPool.unblock(|| 17)), Some(17));
    let broken = smol::block_on(SmolPool.unblock(|| -> u32 { panic!("out of ink") }));
    assert_eq!(broken, None);
}
