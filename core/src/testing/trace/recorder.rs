//! Writing a trace.

use std::borrow::Cow;
use std::fmt;
use std::time::Instant;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use serde::Serialize;

use super::grpc;
use super::line::{Admitted, Blob, Done, Ended, Given, Line, Replied, nanos};
use super::setup::Setup;
use crate::failure::Failure;
use crate::publish::{Admission, Arrived, Content, Input, Output, RequestId, Response, Step};
use crate::token::Token;
use crate::wire::Reply;

/// Makes the lines of a trace.
pub(super) struct Recorder {
    sink: Box<dyn FnMut(&str) + Send>,
    /// The first instant seen.
    start: Option<Instant>,
    /// Tokens are known by their place here.
    tokens: Vec<Token>,
    /// The last line, where it is a wait.
    waits: Option<String>,
}

impl Recorder {
    pub(super) fn new(setup: &Setup, sink: Box<dyn FnMut(&str) + Send>) -> Self {
        let mut recorder = Self {
            sink,
            start: None,
            tokens: Vec::new(),
            waits: None,
        };
        recorder.write(setup);
        recorder
    }

    pub(super) fn input<T: fmt::Debug>(&mut self, now: Instant, input: &Input<T>) {
        // Before any other time is measured from it.
        self.since_start(now);
        let given = match input {
            Input::Admit { tag, admission } => Given::Admit(admitted(tag, admission)),
            Input::Token { request, token } => {
                self.token_given(*request, token.as_ref().ok(), || {
                    token
                        .as_ref()
                        .err()
                        .map(ToString::to_string)
                        .unwrap_or_default()
                })
            }
            Input::Response(response) => responded(response),
            Input::Lost { request, detail } => Given::Lost {
                request: request.number(),
                detail: detail.to_string(),
            },
            Input::Flush { tag } => Given::Flush { tag: name(tag) },
            Input::Resume { key } => Given::Resume {
                key: key.to_string(),
            },
            Input::ResumeAll => Given::ResumeAll,
            Input::Close { deadline } => Given::Close {
                deadline_ns: deadline.map(|deadline| self.since_start(deadline)),
            },
        };
        self.line(now, given);
    }

    pub(super) fn try_admit<T: fmt::Debug>(&mut self, now: Instant, tag: &T, what: &Admission) {
        self.line(now, Given::TryAdmit(admitted(tag, what)));
    }

    pub(super) fn refused<T: fmt::Debug>(&mut self, now: Instant, tag: &T, failure: &Failure) {
        self.line(now, Done::Refused(Ended::failed(name(tag), failure)));
    }

    pub(super) fn step<T: fmt::Debug>(&mut self, now: Instant, step: &Step<Output<T>>) {
        self.since_start(now);
        let done = match step {
            Step::Do(Output::Authorize { request, refused }) => Done::Authorize {
                request: request.number(),
                refused: refused.as_ref().map(|token| self.token(token)),
            },
            Step::Do(Output::Send(request)) => {
                let (token, body) = request.look();
                Done::Send {
                    request: request.id().number(),
                    token: token.map(|token| self.token(token)),
                    body: Blob::new(&body),
                }
            }
            Step::Do(Output::Cancel(request)) => Done::Cancel {
                request: request.number(),
            },
            Step::Do(Output::Settled { tag, outcome }) => {
                Done::Settled(Ended::new(name(tag), outcome))
            }
            Step::Do(Output::Flushed { tag }) => Done::Flushed { tag: name(tag) },
            Step::Wait(until, reason) => Done::Wait {
                until_ns: until.map(|until| self.since_start(until)),
                reason: *reason,
            },
        };
        let at_ns = self.since_start(now);
        let waits = matches!(step, Step::Wait(..));
        let line = text(&Line { at_ns, event: done });
        // Polled again at the same instant a machine that waits does nothing.
        if waits && self.waits.as_ref() == Some(&line) {
            return;
        }
        (self.sink)(&line);
        self.waits = waits.then_some(line);
    }

    fn token_given(
        &mut self,
        request: RequestId,
        token: Option<&Token>,
        detail: impl FnOnce() -> String,
    ) -> Given {
        let request = request.number();
        match token {
            Some(token) => Given::Token {
                request,
                token: self.token(token),
            },
            None => Given::NoToken {
                request,
                detail: detail(),
            },
        }
    }

    /// A token's name: the same for the same token, and nothing of the token in it.
    fn token(&mut self, token: &Token) -> String {
        let known = self.tokens.iter().position(|known| known == token);
        let place = known.unwrap_or_else(|| {
            self.tokens.push(token.clone());
            self.tokens.len() - 1
        });
        format!("tok-{}", place + 1)
    }

    fn since_start(&mut self, at: Instant) -> u64 {
        let start = *self.start.get_or_insert(at);
        nanos(at.saturating_duration_since(start))
    }

    fn line(&mut self, now: Instant, event: impl Serialize) {
        let at_ns = self.since_start(now);
        self.write(&Line { at_ns, event });
        self.waits = None;
    }

    fn write(&mut self, line: &impl Serialize) {
        (self.sink)(&text(line));
    }
}

fn text(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("a line is a map with text for keys")
}

/// A mark's `Debug` text; a text's quotes say nothing.
fn name(tag: &impl fmt::Debug) -> String {
    let text = format!("{tag:?}");
    let unquoted = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    unquoted.map(str::to_owned).unwrap_or(text)
}

fn admitted(tag: &impl fmt::Debug, admission: &Admission) -> Admitted {
    let data = match admission.body().content() {
        Content::Plain(data) => data.clone(),
        Content::Hook(hook) => hook.encode(),
    };
    let attributes = admission.body().attributes().iter();
    Admitted {
        tag: name(tag),
        data: Blob::new(&data),
        attributes: attributes
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ordering_key: admission.ordering_key().to_string(),
        tenant: admission.tenant().map(ToString::to_string),
        attempt: admission.attempt(),
        direct: admission.is_direct(),
        resume_key: admission.resumes_key(),
        headers_left_out: admission.diagnostics().headers_left_out,
    }
}

fn responded(response: &Response) -> Given {
    let request = response.id().number();
    match response.arrived() {
        Arrived::Reply {
            reply,
            trailers,
            token,
        } => Given::Reply(replied(request, reply, trailers, token.as_ref())),
        Arrived::Failure(kind, detail) => Given::Failure {
            request,
            transport: kind.to_string(),
            detail: detail.to_string(),
        },
    }
}

fn replied(request: u64, reply: &Reply, trailers: &HeaderMap, token: Option<&Token>) -> Replied {
    let hide = |bytes: &[u8]| token.and_then(|token| token.hide_in(bytes));
    let body = hide(&reply.body).map_or(Cow::Borrowed(&reply.body[..]), Cow::Owned);
    let retry_after = reply.headers.get(RETRY_AFTER);
    Replied {
        request,
        status: reply.status,
        retry_after: retry_after
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned),
        received_at_ms: reply.received_at_ms,
        body: Blob::new(&body),
        grpc: grpc::CallEnd::read(&reply.headers, trailers, token),
    }
}
