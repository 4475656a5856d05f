//! Names of a document's parts.

use std::collections::{BTreeMap, BTreeSet};

/// The names of one map of the document.
#[derive(Debug)]
pub(super) struct Names {
    /// What a name is made of where there is nothing to make it of.
    kind: &'static str,
    taken: BTreeSet<String>,
    /// By base, the number that was tried last.
    last: BTreeMap<String, usize>,
}

impl Names {
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            taken: BTreeSet::new(),
            last: BTreeMap::new(),
        }
    }

    /// A name for `text` that nothing has yet: its characters that a name may have, and a number
    /// behind it where that is another's name.
    pub(super) fn take(&mut self, text: &str) -> String {
        let base = sanitize(text, self.kind);
        let mut name = base.clone();
        while self.taken.contains(&name) {
            let number = self.last.entry(base.clone()).or_insert(1);
            *number += 1;
            name = format!("{base}-{number}");
        }
        self.taken.insert(name.clone());
        name
    }
}

/// What is longer is cut: a name is for people and for the identifiers of generated code.
const NAME_MAX: usize = 100;

/// What every object of JavaScript has, so that the official parser, which is written in it, takes
/// a part of that name for something else.
const INHERITED: [&str; 7] = [
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Every run of other characters becomes one `-`. A letter or digit comes first (`__proto__` is
/// inherited, too), and not `x-`, with which AsyncAPI's extensions begin.
fn sanitize(text: &str, kind: &str) -> String {
    let mut name = String::new();
    for character in text.chars() {
        if name.len() == NAME_MAX {
            break;
        }
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '_') {
            name.push(character);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_matches('-');
    if name.is_empty() {
        return kind.to_owned();
    }
    let plain = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !name.starts_with("x-")
        && !INHERITED.contains(&name);
    if plain {
        name.to_owned()
    } else {
        format!("{kind}-{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_no_name_has_become_one_dash() {
        let mut names = Names::new("channel");
        assert_eq!(names.take("projects/p/topics/t"), "projects-p-topics-t");
        assert_eq!(names.take("a.b_c-d"), "a.b_c-d");
        assert_eq!(names.take("  \"café\" "), "caf");
        assert_eq!(names.take("日本"), "channel");
        assert_eq!(names.take(""), "channel-2");
        assert_eq!(names.take("__proto__"), "channel-__proto__");
        assert_eq!(names.take("constructor"), "channel-constructor");
        assert_eq!(names.take("toString-"), "channel-toString");
        assert_eq!(names.take("x-internal"), "channel-x-internal");
    }

    #[test]
    fn what_would_be_the_same_gets_a_number() {
        let mut names = Names::new("source");
        let taken = ["a-2", "a b", "a", "a-", "a-2", "a-b"].map(|text| names.take(text));
        assert_eq!(taken, ["a-2", "a-b", "a", "a-3", "a-2-2", "a-b-2"]);
    }

    #[test]
    fn a_long_one_is_cut_and_still_unique() {
        let mut names = Names::new("source");
        assert_eq!(names.take(&"a".repeat(1 << 20)).len(), 100);
        assert_eq!(names.take(&"a".repeat(101)).len(), 102);
    }
}
