//! A hook: its envelope, and where its body lies when it is too large to travel.

use bytes::Bytes;
use prost::Message;
use pubsink_core::claim::ClaimRef;
use pubsink_core::envelope::Envelope;

use super::decode;
use crate::error::Fault;

/// A hook as it is stored. Its body comes last.
#[derive(Clone, PartialEq, Message)]
struct HookRecord {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    source_id: String,
    #[prost(string, optional, tag = "3")]
    tenant_id: Option<String>,
    #[prost(int64, tag = "4")]
    received_at: i64,
    #[prost(string, tag = "5")]
    method: String,
    #[prost(string, tag = "6")]
    path: String,
    #[prost(message, repeated, tag = "7")]
    headers: Vec<HeaderRecord>,
    #[prost(string, optional, tag = "8")]
    content_type: Option<String>,
    #[prost(string, optional, tag = "9")]
    dedupe_key: Option<String>,
    #[prost(string, optional, tag = "10")]
    claim: Option<String>,
    /// Whether its body is checked in before a sink is handed it.
    #[prost(bool, tag = "11")]
    check_in: bool,
    #[prost(bytes = "bytes", tag = "15")]
    body: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderRecord {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

/// The last field of a [`HookRecord`] alone. A message may be written in pieces, one behind the
/// other.
#[derive(Clone, PartialEq, Message)]
struct BodyRecord {
    #[prost(bytes = "bytes", tag = "15")]
    body: Bytes,
}

/// A hook that is written, but for its body, which is copied once: into its page of the file.
#[derive(Debug)]
pub(crate) struct EncodedHook {
    head: Vec<u8>,
    body: BodyRecord,
}

impl EncodedHook {
    pub(crate) fn new(envelope: &Envelope, claim: Option<&ClaimRef>, check_in: bool) -> Self {
        let headers = envelope.headers.iter().map(|(name, value)| HeaderRecord {
            name: name.clone(),
            value: value.clone(),
        });
        let head = HookRecord {
            id: envelope.id.clone(),
            source_id: envelope.source_id.clone(),
            tenant_id: envelope.tenant_id.clone(),
            received_at: envelope.received_at,
            method: envelope.method.clone(),
            path: envelope.path.clone(),
            headers: headers.collect(),
            content_type: envelope.content_type.clone(),
            dedupe_key: envelope.dedupe_key.clone(),
            claim: claim.map(|claim| claim.as_str().to_owned()),
            check_in,
            body: Bytes::new(),
        };
        Self {
            head: head.encode_to_vec(),
            body: BodyRecord {
                body: envelope.body.clone(),
            },
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.body.encoded_len()
    }

    /// Writes the hook into a place of its length.
    pub(crate) fn write(&self, place: &mut [u8]) -> Result<(), Fault> {
        let (head, mut body) = place.split_at_mut(self.head.len().min(place.len()));
        head.copy_from_slice(&self.head[..head.len()]);
        self.body.encode(&mut body).map_err(Fault::damaged)
    }
}

/// A hook that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct StoredHook {
    pub(crate) envelope: Envelope,
    pub(crate) claim: Option<ClaimRef>,
    pub(crate) check_in: bool,
}

/// Reads a hook. `checked_in` is the ref that its body was checked in under after it was stored.
pub(crate) fn decode_hook(bytes: &[u8], checked_in: Option<&str>) -> Result<StoredHook, Fault> {
    let hook: HookRecord = decode("a hook", bytes)?;
    let claim = hook.claim.as_deref().or(checked_in);
    let claim = claim.map(ClaimRef::parse).transpose();
    let claim = claim.map_err(|error| Fault::damaged(format_args!("a claim ref: {error}")))?;
    let headers = hook.headers.into_iter();
    let envelope = Envelope {
        id: hook.id,
        source_id: hook.source_id,
        tenant_id: hook.tenant_id,
        received_at: hook.received_at,
        method: hook.method,
        path: hook.path,
        headers: headers.map(|header| (header.name, header.value)).collect(),
        content_type: hook.content_type,
        body: hook.body,
        dedupe_key: hook.dedupe_key,
    };
    Ok(StoredHook {
        envelope,
        claim,
        check_in: hook.check_in,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_comes_back_as_it_was() {
        for body in [&b""[..], b"\x00\xFF{}", &[7; 100_000]] {
            let envelope = Envelope {
                id: "id".into(),
                source_id: String::new(),
                tenant_id: Some(String::new()),
                received_at: -1,
                method: "POST".into(),
                path: "/ä".into(),
                headers: vec![
                    ("a".into(), Bytes::from_static(b"\xFF")),
                    ("a".into(), Bytes::new()),
                ],
                content_type: None,
                body: Bytes::copy_from_slice(body),
                dedupe_key: Some("k".into()),
            };
            let claim = ClaimRef::derive(Some("t"), 1, "id").unwrap();
            for (claim, check_in) in [(None, false), (None, true), (Some(claim), false)] {
                let place = written(&envelope, claim.as_ref(), check_in);
                let hook = StoredHook {
                    envelope: envelope.clone(),
                    claim,
                    check_in,
                };
                assert_eq!(decode_hook(&place, None).unwrap(), hook);
            }
        }
    }

    fn written(envelope: &Envelope, claim: Option<&ClaimRef>, check_in: bool) -> Vec<u8> {
        let encoded = EncodedHook::new(envelope, claim, check_in);
        let mut place = vec![0; encoded.len()];
        encoded.write(&mut place).unwrap();
        place
    }

    #[test]
    fn the_ref_that_came_with_a_hook_stands_before_the_one_it_was_checked_in_under() {
        let envelope = Envelope::new("id", "src", 1, "body");
        let [came, later] = ["a", "b"].map(|id| ClaimRef::derive(None, 1, id).unwrap());
        let checked_in = Some(later.as_str());
        let claim = |came| {
            let place = written(&envelope, came, true);
            decode_hook(&place, checked_in).unwrap().claim
        };
        assert_eq!(claim(None), Some(later.clone()));
        assert_eq!(claim(Some(&came)), Some(came.clone()));
        let place = written(&envelope, None, true);
        assert!(decode_hook(&place, Some("nonsense")).is_err());
    }

    #[test]
    fn a_hook_that_was_written_before_check_ins_is_read() {
        // Its id, source, time, and body.
        let bytes = b"\x0A\x02id\x12\x03src\x20\x01\x7A\x04body";
        let hook = decode_hook(bytes, None).unwrap();
        assert_eq!((hook.claim, hook.check_in), (None, false));
        assert_eq!(
            (&*hook.envelope.id, &*hook.envelope.body),
            ("id", &b"body"[..])
        );
    }
}
