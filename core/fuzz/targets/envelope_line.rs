//! A line is a hook, or an error with its column; a hook written as a line reads back the same.

use pubsink_core::envelope_line::{parse, to_line};

pub(crate) fn run(data: &[u8]) {
    match parse(data) {
        Ok(line) => {
            let envelope = line.into_envelope(|| "made-up".to_owned(), 1_764_500_000_000);
            let written = to_line(&envelope);
            assert!(!written.contains('\n'));
            let again = parse(written.as_bytes()).expect("what we write, we read");
            let again = again.into_envelope(|| unreachable!(), 0);
            assert_eq!(again, envelope);
        }
        Err(error) => {
            assert!(
                error.column >= 1 && error.column <= data.len() + 1,
                "{error}"
            );
        }
    }
}
