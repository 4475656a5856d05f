//! Input lines, read on a thread of their own.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use async_channel::{Receiver, Sender};

use super::read_ahead::{Held, ReadAhead};
use crate::exit::CommandError;

/// The longest line taken: far above the largest body that Pub/Sub takes, and a bound on memory.
const LINE_MAX: usize = 64 * 1024 * 1024;
/// How many lines are read ahead, and how many bytes of them.
const READ_AHEAD: usize = 64;
const READ_AHEAD_BYTES: usize = 8 * 1024 * 1024;
/// What some programs write before UTF-8 text; no part of it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line of input.
#[derive(Debug)]
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its bytes, without the line's end.
    pub(super) text: Vec<u8>,
    /// Whether it was longer than can be taken, and was cut.
    pub(super) cut: bool,
    /// How many bytes of input end with it.
    pub(super) position: u64,
    /// Its share of what is read ahead.
    _held: Held,
}

/// Lines as they come, or why there are no more.
pub(super) type Lines = Receiver<io::Result<Line>>;

/// No lines at all.
pub(super) fn none() -> Lines {
    async_channel::bounded(1).1
}

/// What is read.
#[derive(Debug)]
pub(super) struct Input {
    file: File,
    metadata: Option<Metadata>,
}

impl Input {
    /// Opens a file, or standard input for `-`; `flag` named it.
    pub(super) fn open(flag: &str, path: &Path) -> Result<Self, CommandError> {
        let what = || format!("cannot open {flag} {}", path.display());
        let file = if path == Path::new("-") {
            io::stdin().as_fd().try_clone_to_owned().map(File::from)
        } else {
            File::open(path)
        };
        let file = file.map_err(|error| CommandError::new(what(), error))?;
        let metadata = file.metadata().ok();
        if metadata.as_ref().is_some_and(Metadata::is_dir) {
            return Err(CommandError::new(what(), "it is a directory"));
        }
        Ok(Self { file, metadata })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Its size, where that is known.
    pub(super) fn size(&self) -> Option<u64> {
        let data = self.metadata.as_ref().filter(|data| data.is_file());
        data.map(Metadata::len)
    }

    /// Whether a person types it.
    pub(super) fn is_typed(&self) -> bool {
        self.file.is_terminal()
    }

    /// Its lines.
    pub(super) fn read(self) -> Lines {
        let (sender, receiver) = async_channel::bounded(READ_AHEAD);
        thread::spawn(move || read(BufReader::with_capacity(1 << 16, self.file), &sender));
        receiver
    }
}

/// Reads to the end, or until nobody listens.
fn read(mut input: impl BufRead, sender: &Sender<io::Result<Line>>) {
    let ahead = ReadAhead::new(READ_AHEAD_BYTES);
    let mut number = 0;
    let mut position = 0;
    loop {
        let line = next_line(&mut input, number + 1, &mut position, &ahead);
        number += 1;
        let Some(line) = line.transpose() else {
            return;
        };
        let failed = line.is_err();
        if sender.send_blocking(line).is_err() || failed {
            return;
        }
    }
}

fn next_line(
    input: &mut impl BufRead,
    number: u64,
    position: &mut u64,
    ahead: &Arc<ReadAhead>,
) -> io::Result<Option<Line>> {
    let mut text = Vec::new();
    let limit = LINE_MAX as u64 + 1;
    let mut read = input.by_ref().take(limit).read_until(b'\n', &mut text)? as u64;
    if read == 0 {
        return Ok(None);
    }
    let cut = text.len() > LINE_MAX && text.last() != Some(&b'\n');
    if cut {
        text.truncate(LINE_MAX);
        read += skip_line(input)?;
    }
    *position += read;
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    if number == 1 && text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(Some(Line {
        number,
        _held: ahead.take(text.len()),
        text,
        cut,
        position: *position,
    }))
}

fn skip_line(input: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        skipped += used as u64;
        if end.is_some() {
            return Ok(skipped);
        }
    }
}

impl Line {
    /// What is wrong with a line that was cut.
    pub(super) const TOO_LONG: &str = "longer than 64 MiB; only its head is kept";

    /// Whether there is nothing on it.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut input: &[u8]) -> Vec<Line> {
        let ahead = ReadAhead::new(usize::MAX);
        let mut position = 0;
        (1..)
            .map_while(|number| next_line(&mut input, number, &mut position, &ahead).unwrap())
            .collect()
    }

    #[test]
    fn lines_are_numbered_and_the_last_one_needs_no_end() {
        let lines = lines(b"one\n\nthree");
        let texts: Vec<_> = lines
            .iter()
            .map(|line| (line.number, &line.text[..]))
            .collect();
        assert_eq!(texts, [(1, &b"one"[..]), (2, b""), (3, b"three")]);
        assert_eq!(lines[2].position, 10);
        assert!(lines[1].is_blank());
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_head_and_nowhere_else() {
        let lines = lines(b"\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n");
        assert_eq!(
            (&lines[0].text[..], &lines[1].text[..]),
            (&b"one"[..], &b"\xEF\xBB\xBFtwo"[..])
        );
        assert_eq!((lines[0].position, lines[1].position), (7, 14));
    }

    #[test]
    fn an_endless_line_is_cut_and_the_next_one_is_whole() {
        let mut input = vec![b'x'; LINE_MAX + 10];
        input.extend_from_slice(b"\nnext\n");
        let lines = lines(&input);
        assert_eq!((lines[0].text.len(), lines[0].cut), (LINE_MAX, true));
        assert_eq!((&lines[1].text[..], lines[1].cut), (&b"next"[..], false));
        assert_eq!(lines[1].position, input.len() as u64);
    }
}
