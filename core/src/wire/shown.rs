//! Foreign text, as failures keep it.

use crate::text::Text;
use crate::token::Token;

/// The head of `bytes` as text. Where it repeats `token`, as a proxy's error page may, that is
/// hidden.
pub(super) fn shown(bytes: &[u8], token: Option<&Token>) -> Text {
    match token.and_then(|token| token.hide_in(bytes)) {
        Some(hidden) => Text::capped(&hidden),
        None => Text::capped(bytes),
    }
}
