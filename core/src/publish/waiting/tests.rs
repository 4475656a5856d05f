use super::*;
use crate::publish::tenants::Tenants;
use crate::publish::testing::{at, builder, entry_of, tags};

/// What waits, with a linger of 20 ms and at most 3 messages a batch.
struct Queue(Waiting<u32>, Tenants);

impl Queue {
    fn new() -> Self {
        let options = builder().batch_max_entries(3).build().unwrap();
        Self(Waiting::new(&options), Tenants::new())
    }

    fn push(&mut self, tag: u32, how: &str, ms: u64) {
        let entry = entry_of(&mut self.1, tag, how, at(ms));
        self.0
            .push(entry.kind, entry.arrival, entry.member, entry.body);
    }

    /// The key and the tags of the batch that has to leave at `ms`.
    fn take(&mut self, kind: Kind, ms: u64) -> Option<(String, Vec<u32>)> {
        let (key, batch) = self.0.take(kind, at(ms))?;
        let key = key.map_or(String::new(), |key| key.to_string());
        Some((key, tags(&batch)))
    }

    fn batched(&mut self, ms: u64) -> Option<(String, Vec<u32>)> {
        self.take(Kind::Batched, ms)
    }

    fn release(&mut self, key: &str) {
        self.0.release(&Text::new(key));
    }
}

/// The tags of what was taken without a batch.
fn left(entries: &[Entry<u32>]) -> Vec<u32> {
    entries.iter().map(|entry| entry.member.tag).collect()
}

fn batch(key: &str, tags: &[u32]) -> Option<(String, Vec<u32>)> {
    Some((key.to_owned(), tags.to_vec()))
}

#[test]
fn nothing_leaves_before_it_is_due() {
    let mut queue = Queue::new();
    queue.push(1, "/", 0);
    queue.push(2, "/k", 5);
    assert_eq!(queue.0.due(Kind::Batched), Some(at(20)));
    assert_eq!(queue.0.due(Kind::Direct), None);
    assert_eq!(queue.batched(19), None);
    assert_eq!(queue.batched(20), batch("", &[1]));
    assert_eq!(queue.0.due(Kind::Batched), Some(at(25)));
    assert_eq!(queue.batched(24), None);
    assert_eq!(queue.batched(25), batch("k", &[2]));
    assert_eq!(queue.0.due(Kind::Batched), None);
    assert_eq!(queue.0.len(), 0);
}

#[test]
fn a_key_waits_while_it_is_busy_and_goes_on_when_it_is_released() {
    let mut queue = Queue::new();
    for tag in 1..=5 {
        queue.push(tag, "/k", 0);
    }
    assert_eq!(queue.batched(0), batch("k", &[1, 2, 3]));
    assert_eq!(queue.batched(100), None);
    assert_eq!(queue.0.due(Kind::Batched), None);
    queue.release("k");
    // 4 and 5 are long due, though they are no full batch.
    assert_eq!(queue.0.due(Kind::Batched), Some(at(20)));
    assert_eq!(queue.batched(100), batch("k", &[4, 5]));
    assert_eq!(queue.0.keys(), 1);
    queue.release("k");
    assert_eq!(queue.0.keys(), 0);
}

#[test]
fn a_full_batch_of_a_key_does_not_linger() {
    let mut queue = Queue::new();
    queue.push(1, "/k", 0);
    queue.push(2, "/k", 1);
    assert_eq!(queue.batched(2), None);
    queue.push(3, "/k", 2);
    assert_eq!(queue.0.due(Kind::Batched), Some(at(0)));
    assert_eq!(queue.batched(2), batch("k", &[1, 2, 3]));
}

#[test]
fn keyed_and_unkeyed_take_turns() {
    let mut queue = Queue::new();
    for tag in 1..=6 {
        queue.push(tag, "/", 0);
        queue.push(10 + tag, &format!("/k{tag}"), 0);
    }
    let keys: Vec<_> = std::iter::from_fn(|| queue.batched(20))
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["", "k1", "", "k2", "k3", "k4", "k5", "k6"]);
}

