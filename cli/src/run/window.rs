//! How much the command has under way, so that the publisher never has to refuse.

use std::collections::HashMap;

use pubsink_core::options::PublisherOptions;
use pubsink_core::text::Text;

/// Counts hooks from admission until their last attempt, against the publisher's own ceilings.
#[derive(Debug)]
pub(super) struct Window {
    max_entries: usize,
    max_bytes: usize,
    max_tenant: usize,
    entries: usize,
    bytes: usize,
    tenants: HashMap<Option<Text>, usize>,
}

/// What one hook takes of the window.
#[derive(Debug, Clone)]
pub(super) struct Share {
    pub(super) tenant: Option<Text>,
    pub(super) bytes: usize,
}

impl Window {
    pub(super) fn new(options: &PublisherOptions) -> Self {
        Self {
            max_entries: options.batch_queue_max(),
            max_bytes: options.batch_queue_bytes(),
            max_tenant: options.batch_queue_tenant(),
            entries: 0,
            bytes: 0,
            tenants: HashMap::new(),
        }
    }

    /// Whether there is room for it. A hook larger than all of the window goes alone.
    pub(super) fn has_room(&self, share: &Share) -> bool {
        let tenant = self.tenants.get(&share.tenant).copied().unwrap_or_default();
        self.entries < self.max_entries
            && tenant < self.max_tenant
            && (self.entries == 0 || self.bytes + share.bytes <= self.max_bytes)
    }

    pub(super) fn take(&mut self, share: &Share) {
        *self.tenants.entry(share.tenant.clone()).or_default() += 1;
        self.entries += 1;
        self.bytes += share.bytes;
    }

    pub(super) fn give_back(&mut self, share: &Share) {
        self.entries -= 1;
        self.bytes -= share.bytes;
        if let Some(count) = self.tenants.get_mut(&share.tenant) {
            *count -= 1;
            if *count == 0 {
                self.tenants.remove(&share.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_the_publisher_would_take() {
        let options = PublisherOptions::builder("p", "hooks")
            .batch_queue_max(3)
            .batch_queue_bytes(10)
            .batch_queue_tenant(2)
            .build()
            .unwrap();
        let mut window = Window::new(&options);
        let share = |tenant: &str, bytes| Share {
            tenant: Some(Text::new(tenant)),
            bytes,
        };
        assert!(window.has_room(&share("a", 11)), "alone, whatever its size");
        window.take(&share("a", 4));
        window.take(&share("a", 4));
        assert!(
            !window.has_room(&share("a", 1)),
            "the tenant is at its ceiling"
        );
        assert!(!window.has_room(&share("b", 3)), "too many bytes");
        window.take(&share("b", 2));
        assert!(!window.has_room(&share("c", 0)), "too many entries");
        window.give_back(&share("a", 4));
        assert!(window.has_room(&share("a", 4)));
    }
}
