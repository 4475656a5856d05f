//! A message's attributes.

use std::borrow::Cow;

/// A message's attributes, sorted by name, each name once.
///
/// Pub/Sub's limits on them are checked at [admission](crate::publish::Admission), so that a
/// refusal can name the attribute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(Vec<(Cow<'static, str>, Cow<'static, str>)>);

impl Attributes {
    /// No attributes.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets `name` to `value`; a value it had is replaced.
    pub fn insert(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) {
        let (name, value) = (name.into(), value.into());
        // Callers that come in order, as the hook encoder does, never search.
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            self.0.push((name, value));
            return;
        }
        match self.0.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name));
        at.ok().map(|at| &*self.0[at].1)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
}