#[test]
fn a_keys_messages_leave_in_order_whichever_way_each_goes() {
    let mut queue = Queue::new();
    for (tag, how) in (1..).zip(["/k", "/k", "/k!", "/k!", "/k"]) {
        queue.push(tag, how, 0);
    }
    for (kind, tags) in [
        (Kind::Batched, vec![1, 2]),
        (Kind::Direct, vec![3]),
        (Kind::Direct, vec![4]),
        (Kind::Batched, vec![5]),
    ] {
        let other = if kind == Kind::Direct {
            Kind::Batched
        } else {
            Kind::Direct
        };
        assert_eq!(queue.take(other, 100), None);
        assert_eq!(queue.take(kind, 100), batch("k", &tags));
        queue.release("k");
    }
    assert_eq!((queue.0.keys(), queue.0.len()), (0, 0));
}

#[test]
fn a_flush_ends_the_linger_of_what_waits_and_of_nothing_later() {
    let mut queue = Queue::new();
    queue.push(1, "/", 0);
    queue.push(2, "/k", 0);
    queue.0.flush(at(5));
    queue.push(3, "/later", 6);
    assert_eq!(queue.batched(6), batch("", &[1]));
    assert_eq!(queue.batched(6), batch("k", &[2]));
    assert_eq!(queue.batched(25), None);
    assert_eq!(queue.batched(26), batch("later", &[3]));
}

#[test]
fn once_it_closes_nothing_lingers() {
    let mut queue = Queue::new();
    queue.push(1, "/k", 0);
    queue.0.close();
    queue.push(2, "/", 1);
    queue.push(3, "/other", 1);
    let taken: Vec<_> = std::iter::from_fn(|| queue.batched(1))
        .flat_map(|(_, tags)| tags)
        .collect();
    assert_eq!(taken.len(), 3);
}

#[test]
fn what_waits_behind_a_request_is_taken_out_in_order() {
    let mut queue = Queue::new();
    for tag in 1..=3 {
        queue.push(tag, "/k", 0);
    }
    assert_eq!(queue.batched(0), batch("k", &[1, 2, 3]));
    queue.push(4, "/k", 1);
    queue.push(5, "/k!", 1);
    queue.push(6, "/l", 1);
    assert_eq!(left(&queue.0.take_behind(&"k".into())), [4, 5]);
    assert!(queue.0.take_behind(&"k".into()).is_empty());
    assert_eq!((queue.0.len(), queue.0.keys()), (1, 2));
    queue.release("k");
    assert_eq!((queue.0.len(), queue.0.keys()), (1, 1));
    // Nothing is left of what its batch was counted as.
    queue.push(7, "/k", 2);
    queue.push(8, "/k", 2);
    assert_eq!(queue.batched(21), batch("l", &[6]));
    assert_eq!(queue.batched(22), batch("k", &[7, 8]));
}

#[test]
fn keys_without_a_request_are_taken_out_wherever_they_wait() {
    let mut queue = Queue::new();
    for tag in 1..=3 {
        queue.push(tag, "/busy", 0);
    }
    assert_eq!(queue.batched(0), batch("busy", &[1, 2, 3]));
    queue.push(4, "/busy", 0);
    queue.push(5, "/lingers", 0);
    queue.push(6, "/direct!", 0);
    queue.push(7, "/", 0);
    for tag in 11..=14 {
        queue.push(tag, "/ready", 0);
    }
    let mut taken = left(&queue.0.take_idle_keys());
    taken.sort_unstable();
    assert_eq!(taken, [5, 6, 11, 12, 13, 14]);
    assert_eq!((queue.0.len(), queue.0.keys()), (2, 1));
    assert_eq!(queue.0.due(Kind::Direct), None);
    assert_eq!(queue.batched(20), batch("", &[7]));
    queue.release("busy");
    assert_eq!(queue.batched(20), batch("busy", &[4]));
}
