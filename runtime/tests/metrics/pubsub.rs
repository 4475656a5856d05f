//! A subscription over REST that does what it is told, and counts what it did.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::seam::{Runtime as _, SendLimits, Transport, TransportError};
use serde_json::{Value, json};

use crate::support::Threads;

/// A subscription over REST. It gives these answers to pulls, and then none.
#[derive(Clone, Default)]
pub(crate) struct Pubsub(pub(crate) Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) pulls: VecDeque<Pulls>,
    /// Acks that are refused as a whole, first.
    pub(crate) invalid: u32,
    /// Pulls that are under way.
    pub(crate) pulling: u32,
    /// What it answered, and how often: a call, and what it came to.
    pub(crate) answered: BTreeMap<(&'static str, &'static str), u32>,
}

/// An answer to a pull.
pub(crate) enum Pulls {
    Messages(Vec<Value>),
    Refuses(u16, &'static str, &'static str),
    Cut,
}

impl Pubsub {
    fn count(&self, call: &'static str, result: &'static str) {
        let mut state = self.0.lock().unwrap();
        *state.answered.entry((call, result)).or_default() += 1;
    }

    pub(crate) fn bring(&self, messages: Vec<Value>) {
        let answer = Pulls::Messages(messages);
        self.0.lock().unwrap().pulls.push_back(answer);
    }

    async fn pull(&self) -> Result<Response<Bytes>, TransportError> {
        self.0.lock().unwrap().pulling += 1;
        let mut pulling = Pulling(self.clone(), "lost");
        loop {
            let next = self.0.lock().unwrap().pulls.pop_front();
            match next {
                Some(Pulls::Messages(messages)) => {
                    pulling.1 = "ok";
                    return Ok(answer(200, &json!({"receivedMessages": messages})));
                }
                Some(Pulls::Refuses(code, status, result)) => {
                    pulling.1 = result;
                    return Ok(refusal(code, status, &json!([])));
                }
                Some(Pulls::Cut) => {
                    pulling.1 = "transport";
                    return Err(TransportError::new(TransportKind::Connection, "cut"));
                }
                None => pause(Duration::from_millis(5)).await,
            }
        }
    }

    /// Refuses the ids whose lease is over by their name.
    fn one_by_one(&self, call: &'static str, over: &str, body: &Value) -> Response<Bytes> {
        let ids = body["ackIds"].as_array().unwrap().iter();
        let ids = ids.map(|id| id.as_str().unwrap());
        let refused: serde_json::Map<_, _> = ids
            .filter(|id| id.contains(over))
            .map(|id| {
                let word = "PERMANENT_FAILURE_INVALID_ACK_ID".into();
                (id.to_owned(), word)
            })
            .collect();
        if refused.is_empty() {
            self.count(call, "ok");
            return answer(200, &json!({}));
        }
        self.count(call, "per_id");
        let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "EXACTLY_ONCE_ACKID_FAILURE", "domain": "pubsub.googleapis.com",
            "metadata": refused});
        refusal(400, "FAILED_PRECONDITION", &json!([info]))
    }
}

/// A pull under way, and what it comes to. Dropped without an answer it is lost.
struct Pulling(Pubsub, &'static str);

impl Drop for Pulling {
    fn drop(&mut self) {
        self.0.count("pull", self.1);
        self.0.0.lock().unwrap().pulling -= 1;
    }
}

impl Transport for Pubsub {
    async fn send(
        &self,
        request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Response<Bytes>, TransportError> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        match request.uri().path().rsplit(':').next().unwrap() {
            "pull" => return self.pull().await,
            "acknowledge" => {
                let invalid = {
                    let mut state = self.0.lock().unwrap();
                    let invalid = state.invalid > 0;
                    state.invalid = state.invalid.saturating_sub(1);
                    invalid
                };
                if invalid {
                    self.count("acknowledge", "invalid");
                    return Ok(refusal(400, "INVALID_ARGUMENT", &json!([])));
                }
                Ok(self.one_by_one("acknowledge", "refused", &body))
            }
            "modifyAckDeadline" => Ok(match body["ackDeadlineSeconds"].as_u64().unwrap() {
                0 => self.one_by_one("nack", "never", &body),
                _ => self.one_by_one("extend", "lost", &body),
            }),
            other => panic!("{other}"),
        }
    }
}

async fn pause(time: Duration) {
    use pubsink_runtime::seam::Timer as _;
    let mut timer = Box::pin(Threads.timer());
    timer.as_mut().reset(Threads.now() + time);
    timer.await;
}

pub(crate) fn answer(code: u16, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(body.to_string().into());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

pub(crate) fn refusal(code: u16, status: &str, details: &Value) -> Response<Bytes> {
    let error = json!({"code": code, "status": status, "message": "planted-words",
        "details": details});
    answer(code, &json!({"error": error}))
}
