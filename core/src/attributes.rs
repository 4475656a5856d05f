//! A message's attributes.

mod rules;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub(crate) use rules::check;

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
    Option<Arc<Set>>,
);

/// One set of attributes.
#[derive(Clone)]
enum Set {
    /// Put together one by one.
    Made(Made),
    /// As they were received: all text in one piece.
    Read { text: String, spans: Vec<Span> },
}

/// Attributes and what they come to.
#[derive(Clone, Default)]
struct Made {
    pairs: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    sizes: AttributeSizes,
    /// How many of them break a rule of Pub/Sub's.
    unfit: usize,
}

/// Where in such a text an attribute stands: its name, and its value behind that.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    middle: usize,
    end: usize,
}

/// What of attributes that were received is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotUtf8 {
    Name,
    Value,
}

impl Attributes {
    /// No attributes.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Attributes as they were received; of a name that comes twice the last value counts.
    ///
    /// They are copied into one piece, so that they do not keep what they came in.
    pub(crate) fn read(pairs: &[(&[u8], &[u8])]) -> Result<Self, NotUtf8> {
        if pairs.is_empty() {
            return Ok(Self::new());
        }
        let length = pairs.iter().map(|(name, value)| name.len() + value.len());
        let mut text = Vec::with_capacity(length.sum());
        let mut spans = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let start = text.len();
            text.extend_from_slice(name);
            let middle = text.len();
            text.extend_from_slice(value);
            let end = text.len();
            spans.push(Span { start, middle, end });
        }
        // All at once: if the whole is text, and no cut is within a character, so is each piece.
        let text = String::from_utf8(text).map_err(|_| not_utf8(pairs))?;
        let is_cut = |at| !text.is_char_boundary(at);
        if spans.iter().any(|of| is_cut(of.middle) || is_cut(of.end)) {
            return Err(not_utf8(pairs));
        }
        // In the order of text, which is that of its bytes.
        let name = |of: &Span| &text.as_bytes()[of.start..of.middle];
        if !spans.is_sorted_by(|one, next| name(one) < name(next)) {
            spans.sort_by(|one, other| name(one).cmp(name(other)));
            spans.dedup_by(|later, earlier| {
                let same = name(later) == name(earlier);
                if same {
                    *earlier = *later;
                }
                same
            });
        }
        Ok(Self(Some(Arc::new(Set::Read { text, spans }))))
    }

    /// Sets `name` to `value`; a value it had is replaced.
    pub fn insert(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) {
        let set = self
            .0
            .get_or_insert_with(|| Arc::new(Set::Made(Made::default())));
        Arc::make_mut(set).insert(name.into(), value.into());
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        match &**self.0.as_ref()? {
            Set::Made(Made { pairs, .. }) => {
                let at = pairs.binary_search_by(|(known, _)| (**known).cmp(name));
                at.ok().map(|at| &*pairs[at].1)
            }
            Set::Read { text, spans } => {
                let at = spans.binary_search_by(|known| known.name(text).cmp(name));
                at.ok().map(|at| spans[at].value(text))
            }
        }
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        (0..self.len()).map(|at| match self.0.as_deref() {
            Some(Set::Made(Made { pairs, .. })) => (&*pairs[at].0, &*pairs[at].1),
            Some(Set::Read { text, spans }) => (spans[at].name(text), spans[at].value(text)),
            None => ("", ""),
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0.as_deref() {
            Some(Set::Made(Made { pairs, .. })) => pairs.len(),
            Some(Set::Read { spans, .. }) => spans.len(),
            None => 0,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How long names and values are, together.
    pub(crate) fn text_len(&self) -> usize {
        let all = self.iter();
        all.map(|(name, value)| name.len() + value.len()).sum()
    }

    /// What they come to.
    pub(crate) fn sizes(&self) -> AttributeSizes {
        match self.0.as_deref() {
            Some(Set::Made(made)) => made.sizes,
            // Measured when they are sent on, which few are.
            Some(Set::Read { .. }) | None => {
                let mut sizes = AttributeSizes::default();
                for (name, value) in self.iter() {
                    sizes.add(&AttributeSizes::of(name, value));
                }
                sizes
            }
        }
    }

    /// Whether one of them may break a rule of Pub/Sub's, which a look at each tells.
    pub(crate) fn may_break_a_rule(&self) -> bool {
        match self.0.as_deref() {
            Some(Set::Made(made)) => made.unfit > 0,
            Some(Set::Read { .. }) => true,
            None => false,
        }
    }

    /// Whether these are clones of one set, and so the same without a look at them.
    pub(crate) fn are_shared_with(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(these), Some(others)) => Arc::ptr_eq(these, others),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Set {
    fn insert(&mut self, name: Cow<'static, str>, value: Cow<'static, str>) {
        if let Self::Read { text, spans } = self {
            let mut made = Made::default();
            for of in spans {
                let (name, value) = (of.name(text).to_owned(), of.value(text).to_owned());
                made.insert(name.into(), value.into());
            }
            *self = Self::Made(made);
        }
        if let Self::Made(made) = self {
            made.insert(name, value);
        }
    }
}

impl Made {
    fn insert(&mut self, name: Cow<'static, str>, value: Cow<'static, str>) {
        let Self {
            pairs,
            sizes,
            unfit,
        } = self;
        sizes.add(&AttributeSizes::of(&name, &value));
        *unfit += usize::from(check(&name, &value).is_err());
        // Callers that come in order, as the hook encoder does, never search.
        if pairs.last().is_none_or(|(last, _)| *last < name) {
            pairs.push((name, value));
            return;
        }
        match pairs.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => {
                let before = std::mem::replace(&mut pairs[at].1, value);
                sizes.remove(&AttributeSizes::of(&name, &before));
                *unfit -= usize::from(check(&name, &before).is_err());
            }
            Err(at) => pairs.insert(at, (name, value)),
        }
    }
}

impl Span {
    fn name(self, text: &str) -> &str {
        text.get(self.start..self.middle).unwrap_or_default()
    }

    fn value(self, text: &str) -> &str {
        text.get(self.middle..self.end).unwrap_or_default()
    }
}

/// The first piece that is no text.
fn not_utf8(pairs: &[(&[u8], &[u8])]) -> NotUtf8 {
    let is_text = |bytes| std::str::from_utf8(bytes).is_ok();
    let first = pairs
        .iter()
        .find(|(name, value)| !is_text(name) || !is_text(value));
    match first {
        Some((name, _)) if !is_text(name) => NotUtf8::Name,
        _ => NotUtf8::Value,
    }
}

impl PartialEq for Attributes {
    fn eq(&self, other: &Self) -> bool {
        self.are_shared_with(other) || self.iter().eq(other.iter())
    }
}

impl Eq for Attributes {}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<_> = self.iter().collect();
        f.debug_tuple("Attributes").field(&pairs).finish()
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
mod tests;
