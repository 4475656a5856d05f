//! Directories, and URLs that are none.

use std::path::{Path, PathBuf};

use pubsink_tokio::claims::{ClaimStore as _, ClaimsUrlError, DirectoryClaims, TokioPool, open};
use pubsink_tokio::core::claim::ClaimError;

use crate::contract::{self, body, claim};

/// A directory of the test's own.
fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[tokio::test]
async fn a_directory_is_a_claim_store() {
    let path = place("claims-path");
    std::fs::create_dir(&path).unwrap();
    let store = open(path.to_str().unwrap()).unwrap();
    contract::hold(&store, "acme").await;
    // The same one by its URL.
    let store = open(&format!("file://{}", path.display())).unwrap();
    let kept = claim("acme", "kept");
    assert_eq!(store.fetch(&kept, 500).await, Ok(body("kept", 500)));
    std::fs::remove_dir_all(&path).unwrap();
}

#[test]
fn without_a_runtime_it_is_unavailable() {
    let store = DirectoryClaims::new(place("claims-nowhere"), TokioPool);
    let claim = claim("acme", "one");
    let mut size = std::pin::pin!(store.size(&claim));
    let waker = std::task::Waker::noop();
    let size = size
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    let std::task::Poll::Ready(Err(ClaimError::Unavailable { .. })) = size else {
        panic!("{size:?}");
    };
}

#[test]
fn what_is_no_store_is_refused() {
    assert_eq!(open("").unwrap_err(), ClaimsUrlError::Empty);
    let refused = open("https://bucket.s3.amazonaws.com").unwrap_err();
    assert!(refused.to_string().contains("s3:"), "{refused}");
    let refused = open("s3://key:hunter2@bucket").unwrap_err();
    assert!(matches!(refused, ClaimsUrlError::Secret { .. }));
}

#[test]
#[cfg(not(feature = "object-store"))]
fn a_build_without_object_stores_says_so() {
    let refused = open("s3://bucket").unwrap_err().to_string();
    assert!(refused.contains("feature object-store"), "{refused}");
}
