//! What a scripted server and token provider say.

use std::time::Duration;

use http::HeaderMap;
use pubsink_core::reason::TransportKind;
use pubsink_core::text::Text;
use pubsink_core::token::Token;
use pubsink_core::wire::Reply;

/// What a server does with a request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Whether it stores the messages, whatever it answers.
    pub(crate) stored: bool,
    /// How long it takes; none is the simulation's latency.
    pub(crate) after: Option<Duration>,
    pub(crate) what: What,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    /// 200 with the ids of the messages stored.
    Ids,
    Reply(Reply),
    Failed(TransportKind),
    Lost,
    Never,
}

impl Answer {
    fn of(what: What) -> Self {
        Self {
            stored: false,
            after: None,
            what,
        }
    }

    /// Every message is stored.
    pub(crate) fn stored() -> Self {
        Self::of(What::Ids).although_stored()
    }

    pub(crate) fn reply(reply: Reply) -> Self {
        Self::of(What::Reply(reply))
    }

    /// A Google error document.
    pub(crate) fn error(http: u16, status: &str) -> Self {
        Self::reply(error(http, status))
    }

    /// `INVALID_ARGUMENT`.
    pub(crate) fn refused() -> Self {
        Self::error(400, "INVALID_ARGUMENT")
    }

    pub(crate) fn failed(kind: TransportKind) -> Self {
        Self::of(What::Failed(kind))
    }

    /// The task that sends is gone.
    pub(crate) fn lost() -> Self {
        Self::of(What::Lost)
    }

    pub(crate) fn never() -> Self {
        Self::of(What::Never)
    }

    /// The messages are stored, whatever is answered.
    pub(crate) fn although_stored(mut self) -> Self {
        self.stored = true;
        self
    }

    pub(crate) fn after(mut self, after: Duration) -> Self {
        self.after = Some(after);
        self
    }
}

/// What a token provider does.
#[derive(Debug, Clone)]
pub(crate) struct TokenAnswer {
    pub(crate) token: Option<Result<Token, Text>>,
    pub(crate) lost: bool,
    pub(crate) after: Duration,
}

impl TokenAnswer {
    pub(crate) fn give(token: &str) -> Self {
        Self {
            token: Some(Ok(Token::new(token).unwrap())),
            ..Self::never()
        }
    }

    pub(crate) fn refuse(detail: &str) -> Self {
        Self {
            token: Some(Err(detail.into())),
            ..Self::never()
        }
    }

    pub(crate) fn lost() -> Self {
        Self {
            lost: true,
            ..Self::never()
        }
    }

    pub(crate) fn never() -> Self {
        Self {
            token: None,
            lost: false,
            after: Duration::ZERO,
        }
    }

    pub(crate) fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// A reply of `body`.
pub(crate) fn reply(status: u16, body: impl Into<bytes::Bytes>) -> Reply {
    Reply {
        status,
        headers: HeaderMap::new(),
        body: body.into(),
        received_at_ms: 0,
    }
}

/// 200 with these ids.
pub(crate) fn ids<'a>(ids: impl Iterator<Item = &'a str>) -> Reply {
    let ids: Vec<_> = ids.collect();
    reply(200, serde_json::json!({ "messageIds": ids }).to_string())
}

/// A Google error document.
pub(crate) fn error(http: u16, status: &str) -> Reply {
    let error =
        serde_json::json!({ "code": http, "message": "the server's text", "status": status });
    reply(http, serde_json::json!({ "error": error }).to_string())
}
