//! What can go wrong with a request or a token.

use pubsink_core::reason::TransportKind;

use crate::sim::answers::{Answer, TokenAnswer, ids, reply};

/// What a server does with a request. In a pair of variants the second stores all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Refused,
    TooLarge,
    NotFound,
    Denied,
    Unauthenticated,
    Exhausted,
    RateLimited,
    Moved,
    NotConnected,
    Unavailable,
    UnavailableStored,
    Internal,
    InternalStored,
    AbortedStored,
    CutStored,
    TooFewIdsStored,
    TooManyIdsStored,
    Broken,
    BrokenStored,
    Silent,
    SilentStored,
    Lost,
    LostStored,
    /// Long after the timeout.
    LateStored,
}

impl Fault {
    pub(crate) const ALL: [Self; 25] = [
        Self::None,
        Self::Refused,
        Self::TooLarge,
        Self::NotFound,
        Self::Denied,
        Self::Unauthenticated,
        Self::Exhausted,
        Self::RateLimited,
        Self::Moved,
        Self::NotConnected,
        Self::Unavailable,
        Self::UnavailableStored,
        Self::Internal,
        Self::InternalStored,
        Self::AbortedStored,
        Self::CutStored,
        Self::TooFewIdsStored,
        Self::TooManyIdsStored,
        Self::Broken,
        Self::BrokenStored,
        Self::Silent,
        Self::SilentStored,
        Self::Lost,
        Self::LostStored,
        Self::LateStored,
    ];

    pub(crate) fn stores(self) -> bool {
        self.answer(1).stores()
    }

    pub(crate) fn answer(self, messages: usize) -> Answer {
        let error = Answer::error;
        let count = |count: usize| {
            let names: Vec<_> = (0..count).map(|n| format!("made up {n}")).collect();
            Answer::reply(ids(names.iter().map(String::as_str))).although_stored()
        };
        match self {
            Self::None | Self::LateStored => Answer::stored(),
            Self::Refused => Answer::refused(),
            Self::TooLarge => Answer::reply(reply(413, "")),
            Self::NotFound => error(404, "NOT_FOUND"),
            Self::Denied => error(403, "PERMISSION_DENIED"),
            Self::Unauthenticated => error(401, "UNAUTHENTICATED"),
            Self::Exhausted => error(429, "RESOURCE_EXHAUSTED"),
            Self::RateLimited => {
                let body = r#"{"error":{"code":403,"errors":[{"reason":"quotaExceeded"}]}}"#;
                Answer::reply(reply(403, body))
            }
            Self::Moved => Answer::reply(reply(302, "")),
            Self::NotConnected => Answer::failed(TransportKind::Connect),
            Self::Unavailable => error(503, "UNAVAILABLE"),
            Self::UnavailableStored => error(503, "UNAVAILABLE").although_stored(),
            Self::Internal => error(500, "INTERNAL"),
            Self::InternalStored => error(500, "INTERNAL").although_stored(),
            Self::AbortedStored => error(409, "ABORTED").although_stored(),
            Self::CutStored => Answer::reply(reply(200, r#"{"messageIds":["#)).although_stored(),
            Self::TooFewIdsStored => count(messages - 1),
            Self::TooManyIdsStored => count(messages + 1),
            Self::Broken => Answer::failed(TransportKind::Connection),
            Self::BrokenStored => Answer::failed(TransportKind::Connection).although_stored(),
            Self::Silent => Answer::never(),
            Self::SilentStored => Answer::never().although_stored(),
            Self::Lost => Answer::lost(),
            Self::LostStored => Answer::lost().although_stored(),
        }
    }

    /// How much longer than others it takes, in ms.
    pub(crate) fn delay(self) -> u64 {
        if self == Self::LateStored { 1_000 } else { 0 }
    }
}

/// What a token provider does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TokenFault {
    A,
    B,
    Refuses,
    Silent,
    Lost,
    /// Long after its time is over.
    Late,
}

impl TokenFault {
    pub(crate) const ALL: [Self; 6] = [
        Self::A,
        Self::B,
        Self::Refuses,
        Self::Silent,
        Self::Lost,
        Self::Late,
    ];

    pub(crate) fn gives(self) -> bool {
        matches!(self, Self::A | Self::B)
    }

    pub(crate) fn answer(self) -> TokenAnswer {
        match self {
            Self::A | Self::Late => TokenAnswer::give("token-a"),
            Self::B => TokenAnswer::give("token-b"),
            Self::Refuses => TokenAnswer::refuse("no"),
            Self::Silent => TokenAnswer::never(),
            Self::Lost => TokenAnswer::lost(),
        }
    }

    pub(crate) fn delay(self) -> u64 {
        if matches!(self, Self::Late) {
            31_000
        } else {
            0
        }
    }
}
