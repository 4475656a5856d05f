//! Running the machine over a trace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use http::HeaderValue;
use http::header::RETRY_AFTER;
use serde::{Deserialize, Serialize};

use super::error::ReplayError;
use super::grpc::CallEnd;
use super::line::{Admitted, Given, Replied};
use super::setup::{Setup, VERSION};
use super::tapped::Tapped;
use crate::failure::{Diagnostics, Outcome};
use crate::options::PublisherOptions;
use crate::publish::{Admission, Input, Message, Output, RequestId, Response, Sent, Step};
use crate::reason::TransportKind;
use crate::testing::{SentRequest, Settled};
use crate::token::Token;
use crate::wire::Reply;

/// What a replayed publisher did: the same as when it was recorded.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// The requests, in the order they were sent.
    pub requests: Vec<SentRequest>,
    /// The outcomes, in the order they came, by the `Debug` text of their marks.
    pub outcomes: Vec<Settled<String>>,
}

/// Runs the machine over what it was given in `trace`, and checks that it does the same again,
/// byte for byte. Any `start` will do: the trace's times are counted from it.
///
/// # Errors
///
/// [`ReplayError`] for the first line that is no line of a trace, or that comes out otherwise.
pub fn replay(trace: &str, start: Instant) -> Result<Replay, ReplayError> {
    let mut lines = (1..).zip(trace.lines());
    let (_, first) = lines.next().unwrap_or((1, ""));
    let mut run = Run::new(first, start).map_err(|detail| ReplayError::Line { line: 1, detail })?;
    let mut recorded = trace.lines();
    let mut compared = 0;
    run.compare(&mut recorded, &mut compared)?;
    for (line, text) in lines {
        let done = run.line(text);
        done.map_err(|detail| ReplayError::Line { line, detail })?;
        run.compare(&mut recorded, &mut compared)?;
    }
    match recorded.next() {
        Some(recorded) => Err(ReplayError::Differs {
            line: compared + 1,
            recorded: recorded.to_owned(),
            replayed: String::new(),
        }),
        None => Ok(run.replay),
    }
}

/// A replay on its way.
struct Run {
    machine: Tapped<String>,
    start: Instant,
    /// For admissions: they were checked when they were recorded.
    widest: PublisherOptions,
    sent: BTreeMap<u64, Sent>,
    ids: BTreeMap<u64, RequestId>,
    replay: Replay,
    lines: Receiver<String>,
}

/// Which way a line goes, and when.
#[derive(Deserialize)]
struct Head {
    at_ns: u64,
    #[serde(default)]
    out: Option<String>,
}

impl Run {
    fn new(first: &str, start: Instant) -> Result<Self, String> {
        let setup: Setup = serde_json::from_str(first).map_err(text)?;
        if setup.pubsink_trace != VERSION {
            return Err(format!(
                "version {} is none this replay knows",
                setup.pubsink_trace
            ));
        }
        let options = setup.options().map_err(text)?;
        let (project, topic) = (options.project().as_str(), options.topic().as_str());
        let widest = PublisherOptions::builder(project, topic)
            .wire(options.wire())
            .build()
            .map_err(text)?;
        let mut machine = Tapped::new(Arc::new(options), setup.authorize, setup.seed);
        let (sender, lines) = mpsc::channel();
        machine.record(move |line| {
            let _ = sender.send(line.to_owned());
        });
        Ok(Self {
            machine,
            start,
            widest,
            sent: BTreeMap::new(),
            ids: BTreeMap::new(),
            replay: Replay {
                requests: Vec::new(),
                outcomes: Vec::new(),
            },
            lines,
        })
    }

