//! A message decodes as the format's own consumer decodes it, or fails with the same code.

use pubsink_core::message::decode;

pub(crate) fn run(data: &[u8]) {
    match (decode(data), ankusa::decode_message(data)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours.v, theirs.v);
            assert_eq!(ours.id, theirs.id);
            assert_eq!(ours.source_id, theirs.source_id);
            assert_eq!(ours.tenant_id, theirs.tenant_id);
            assert_eq!(ours.received_at, theirs.received_at);
            assert_eq!(ours.size, theirs.size);
            assert_eq!(ours.body.as_deref(), theirs.body.as_deref());
            assert_eq!(
                ours.claim.as_ref().map(|claim| claim.as_str()),
                theirs.claim.as_deref()
            );
            assert_eq!(ours.headers, theirs.headers);
            assert_eq!(ours.idempotency_key(true), theirs.idempotency_key(true));
        }
        (Err(ours), Err(theirs)) => {
            assert_eq!(
                (ours.code.as_str(), ours.field),
                (theirs.code, theirs.field)
            );
        }
        (ours, theirs) => panic!("we say {ours:?}, they say {theirs:?}"),
    }
}
