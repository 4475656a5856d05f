//! Which lines were told of although an earlier run kept them: each is told of once.

use std::collections::HashMap;

use super::names::LineName;

/// Lines of one chunk.
const CHUNK: usize = 4_096;

/// Two bytes for each line that is marked, and nothing for the others: what a run enqueues itself
/// is told of once anyhow.
#[derive(Debug, Default)]
pub(super) struct Told {
    chunks: HashMap<u64, Box<[u16]>>,
}

impl Told {
    /// Marks a line; whether it was not marked before. Another text under the same number is
    /// another line.
    pub(super) fn is_first(&mut self, name: LineName) -> bool {
        let LineName { line, print } = name;
        let chunk = self.chunks.entry(line / CHUNK as u64);
        let chunk = chunk.or_insert_with(|| vec![0; CHUNK].into());
        let index = usize::try_from(line % CHUNK as u64).unwrap_or_default();
        let Some(mark) = chunk.get_mut(index) else {
            return true;
        };
        // 0 is no mark.
        let print = print.max(1);
        std::mem::replace(mark, print) != print
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_of_once_and_another_text_is_another_line() {
        let mut told = Told::default();
        for line in [0, 1, 4_095, 4_096, u64::MAX] {
            for print in [0, 7, u16::MAX] {
                let name = LineName { line, print };
                assert!(told.is_first(name), "{name:?}");
                assert!(!told.is_first(name), "{name:?}");
            }
        }
        assert_eq!(told.chunks.len(), 3);
    }
}
