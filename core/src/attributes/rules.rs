//! Pub/Sub's rules for an attribute.

use crate::limits::{ATTRIBUTE_NAME_MAX_BYTES, ATTRIBUTE_NAME_RESERVED, ATTRIBUTE_VALUE_MAX_BYTES};
use crate::reason::InvalidMessage;
use crate::text::Text;

/// Whether Pub/Sub takes an attribute, or which rule it breaks.
pub(crate) fn check(name: &str, value: &str) -> Result<(), InvalidMessage> {
    let shown = || Text::capped(name.as_bytes());
    if name.is_empty() {
        return Err(InvalidMessage::EmptyAttributeName);
    }
    if name.len() > ATTRIBUTE_NAME_MAX_BYTES {
        return Err(InvalidMessage::AttributeNameTooLong {
            name: shown(),
            size: name.len(),
            max: ATTRIBUTE_NAME_MAX_BYTES,
        });
    }
    if name.starts_with(ATTRIBUTE_NAME_RESERVED) {
        return Err(InvalidMessage::ReservedAttributeName { name: shown() });
    }
    if value.len() > ATTRIBUTE_VALUE_MAX_BYTES {
        return Err(InvalidMessage::AttributeValueTooLong {
            name: shown(),
            size: value.len(),
            max: ATTRIBUTE_VALUE_MAX_BYTES,
        });
    }
    Ok(())
}
