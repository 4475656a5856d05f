//! A quick hash, without a random key, so that equal runs stay equal.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps that are looked up for each message. Their keys are a server's ids and our own numbers.
pub(super) type Hashing = BuildHasherDefault<Quick>;

/// Folds what it is given, eight bytes at a time.
#[derive(Debug, Default)]
pub(super) struct Quick(u64);

/// An odd number whose bits look like chance.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Quick {
    fn fold(&mut self, word: u64) {
        let mixed = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
        // Multiplied, the low bits know nothing of the high ones.
        self.0 = mixed ^ mixed >> 32;
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.fold(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(FACTOR);
        mixed ^ mixed >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::BuildHasher as _;

    use super::*;

    fn spread(hashes: impl Iterator<Item = u64> + Clone) -> (usize, usize) {
        let low: BTreeSet<_> = hashes.clone().map(|hash| hash % 16_384).collect();
        let high: BTreeSet<_> = hashes.map(|hash| hash >> 50).collect();
        (low.len(), high.len())
    }

    #[test]
    fn ids_and_numbers_that_follow_one_another_are_spread() {
        let hashing = Hashing::default();
        let ids = (0..10_000).map(|number| format!("{}", 8_140_743_286_000_000_u64 + number));
        let ids: Vec<_> = ids.map(|id| hashing.hash_one(id)).collect();
        let numbers: Vec<_> = (0..10_000_u64)
            .map(|number| hashing.hash_one(number))
            .collect();
        for hashes in [ids, numbers] {
            assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), 10_000);
            // Of chance alone there would be some 7,480 different ones.
            let (low, high) = spread(hashes.into_iter());
            assert!(low > 7_000 && high > 7_000, "{low} {high}");
        }
    }

    #[test]
    fn what_is_cut_elsewhere_is_another_key() {
        let hash = |parts: [&str; 2]| Hashing::default().hash_one(parts);
        assert_ne!(hash(["a", "bc"]), hash(["ab", "c"]));
        assert_ne!(hash(["", "\0"]), hash(["\0", ""]));
    }
}
