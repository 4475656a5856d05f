//! Byte ranges, by RFC 9110, section 14.

use std::ops::Range;

use http::{HeaderMap, HeaderValue, header};

/// One range of bytes, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// From a position to the end.
    From(u64),
    /// From a position to another one, which is part of it.
    Between(u64, u64),
    /// So many at the end.
    Last(u64),
}

/// What a range is of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resolved {
    /// All of it, since there is no way to write down a part of nothing.
    Whole,
    /// This part, which is not empty.
    Part(Range<u64>),
    /// None of it.
    Outside,
}

impl ByteRange {
    pub(super) fn resolve(self, size: u64) -> Resolved {
        match self {
            Self::Last(0) => Resolved::Outside,
            Self::Last(_) if size == 0 => Resolved::Whole,
            Self::Last(count) => Resolved::Part(size.saturating_sub(count)..size),
            Self::From(first) | Self::Between(first, _) if first >= size => Resolved::Outside,
            Self::From(first) => Resolved::Part(first..size),
            Self::Between(first, last) => Resolved::Part(first..size.min(last.saturating_add(1))),
        }
    }
}

/// The range a request asks for. None for everything else, which is served whole: several ranges,
/// another unit, a header that is malformed or there twice, or an `if-range`, whose validator
/// cannot match since there are none.
pub(super) fn of(headers: &HeaderMap) -> Option<ByteRange> {
    if headers.contains_key(header::IF_RANGE) {
        return None;
    }
    let mut values = headers.get_all(header::RANGE).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    parse(value)
}

fn parse(value: &HeaderValue) -> Option<ByteRange> {
    let (unit, ranges) = value.to_str().ok()?.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    // A list may have empty elements.
    let mut ranges = ranges
        .split(',')
        .map(|range| range.trim_matches([' ', '\t']))
        .filter(|range| !range.is_empty());
    let range = ranges.next().filter(|_| ranges.next().is_none())?;
    match range.split_once('-')? {
        ("", last) => Some(ByteRange::Last(number(last)?)),
        (first, "") => Some(ByteRange::From(number(first)?)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(ByteRange::Between(first, last))
        }
    }
}

/// Digits only. What is too large to count is larger than any object.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<ByteRange> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, value.parse().unwrap());
        of(&headers)
    }

    #[test]
    fn one_range_is_read() {
        for (value, range) in [
            ("bytes=0-499", ByteRange::Between(0, 499)),
            ("bytes=500-500", ByteRange::Between(500, 500)),
            ("bytes=9500-", ByteRange::From(9_500)),
            ("bytes=-500", ByteRange::Last(500)),
            ("BYTES=0007-", ByteRange::From(7)),
            ("bytes= 1-2 ,\t, ", ByteRange::Between(1, 2)),
            ("bytes=,1-", ByteRange::From(1)),
            (
                "bytes=99999999999999999999-999999999999999999999",
                ByteRange::Between(u64::MAX, u64::MAX),
            ),
        ] {
            assert_eq!(read(value), Some(range), "{value}");
        }
    }

    #[test]
    fn everything_else_is_no_range() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=,",
            "bytes=5-4",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=1-2-3",
            "bytes=1--2",
            "bytes=0-0,2-3",
            "bytes=0-0,0-0",
            "items=0-1",
            "bytes =0-1",
            "bytes=0 -1",
            "bytes=0x1-2",
            "bytes=１-2",
            "0-1",
        ] {
            assert_eq!(read(value), None, "{value}");
        }
        let mut headers = HeaderMap::new();
        headers.append(header::RANGE, "bytes=0-1".parse().unwrap());
        headers.insert(header::IF_RANGE, "\"etag\"".parse().unwrap());
        assert_eq!(of(&headers), None);
        headers.remove(header::IF_RANGE);
        headers.append(header::RANGE, "bytes=0-1".parse().unwrap());
        assert_eq!(of(&headers), None);
    }

    #[test]
    fn a_range_is_within_its_object() {
        use ByteRange::{Between, From, Last};
        for (range, size, resolved) in [
            (Between(0, 499), 10_000, Resolved::Part(0..500)),
            (Between(0, 499), 100, Resolved::Part(0..100)),
            (Between(99, u64::MAX), 100, Resolved::Part(99..100)),
            (Between(100, 100), 100, Resolved::Outside),
            (Between(0, 0), 0, Resolved::Outside),
            (From(0), 100, Resolved::Part(0..100)),
            (From(99), 100, Resolved::Part(99..100)),
            (From(100), 100, Resolved::Outside),
            (From(0), 0, Resolved::Outside),
            (Last(1), 100, Resolved::Part(99..100)),
            (Last(u64::MAX), 100, Resolved::Part(0..100)),
            (Last(0), 100, Resolved::Outside),
            (Last(0), 0, Resolved::Outside),
            (Last(5), 0, Resolved::Whole),
        ] {
            assert_eq!(range.resolve(size), resolved, "{range:?} of {size}");
        }
    }
}
