//! Things by number.

/// A thing's number: those that came later have higher ones, and none comes twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct No {
    serial: u64,
    /// Where it is. The place is used again; the number is not.
    place: usize,
}

#[cfg(test)]
impl No {
    pub(super) fn of(number: u64) -> Self {
        Self {
            serial: number,
            place: usize::MAX,
        }
    }
}

/// Things by number. To find one costs the same however many there are.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    last: u64,
    places: Vec<Place<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Place<T> {
    serial: u64,
    /// None: the place is free.
    thing: Option<T>,
}

/// Below this many, places are kept for the next burst.
const KEEP: usize = 1_024;

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            last: 0,
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Numbered<T> {
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn insert(&mut self, thing: T) -> No {
        self.last += 1;
        let serial = self.last;
        let thing = Some(thing);
        let taken = Place { serial, thing };
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place] = taken;
                place
            }
            None => {
                self.places.push(taken);
                self.places.len() - 1
            }
        };
        No { serial, place }
    }

    pub(super) fn get(&self, no: No) -> Option<&T> {
        let place = self.places.get(no.place)?;
        place.thing.as_ref().filter(|_| place.serial == no.serial)
    }

    pub(super) fn get_mut(&mut self, no: No) -> Option<&mut T> {
        let place = self.places.get_mut(no.place)?;
        let serial = place.serial;
        place.thing.as_mut().filter(|_| serial == no.serial)
    }

    pub(super) fn remove(&mut self, no: No) -> Option<T> {
        let place = self.places.get_mut(no.place)?;
        if place.serial != no.serial {
            return None;
        }
        let thing = place.thing.take()?;
        self.free.push(no.place);
        if self.is_empty() && self.places.len() > KEEP {
            (self.places, self.free) = (Vec::new(), Vec::new());
        }
        Some(thing)
    }

    /// All of them, in the order of their numbers: for moments that are rare.
    pub(super) fn sorted(&self) -> Vec<(No, &T)> {
        let places = self.places.iter().enumerate();
        let things = places.filter_map(|(place, known)| {
            let serial = known.serial;
            Some((No { serial, place }, known.thing.as_ref()?))
        });
        let mut things: Vec<_> = things.collect();
        things.sort_unstable_by_key(|(no, _)| *no);
        things
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(things: &Numbered<char>) -> String {
        let sorted = things.sorted().into_iter();
        sorted.map(|(_, thing)| *thing).collect()
    }

    #[test]
    fn they_are_found_by_number_and_stay_in_order() {
        let mut things = Numbered::default();
        let [a, b, c] = ['a', 'b', 'c'].map(|thing| things.insert(thing));
        assert!(a < b && b < c);
        assert_eq!(things.remove(b), Some('b'));
        let d = things.insert('d');
        assert!(c < d);
        assert_eq!(all(&things), "acd");
        // The place is used again, the number is not.
        assert_eq!((things.get(b), things.get(d)), (None, Some(&'d')));
        assert_eq!(things.remove(b), None);
        *things.get_mut(c).unwrap() = 'C';
        assert_eq!(things.get_mut(b), None);
        assert_eq!((things.remove(a), things.len()), (Some('a'), 2));
        assert_eq!((things.remove(d), all(&things).as_str()), (Some('d'), "C"));
        assert_eq!((things.remove(c), things.is_empty()), (Some('C'), true));
        assert_eq!(things.places.len(), 3);
        assert_eq!(things.get(No::of(1)), None);
    }

    #[test]
    fn the_memory_of_a_burst_is_given_back() {
        let mut things = Numbered::default();
        let all: Vec<_> = (0..=KEEP).map(|number| things.insert(number)).collect();
        for no in &all[1..] {
            things.remove(*no);
        }
        assert_eq!(things.places.len(), KEEP + 1);
        things.remove(all[0]);
        assert_eq!(things.places.capacity(), 0);
        let again = things.insert(7);
        assert!(all.iter().all(|no| *no < again));
        assert_eq!(things.get(again), Some(&7));
    }
}
