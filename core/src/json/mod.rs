//! JSON text: written straight into a buffer, and read with the place of every fault.

mod read;
mod write;

pub(crate) use read::{JsonError, Reader, Value};
pub(crate) use write::{
    append, base64_len, escaped_len, plain_ascii_head, plain_prefix, write_base64, write_escaped,
    write_hex, write_integer, write_optional_string, write_plain_string, write_string,
};
