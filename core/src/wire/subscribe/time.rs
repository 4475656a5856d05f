//! When something was published, as unix milliseconds.

/// Reads an RFC 3339 time with any number of fraction digits up to nine. What is finer than a
/// millisecond is dropped.
pub(super) fn parse_rfc3339(text: &str) -> Option<i64> {
    let [
        y0,
        y1,
        y2,
        y3,
        b'-',
        m0,
        m1,
        b'-',
        d0,
        d1,
        b'T' | b't',
        rest @ ..,
    ] = text.as_bytes()
    else {
        return None;
    };
    let [h0, h1, b':', n0, n1, b':', s0, s1, rest @ ..] = rest else {
        return None;
    };
    let year = number(&[*y0, *y1, *y2, *y3])?;
    let (month, day) = (number(&[*m0, *m1])?, number(&[*d0, *d1])?);
    let (hour, minute) = (number(&[*h0, *h1])?, number(&[*n0, *n1])?);
    // 60 is a leap second.
    let second = number(&[*s0, *s1])?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (millis, rest) = fraction(rest)?;
    let seconds = (days(year, month, day)? * 24 + hour) * 3_600 + minute * 60 + second;
    Some((seconds - offset(rest)?) * 1_000 + millis)
}

/// A protobuf timestamp.
pub(super) fn from_timestamp(seconds: i64, nanos: i32) -> i64 {
    let millis = i64::from(nanos.clamp(0, 999_999_999)) / 1_000_000;
    seconds.saturating_mul(1_000).saturating_add(millis)
}

/// A number of nothing but digits.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        Some(number * 10 + i64::from(digit))
    })
}

/// The milliseconds of a fraction, if there is one, and what follows it.
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(text) = text.strip_prefix(b".") else {
        return Some((0, text));
    };
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(len);
    if !(1..=9).contains(&len) {
        return None;
    }
    let mut millis = *b"000";
    let kept = len.min(3);
    millis[..kept].copy_from_slice(&digits[..kept]);
    Some((number(&millis)?, rest))
}

/// The seconds that local time is ahead.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, time) = match text {
        [b'Z' | b'z'] => return Some(0),
        [b'+', time @ ..] => (1, time),
        [b'-', time @ ..] => (-1, time),
        _ => return None,
    };
    let [h0, h1, b':', m0, m1] = time else {
        return None;
    };
    let (hours, minutes) = (number(&[*h0, *h1])?, number(&[*m0, *m1])?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let of_months = (153 * month + 2) / 5;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    Some(year * 365 + leap_days + of_months + day - 1 - 719_468)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_as_servers_write_them() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-30T13:00:47.953Z", 1_796_043_647_953),
            ("2000-02-29T23:59:59.999999999Z", 951_868_799_999),
            ("2026-11-30T13:00:47.9Z", 1_796_043_647_900),
            ("2026-11-30T13:00:47.000001Z", 1_796_043_647_000),
            ("2026-11-30t13:00:47z", 1_796_043_647_000),
            ("2026-11-30T14:30:47+01:30", 1_796_043_647_000),
            ("2026-11-30T08:00:47.5-05:00", 1_796_043_647_500),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("1969-12-31T23:59:59.25Z", -750),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ] {
            assert_eq!(parse_rfc3339(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026-11-30",
            "2026-11-30T13:00:47",
            "2026-11-30 13:00:47Z",
            "2026-11-31T13:00:47Z",
            "2026-02-29T13:00:47Z",
            "1900-02-29T13:00:47Z",
            "2026-00-01T13:00:47Z",
            "2026-13-01T13:00:47Z",
            "2026-11-00T13:00:47Z",
            "2026-11-30T24:00:47Z",
            "2026-11-30T13:60:47Z",
            "2026-11-30T13:00:61Z",
            "2026-11-30T13:00:47.Z",
            "2026-11-30T13:00:47.0123456789Z",
            "2026-11-30T13:00:47Zx",
            "2026-11-30T13:00:47+1:00",
            "2026-11-30T13:00:47+24:00",
            "+026-11-30T13:00:47Z",
            "é026-11-30T13:00:47Z",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn a_timestamp_outside_all_ranges_is_no_panic() {
        assert_eq!(from_timestamp(1, 500_999_999), 1_500);
        assert_eq!(from_timestamp(-1, 250_000_000), -750);
        assert_eq!(from_timestamp(i64::MAX, i32::MAX), i64::MAX);
        assert_eq!(from_timestamp(i64::MIN, i32::MIN), i64::MIN);
    }

    proptest! {
        /// Against the dates of another library.
        #[test]
        fn every_second_is_its_own(seconds in 0..253_402_300_799_i64) {
            let at = UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs());
            // Sun, 06 Nov 1994 08:49:37 GMT
            let date = httpdate::fmt_http_date(at);
            let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
            let month = months.find(&date[8..11]).unwrap() / 3 + 1;
            let text = format!("{}-{month:02}-{}T{}Z", &date[12..16], &date[5..7], &date[17..25]);
            prop_assert_eq!(parse_rfc3339(&text), Some(seconds * 1_000));
        }

        #[test]
        fn any_text_is_a_time_or_none(text in "[0-9TZ:.+-]{0,40}") {
            let _ = parse_rfc3339(&text);
        }
    }
}
