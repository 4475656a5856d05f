//! A message's attributes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::wire::size::AttributeSizes;

/// A message's attributes, sorted by name, each name once.
///
/// A clone shares them until one of the two is changed. Messages with the same attributes are
/// cheapest as clones of one set: it is measured once, and those that stand together in a request
/// are encoded once.
///
/// Pub/Sub's limits on them are checked at [admission](crate::publish::Admission), so that a
/// refusal can name the attribute.
#[derive(Clone, Default)]
pub struct Attributes(
    /// None where there are none, which costs nothing.
    Option<Arc<Pairs>>,
);

/// The attributes and what they come to.
#[derive(Clone, Default)]
struct Pairs {
    pairs: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    sizes: AttributeSizes,
}

impl Attributes {
    /// No attributes.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Sets `name` to `value`; a value it had is replaced.
    pub fn insert(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) {
        let (name, value) = (name.into(), value.into());
        let Pairs { pairs, sizes } = Arc::make_mut(self.0.get_or_insert_default());
        sizes.add(&AttributeSizes::of(&name, &value));
        // Callers that come in order, as the hook encoder does, never search.
        if pairs.last().is_none_or(|(last, _)| *last < name) {
            pairs.push((name, value));
            return;
        }
        match pairs.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => {
                let before = std::mem::replace(&mut pairs[at].1, value);
                sizes.remove(&AttributeSizes::of(&name, &before));
            }
            Err(at) => pairs.insert(at, (name, value)),
        }
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let pairs = self.pairs();
        let at = pairs.binary_search_by(|(known, _)| (**known).cmp(name));
        at.ok().map(|at| &*pairs[at].1)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs().iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What they come to.
    pub(crate) fn sizes(&self) -> AttributeSizes {
        self.0
            .as_ref()
            .map_or_else(Default::default, |all| all.sizes)
    }

    /// Whether these are clones of one set, and so the same without a look at them.
    pub(crate) fn are_shared_with(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(these), Some(others)) => Arc::ptr_eq(these, others),
            (None, None) => true,
            _ => false,
        }
    }

    fn pairs(&self) -> &[(Cow<'static, str>, Cow<'static, str>)] {
        self.0.as_ref().map_or(&[], |all| &all.pairs)
    }
}

impl PartialEq for Attributes {
    fn eq(&self, other: &Self) -> bool {
        self.are_shared_with(other) || self.pairs() == other.pairs()
    }
}

impl Eq for Attributes {}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attributes").field(&self.pairs()).finish()
    }
}

impl<N: Into<Cow<'static, str>>, V: Into<Cow<'static, str>>> FromIterator<(N, V)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut attributes = Self::new();
        for (name, value) in pairs {
            attributes.insert(name, value);
        }
        attributes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_whatever_the_order_of_insertion_and_the_last_value_wins() {
        let attributes: Attributes = [("b", "1"), ("a", "2"), ("c", "3"), ("b", "4")]
            .into_iter()
            .collect();
        let pairs: Vec<_> = attributes.iter().collect();
        assert_eq!(pairs, [("a", "2"), ("b", "4"), ("c", "3")]);
        assert_eq!(attributes.get("b"), Some("4"));
        assert_eq!(attributes.get("d"), None);
    }

    #[test]
    fn a_clone_is_changed_alone() {
        let first: Attributes = [("a", "1"), ("b", "2")].into_iter().collect();
        let mut second = first.clone();
        assert!(second.are_shared_with(&first));
        second.insert("a", "other");
        assert!(!second.are_shared_with(&first));
        assert_eq!(
            (first.get("a"), second.get("a")),
            (Some("1"), Some("other"))
        );
        second.insert("a", "1");
        assert_eq!(first, second);
        assert_eq!(
            format!("{second:?}"),
            r#"Attributes([("a", "1"), ("b", "2")])"#
        );
    }

    #[test]
    fn what_was_replaced_is_not_counted() {
        let mut replaced: Attributes = [("a", "a \"long\" value"), ("é", "2")]
            .into_iter()
            .collect();
        replaced.insert("a", "1");
        let fresh: Attributes = [("a", "1"), ("é", "2")].into_iter().collect();
        assert_eq!(replaced.sizes(), fresh.sizes());
        assert_eq!(Attributes::new().sizes(), AttributeSizes::default());
    }
}
