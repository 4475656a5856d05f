//! Whether the bodies of requests are compressed.

use super::OptionError;
#[cfg(feature = "gzip")]
use super::check;
#[cfg(feature = "gzip")]
use crate::limits::REQUEST_MAX_BODY_BYTES;

/// Whether the bodies of publish requests are compressed. Answers never are: none is asked for.
///
/// Compressing makes requests smaller and costs CPU on both sides: of webhooks 8 to 28 % is left at
/// level 1, at two to five times the CPU. It is done by the task that sends, in one piece, which
/// takes some 40 ms for a full request. While that is on its way it is held both ways. Nothing else
/// changes: Pub/Sub's limits, and so the batches, count the request as it is before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// They are sent as they are encoded.
    #[default]
    Off,
    /// By gzip, where that makes them smaller. With the feature `gzip`.
    #[cfg(feature = "gzip")]
    Gzip {
        /// The largest body, in bytes as encoded, that is sent as it is: 0 to 10,485,760. What
        /// fits a packet, some 1,400 bytes, gains nothing.
        above: usize,
        /// How much work goes into it: 1, the least, to 9. See [`Compression::GZIP_LEVEL`].
        level: u8,
    },
}

impl Compression {
    /// What [`Compression::gzip`] takes: the cheapest level. Webhooks get a third smaller again at
    /// level 4, for about half as much CPU more.
    #[cfg(feature = "gzip")]
    pub const GZIP_LEVEL: u8 = 1;

    /// gzip of bodies over `above` bytes, at level 1.
    #[cfg(feature = "gzip")]
    #[must_use]
    pub const fn gzip(above: usize) -> Self {
        let level = Self::GZIP_LEVEL;
        Self::Gzip { above, level }
    }

    pub(super) fn check(self) -> Result<(), OptionError> {
        match self {
            Self::Off => Ok(()),
            #[cfg(feature = "gzip")]
            Self::Gzip { above, level } => {
                check("gzip_above", above, 0..=REQUEST_MAX_BODY_BYTES)?;
                check("gzip_level", level.into(), 1..=9)
            }
        }
    }
}
