//! Protobuf, read by hand for the shapes that come often: field by field, as slices.

/// How deep groups may lie in one another. Nothing we read has any.
const GROUPS_MAX: usize = 100;

/// The fields of a message, one after another.
#[derive(Debug, Clone)]
pub(in crate::wire) struct Fields<'a>(&'a [u8]);

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::wire) enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// A number of fixed width, or a group: nothing we read has one.
    Other,
}

/// The bytes are no protobuf, or a field is not of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::wire) struct Malformed;

impl<'a> Fields<'a> {
    #[inline]
    pub(in crate::wire) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// The next field, and its number.
    #[inline]
    pub(in crate::wire) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (number, kind) = self.key()?;
        let value = match kind {
            VARINT => Value::Varint(self.varint()?),
            BYTES => Value::Bytes(self.bytes()?),
            kind => {
                self.skip(number, kind, GROUPS_MAX)?;
                Value::Other
            }
        };
        Ok(Some((number, value)))
    }

    #[inline]
    fn key(&mut self) -> Result<(u32, u8), Malformed> {
        let key = u32::try_from(self.varint()?).map_err(|_| Malformed)?;
        let [low, ..] = key.to_le_bytes();
        match key >> 3 {
            0 => Err(Malformed),
            number => Ok((number, low & 7)),
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Malformed> {
        // Nearly all are of one byte.
        if let [byte @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*byte));
        }
        let mut value = 0;
        for (at, byte) in self.0.iter().enumerate().take(10) {
            // Of the tenth byte there is room for one bit.
            if at == 9 && *byte > 1 {
                return Err(Malformed);
            }
            value |= u64::from(byte & 0x7F) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    #[inline]
    fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        self.take(len)
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Passes over what a field of this kind holds.
    fn skip(&mut self, number: u32, kind: u8, groups: usize) -> Result<(), Malformed> {
        match kind {
            VARINT => self.varint().map(drop),
            FIXED_64 => self.take(8).map(drop),
            BYTES => self.bytes().map(drop),
            FIXED_32 => self.take(4).map(drop),
            GROUP => {
                let groups = groups.checked_sub(1).ok_or(Malformed)?;
                loop {
                    match self.key()? {
                        (end, GROUP_END) if end == number => return Ok(()),
                        (inner, kind) => self.skip(inner, kind, groups)?,
                    }
                }
            }
            // Also the end of a group that did not begin.
            _ => Err(Malformed),
        }
    }
}

impl<'a> Value<'a> {
    #[inline]
    pub(in crate::wire) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Other => Err(Malformed),
        }
    }

    pub(in crate::wire) fn int64(self) -> Result<i64, Malformed> {
        match self {
            Self::Varint(value) => Ok(value.cast_signed()),
            Self::Bytes(_) | Self::Other => Err(Malformed),
        }
    }

    /// The lower half of what was sent, as protobuf says.
    pub(in crate::wire) fn int32(self) -> Result<i32, Malformed> {
        let [a, b, c, d, ..] = self.int64()?.to_le_bytes();
        Ok(i32::from_le_bytes([a, b, c, d]))
    }
}

const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const BYTES: u8 = 2;
const GROUP: u8 = 3;
const GROUP_END: u8 = 4;
const FIXED_32: u8 = 5;

#[cfg(test)]
mod tests;
