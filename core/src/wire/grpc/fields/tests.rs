use proptest::prelude::*;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::*;

fn all(message: &[u8]) -> Result<Vec<(u32, Value<'_>)>, Malformed> {
    let mut fields = Fields::of(message);
    let mut read = Vec::new();
    while let Some(field) = fields.next()? {
        read.push(field);
    }
    Ok(read)
}

/// The same by prost; none where it finds fault.
fn by_prost(mut message: &[u8]) -> Option<Vec<(u32, Value<'_>)>> {
    let mut read = Vec::new();
    while !message.is_empty() {
        let (number, kind) = decode_key(&mut message).ok()?;
        let value = match kind {
            WireType::Varint => Value::Varint(decode_varint(&mut message).ok()?),
            WireType::LengthDelimited => {
                let len = usize::try_from(decode_varint(&mut message).ok()?).ok()?;
                let (bytes, rest) = message.split_at_checked(len)?;
                message = rest;
                Value::Bytes(bytes)
            }
            kind => {
                skip_field(kind, number, &mut message, DecodeContext::default()).ok()?;
                Value::Other
            }
        };
        read.push((number, value));
    }
    Some(read)
}

#[test]
fn fields_of_every_kind() {
    let message = b"\x08\x96\x01\x12\x02hi\x1d1234\x2112345678\x2b\x08\x01\x33\x34\x2c\x38\x7f";
    let read = all(message).unwrap();
    assert_eq!(
        read,
        [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Other),
            (4, Value::Other),
            (5, Value::Other),
            (7, Value::Varint(127)),
        ]
    );
    assert_eq!(read[0].1.int64(), Ok(150));
    assert_eq!(read[1].1.bytes(), Ok(&b"hi"[..]));
    assert_eq!(read[1].1.int32(), Err(Malformed));
    assert_eq!(read[2].1.bytes(), Err(Malformed));
}

#[test]
fn numbers_below_zero_have_ten_bytes() {
    let read = all(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").unwrap();
    assert_eq!((read[0].1.int64(), read[0].1.int32()), (Ok(-1), Ok(-1)));
}

#[test]
fn what_is_no_protobuf_is_told() {
    for bad in [
        &b"\x00\x01"[..],
        b"\x07",
        b"\x08",
        b"\x08\x80",
        b"\x12\x03hi",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
        b"\x80\x80\x80\x80\x10\x00",
        b"\x1d123",
        b"\x2b\x34",
        b"\x2b\x08\x01",
        b"\x2c",
    ] {
        assert_eq!(all(bad), Err(Malformed), "{bad:?}");
        assert_eq!(by_prost(bad), None, "{bad:?}");
    }
    let deep = vec![0x0B; 1_000_000];
    assert_eq!(all(&deep), Err(Malformed));
}

proptest! {
    #[test]
    fn it_reads_what_prost_reads(
        message in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            prop::collection::vec(prop::sample::select(&b"\x00\x01\x08\x12\x1b\x1c\x1d\x21\x7f\x80\xff"[..]), 0..40),
        ],
    ) {
        prop_assert_eq!(all(&message).ok(), by_prost(&message));
    }
}
