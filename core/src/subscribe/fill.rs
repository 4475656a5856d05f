//! How much of a request about leases is filled.

/// The most ack ids of one request. Pub/Sub documents no limit; Google's own clients keep to this.
pub(super) const REQUEST_MAX_IDS: usize = 1_000;

/// What a request holds already.
#[derive(Debug)]
pub(super) struct Fill {
    ids: usize,
    bytes: usize,
    max_bytes: usize,
}

impl Fill {
    /// Of a request that takes `max_bytes` of ids.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            ids: 0,
            bytes: 0,
            max_bytes,
        }
    }

    /// Adds an id of `bytes`, where it has room. One that is larger than any request goes alone.
    pub(super) fn add(&mut self, bytes: usize) -> bool {
        let takes = self.takes(1, bytes);
        if takes {
            self.ids += 1;
            self.bytes += bytes;
        }
        takes
    }

    /// Whether so many more have room.
    pub(super) fn takes(&self, ids: usize, bytes: usize) -> bool {
        let fits = self.ids + ids <= REQUEST_MAX_IDS && self.bytes + bytes <= self.max_bytes;
        fits || self.ids == 0 && ids <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_so_many_ids_and_so_many_bytes() {
        let mut fill = Fill::new(usize::MAX);
        assert_eq!((0..2_000).filter(|_| fill.add(10)).count(), 1_000);
        let mut fill = Fill::new(99);
        assert_eq!((0..2_000).filter(|_| fill.add(10)).count(), 9);
        assert!(fill.takes(1, 9) && !fill.takes(1, 10));
    }

    #[test]
    fn an_id_larger_than_a_request_goes_alone() {
        let mut fill = Fill::new(99);
        assert!(fill.add(100) && !fill.add(1));
        assert!(!Fill::new(99).takes(2, 100));
    }
}
