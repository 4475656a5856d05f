//! The id by which Pub/Sub knows the streams of one subscriber.

use pubsink_core::text::Text;

/// An id in the form of a random UUID, made of `seed` alone: equal runs have equal ids.
pub(super) fn client_id(seed: u64) -> Text {
    let (high, low) = (mix(seed), mix(seed.wrapping_add(STEP)));
    // Version 4, variant 1.
    let high = high & 0xffff_ffff_ffff_0fff | 0x4000;
    let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
    let (time, mid, version) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    let (variant, node) = (low >> 48, low & 0xffff_ffff_ffff);
    format!("{time:08x}-{mid:04x}-{version:04x}-{variant:04x}-{node:012x}").into()
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of SplitMix64.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(STEP);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_have_the_form_of_a_uuid_and_differ() {
        let ids: BTreeSet<String> = (0..1_000).map(|seed| client_id(seed).to_string()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            let parts: Vec<_> = id.split('-').collect();
            let lengths: Vec<_> = parts.iter().map(|part| part.len()).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
            assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']));
            assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()));
        }
        assert_eq!(client_id(7), client_id(7));
    }
}