    /// Compares what came out since with what was recorded.
    fn compare<'a>(
        &self,
        recorded: &mut impl Iterator<Item = &'a str>,
        compared: &mut usize,
    ) -> Result<(), ReplayError> {
        for replayed in self.lines.try_iter() {
            *compared += 1;
            let recorded = recorded.next().unwrap_or_default();
            if recorded != replayed {
                return Err(ReplayError::Differs {
                    line: *compared,
                    recorded: recorded.to_owned(),
                    replayed,
                });
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let head: Head = serde_json::from_str(line).map_err(text)?;
        let at = Duration::from_nanos(head.at_ns);
        match head.out.as_deref() {
            None => self.give(at, serde_json::from_str(line).map_err(text)?),
            // It came with its `try_admit`.
            Some("refused") => Ok(()),
            Some(_) => {
                self.poll(at);
                Ok(())
            }
        }
    }

    fn poll(&mut self, at: Duration) {
        match self.machine.poll(self.start + at) {
            Step::Do(Output::Send(request)) => {
                let id = request.id();
                let (http, sent) = request.encode();
                self.sent.insert(id.number(), sent);
                self.ids.insert(id.number(), id);
                self.replay.requests.push(SentRequest::new(id, at, http));
            }
            Step::Do(Output::Authorize { request, .. }) => {
                self.ids.insert(request.number(), request);
            }
            Step::Do(Output::Settled { tag, outcome }) => self.settled(tag, at, outcome),
            Step::Do(Output::Cancel(_) | Output::Flushed { .. }) | Step::Wait(..) => {}
        }
    }

    fn settled(&mut self, tag: String, at: Duration, outcome: Outcome) {
        self.replay.outcomes.push(Settled { tag, at, outcome });
    }

    fn give(&mut self, at: Duration, given: Given) -> Result<(), String> {
        let now = self.start + at;
        let input = match given {
            Given::TryAdmit(admitted) => {
                let (tag, admission) = self.admission(admitted)?;
                if let Err(refused) = self.machine.try_admit(now, tag, admission) {
                    self.settled(refused.tag, at, Err(refused.failure));
                }
                return Ok(());
            }
            Given::Admit(admitted) => {
                let (tag, admission) = self.admission(admitted)?;
                Input::Admit { tag, admission }
            }
            Given::Token { request, token } => Input::Token {
                request: self.id(request)?,
                token: Ok(Token::new(&token).map_err(text)?),
            },
            Given::NoToken { request, detail } => Input::Token {
                request: self.id(request)?,
                token: Err(detail.into()),
            },
            Given::Reply(replied) => Input::Response(self.replied(replied)?),
            Given::Failure {
                request,
                transport,
                detail,
            } => {
                let kind = transport_kind(&transport)?;
                Input::Response(self.sent(request)?.failed(kind, &detail))
            }
            Given::Lost { request, detail } => Input::Lost {
                request: self.id(request)?,
                detail: detail.into(),
            },
            Given::Flush { tag } => Input::Flush { tag },
            Given::Resume { key } => Input::Resume { key: key.into() },
            Given::ResumeAll => Input::ResumeAll,
            Given::Close { deadline_ns } => Input::Close {
                deadline: deadline_ns.map(|after| self.start + Duration::from_nanos(after)),
            },
        };
        // What the machine ignored then it ignores now; if it does not, its outputs show it.
        let _ = self.machine.handle(now, input);
        Ok(())
    }

    fn admission(&self, admitted: Admitted) -> Result<(String, Admission), String> {
        let message = Message {
            data: admitted.data.bytes().map_err(text)?,
            attributes: admitted.attributes.into_iter().collect(),
            ordering_key: admitted.ordering_key,
            tenant: admitted.tenant,
        };
        let diagnostics = Diagnostics {
            headers_left_out: admitted.headers_left_out,
        };
        let admission = Admission::message(message, &self.widest).map_err(text)?;
        let mut admission = admission.with_attempt(admitted.attempt);
        if admitted.resume_key {
            admission = admission.resuming_key();
        }
        Ok((
            admitted.tag,
            admission.restored(diagnostics, admitted.direct),
        ))
    }

    fn replied(&mut self, replied: Replied) -> Result<Response, String> {
        let mut reply = Reply {
            status: replied.status,
            body: replied.body.bytes().map_err(text)?,
            received_at_ms: replied.received_at_ms,
            ..Reply::default()
        };
        if let Some(value) = replied.retry_after {
            let value = HeaderValue::try_from(value).map_err(text)?;
            reply.headers.insert(RETRY_AFTER, value);
        }
        let trailers = replied.grpc.map(CallEnd::fields).unwrap_or_default();
        Ok(self.sent(replied.request)?.answered_with(&reply, &trailers))
    }

    fn sent(&mut self, request: u64) -> Result<Sent, String> {
        let sent = self.sent.remove(&request);
        sent.ok_or_else(|| format!("request {request} was not sent, or answered before"))
    }

    fn id(&self, request: u64) -> Result<RequestId, String> {
        let id = self.ids.get(&request).copied();
        id.ok_or_else(|| format!("request {request} was never handed out"))
    }
}

fn transport_kind(name: &str) -> Result<TransportKind, String> {
    let kinds = [
        TransportKind::Connect,
        TransportKind::Timeout,
        TransportKind::Connection,
        TransportKind::Closed,
        TransportKind::Other,
    ];
    let kind = kinds.into_iter().find(|kind| kind.to_string() == name);
    kind.ok_or_else(|| format!("{name:?} is no kind of transport failure"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is the function of a map_err"
)]
fn text(error: impl ToString) -> String {
    error.to_string()
}
