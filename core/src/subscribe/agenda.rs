//! What is due when. Much of it at the same instant: what one response brought is leased alike.

use std::collections::BTreeMap;
use std::time::Instant;

use super::numbered::{No, Numbered};

/// What is due, by its instant; at one instant in the order in which it was put down.
///
/// To put something down or strike it out costs as much as there are different instants, not as
/// there are things.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    instants: BTreeMap<Instant, Chain>,
    entries: Numbered<Entry<T>>,
}

/// What is due at one instant.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: No,
    end: No,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    what: T,
    before: Option<No>,
    next: Option<No>,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            instants: BTreeMap::new(),
            entries: Numbered::default(),
        }
    }
}

impl<T: Copy> Agenda<T> {
    /// Puts something down; by its number it is struck out.
    pub(super) fn insert(&mut self, at: Instant, what: T) -> No {
        let chain = self.instants.get_mut(&at);
        let entry = Entry {
            at,
            what,
            before: chain.as_ref().map(|chain| chain.end),
            next: None,
        };
        let no = self.entries.insert(entry);
        match chain {
            Some(chain) => {
                if let Some(before) = self.entries.get_mut(chain.end) {
                    before.next = Some(no);
                }
                chain.end = no;
            }
            None => {
                let alone = Chain { first: no, end: no };
                self.instants.insert(at, alone);
            }
        }
        no
    }

    pub(super) fn remove(&mut self, no: No) {
        let Some(Entry {
            at, before, next, ..
        }) = self.entries.remove(no)
        else {
            return;
        };
        if let Some(before) = before.and_then(|no| self.entries.get_mut(no)) {
            before.next = next;
        }
        if let Some(next) = next.and_then(|no| self.entries.get_mut(no)) {
            next.before = before;
        }
        match (before, next) {
            (Some(_), Some(_)) => {}
            (None, None) => {
                self.instants.remove(&at);
            }
            (before, next) => {
                if let Some(chain) = self.instants.get_mut(&at) {
                    chain.first = next.filter(|_| before.is_none()).unwrap_or(chain.first);
                    chain.end = before.filter(|_| next.is_none()).unwrap_or(chain.end);
                }
            }
        }
    }

    /// What is due first, and when.
    pub(super) fn first(&self) -> Option<(Instant, T)> {
        let (at, chain) = self.instants.first_key_value()?;
        Some((*at, self.entries.get(chain.first)?.what))
    }

    /// What is due until then, in order.
    pub(super) fn until(&self, until: Instant) -> impl Iterator<Item = T> {
        let chains = self.instants.range(..=until);
        chains.flat_map(move |(_, chain)| {
            let mut next = Some(chain.first);
            std::iter::from_fn(move || {
                let entry = self.entries.get(next?)?;
                next = entry.next;
                Some(entry.what)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn by_instant_and_then_in_the_order_of_entry() {
        #[expect(clippy::disallowed_methods, reason = "time has to begin somewhere")]
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let mut agenda = Agenda::default();
        let entries = [(2, 'c'), (1, 'a'), (2, 'd'), (3, 'f'), (2, 'e'), (1, 'b')];
        let numbers = entries.map(|(seconds, what)| agenda.insert(at(seconds), what));
        let text = |agenda: &Agenda<char>, until| agenda.until(at(until)).collect::<String>();
        assert_eq!(agenda.first(), Some((at(1), 'a')));
        assert_eq!(text(&agenda, 0), "");
        assert_eq!(text(&agenda, 2), "abcde");
        for (number, left) in [(2, "abcef"), (0, "abef"), (4, "abf"), (1, "bf"), (5, "f")] {
            agenda.remove(numbers[number]);
            assert_eq!(text(&agenda, 9), left);
        }
        agenda.remove(numbers[5]);
        assert_eq!(agenda.first(), Some((at(3), 'f')));
        agenda.remove(numbers[3]);
        assert_eq!((agenda.first(), agenda.instants.len()), (None, 0));
        agenda.insert(at(2), 'g');
        agenda.insert(at(2), 'h');
        assert_eq!(text(&agenda, 2), "gh");
    }
}
