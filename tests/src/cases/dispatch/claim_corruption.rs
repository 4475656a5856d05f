//! A claim that is not what was checked in is never handed out, by our consumer or by ankusa's.

use std::fs::{self, File};
use std::path::Path;

use ankusa::ClaimCheckError;
use bytes::Bytes;
use pubsink_core::claim::ClaimError;
use pubsink_core::message::DecodedMessage;

use super::claims::{THREE_MIB, claimed, large, redeems};
use crate::harness::case::cases;
use crate::harness::claims::Store;
use crate::harness::dispatching::quick;
use crate::harness::env::Env;
use crate::harness::journals::Watched;

cases! {
    Anything, "dispatch claims: a claim that was changed, cut, grown or lost is never redeemed as other bytes" => corrupted, .limit(60);
    Anything, "dispatch claims: a store whose directory is gone has lost nothing, and is asked again" => unmounted, .limit(60);
}

/// Delivers a large hook; its message and its body.
async fn deliver(env: &Env, store: &Store) -> (DecodedMessage, Bytes) {
    let publisher = env.publisher(env.options());
    let dispatching = env.claiming(Watched::memory(), publisher, store, quick());
    let hook = large("hook", THREE_MIB);
    dispatching.accept([hook.clone()]).await;
    dispatching.delivered(env, 1).await;
    let pulled = env.pull(1).await;
    (claimed(&pulled[0].data, &hook), hook.body)
}

/// What was done to a claim.
#[derive(Debug, Clone, Copy)]
enum Damage {
    /// A bit of the byte at this place.
    Flipped(usize),
    /// It ends here.
    Cut(u64),
    /// A byte more.
    Grown,
    Deleted,
}

impl Damage {
    fn inflict(self, file: &Path, body: &Bytes) {
        let mut bytes = body.to_vec();
        match self {
            Self::Flipped(at) => bytes[at] ^= 1,
            Self::Cut(len) => {
                let file = File::options().write(true).open(file).unwrap();
                return file.set_len(len).unwrap();
            }
            Self::Grown => bytes.push(b' '),
            Self::Deleted => return fs::remove_file(file).unwrap(),
        }
        fs::write(file, bytes).unwrap();
    }

    fn agrees(self, ours: &ClaimError, theirs: &ClaimCheckError) -> bool {
        let what = match self {
            Self::Flipped(_) => "sha256",
            Self::Cut(_) | Self::Grown => "size",
            Self::Deleted => {
                return *ours == ClaimError::NotFound
                    && matches!(theirs, ClaimCheckError::NotFound);
            }
        };
        matches!(ours, ClaimError::Integrity { what: ours, .. } if *ours == what)
            && matches!(theirs, ClaimCheckError::Integrity { .. })
    }
}

async fn corrupted(env: Env) {
    let store = env.claims();
    let (message, body) = deliver(&env, &store).await;
    redeems(&store, &message, &body).await;
    let file = store.file(message.claim.as_ref().unwrap());
    for damage in [
        Damage::Flipped(0),
        Damage::Flipped(THREE_MIB / 2),
        Damage::Flipped(THREE_MIB - 1),
        Damage::Cut(0),
        Damage::Cut(body.len() as u64 - 1),
        Damage::Grown,
        Damage::Deleted,
    ] {
        damage.inflict(&file, &body);
        let ours = store.redeem(&message).await;
        let ours = ours.expect_err("these are other bytes");
        let theirs = store.redeem_by_ankusa(&message).await;
        let theirs = theirs.expect_err("these are other bytes");
        let agrees = damage.agrees(&ours, &theirs);
        assert!(agrees, "{damage:?} is {ours:?}, by ankusa {theirs:?}");
        assert!(!ours.is_retryable() && !theirs.is_retryable());
        // Restored from a backup, it is what it was.
        fs::write(&file, &body).unwrap();
        redeems(&store, &message, &body).await;
    }
}

async fn unmounted(env: Env) {
    let store = env.claims();
    let (message, body) = deliver(&env, &store).await;
    let away = store.root().with_extension("away");
    fs::rename(store.root(), &away).unwrap();
    let ours = store.redeem(&message).await;
    let ours = ours.expect_err("there is nothing");
    assert!(matches!(ours, ClaimError::Unavailable { .. }), "{ours:?}");
    let theirs = store.redeem_by_ankusa(&message).await;
    let theirs = theirs.expect_err("there is nothing");
    assert!(
        matches!(theirs, ClaimCheckError::Unavailable(_)),
        "{theirs:?}"
    );
    assert!(ours.is_retryable() && theirs.is_retryable());
    fs::rename(&away, store.root()).unwrap();
    redeems(&store, &message, &body).await;
}
