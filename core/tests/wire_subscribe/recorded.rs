//! Every answer that was recorded or reported, and what it means: pinned.

use base64::Engine as _;
use bytes::Bytes;
use http::HeaderMap;
use pubsink_core::subscribe::{AckId, CallFailure, ReceivedMessage, StreamEnd};
use pubsink_core::wire::Reply;
use pubsink_core::wire::grpc::{FrameReader, MESSAGE_MAX_BYTES};
use pubsink_core::wire::subscribe::{Pulled, grpc, rest};
use pubsink_fixtures::exchanges::{self, Exchange, Request, Source};

use crate::help::{headers, ids, line, pin, token};

/// The answer as a transport would hand it over, where there is one.
fn reply(exchange: &Exchange) -> Option<(Reply, HeaderMap)> {
    let pairs = |pairs: &[(String, String)]| headers(pairs.iter().map(|(n, v)| (&**n, &**v)));
    let reply = Reply {
        status: exchange.response.status?,
        headers: pairs(&exchange.response.headers),
        body: exchange.response.payload.bytes().into(),
        // Wed, 30 Sep 2026 00:00:00 GMT
        received_at_ms: 1_790_726_400_000,
    };
    Some((reply, pairs(&exchange.response.trailers)))
}

/// The ack ids of a recorded request.
fn leases(request: &Request) -> Vec<AckId> {
    let body = request.payload.body.as_deref().unwrap_or("{}");
    let mut messages: Vec<serde_json::Value> = vec![serde_json::from_str(body).unwrap()];
    messages.extend(
        request
            .payload
            .frames
            .iter()
            .map(|frame| frame.json.clone()),
    );
    let lists = messages
        .iter()
        .filter_map(|message| message["ackIds"].as_array());
    let ids = lists.flatten().filter_map(|id| id.as_str());
    ids.map(AckId::from).collect()
}

/// A message in a line.
fn message(message: &ReceivedMessage) -> String {
    let attributes: Vec<_> = message.attributes.iter().collect();
    format!("{message:?} {:?} {attributes:?}", message.data)
}

fn pulled(result: &Result<Pulled, CallFailure>) -> String {
    match result {
        Ok(pulled) => {
            let messages = pulled
                .messages
                .iter()
                .map(|of| format!("\n      {}", message(of)));
            let text: String = messages.collect();
            format!(
                "{} messages, {:?}{text}",
                pulled.messages.len(),
                pulled.unreadable
            )
        }
        Err(failure) => line(failure),
    }
}

fn answered(result: &Result<(), CallFailure>) -> String {
    match result {
        Ok(()) => "done".to_owned(),
        Err(failure) => line(failure),
    }
}

fn ended(end: &StreamEnd) -> String {
    match end {
        StreamEnd::Done => "done".to_owned(),
        StreamEnd::Failed(failure) => line(failure),
        other => panic!("{other:?}"),
    }
}

/// The responses of a stream, one by one.
fn streamed(body: &Bytes) -> String {
    let mut text = String::new();
    let mut reader = FrameReader::new(MESSAGE_MAX_BYTES);
    let mut body = body.clone();
    while let Some(response) = reader.next_message(&mut body).unwrap() {
        let streamed = grpc::read_stream_message(response).unwrap();
        let answer = &streamed.answer;
        text += &format!(
            "exactly once {:?}, ordered {:?}\n    acks {:?}\n    deadlines {:?}\n    {:?}\n",
            answer.exactly_once, answer.ordered, answer.acks, answer.deadlines, streamed.unreadable
        );
        for of in &answer.messages {
            text += &format!("      {}\n", message(of));
        }
        text += "  ";
    }
    reader.end().unwrap();
    text
}

fn entry(exchange: &Exchange, meanings: &[(&str, String)]) -> String {
    let mut text = format!("{}\n", exchange.name);
    for (what, meaning) in meanings {
        text += &format!("  {what}: {meaning}\n");
    }
    text
}

fn of(source: Source, meaning: impl Fn(&Exchange) -> Option<String>) -> String {
    let exchanges = exchanges::all().into_iter();
    let chosen = exchanges.filter(|exchange| exchange.source == source);
    let meanings: Vec<_> = chosen.filter_map(|exchange| meaning(&exchange)).collect();
    assert!(meanings.len() > 10);
    meanings.join("\n")
}

fn over_rest(exchange: &Exchange) -> Option<String> {
    let path = &exchange.request.as_ref()?.path;
    let (reply, _) = reply(exchange)?;
    let meaning = match path.rsplit_once(':')?.1 {
        "pull" => ("pull", pulled(&rest::read_pull(&reply, None))),
        "acknowledge" | "modifyAckDeadline" => {
            let ids = leases(exchange.request.as_ref()?);
            ("leases", answered(&rest::read_answer(&reply, &ids, None)))
        }
        _ => return None,
    };
    Some(entry(exchange, &[meaning]))
}

fn over_grpc(exchange: &Exchange) -> Option<String> {
    let request = exchange.request.as_ref()?;
    if !exchange.name.starts_with("grpc-") {
        return None;
    }
    let (reply, trailers) = reply(exchange)?;
    let end = |reply: &Reply| ended(&grpc::read_stream_end(reply, &trailers, None));
    let meanings = if request.path.ends_with("/StreamingPull") {
        let messages = ("responses", streamed(&reply.body));
        let rest = Reply {
            body: Bytes::new(),
            ..reply
        };
        vec![messages, ("end", end(&rest))]
    } else {
        let ids = leases(request);
        let answer = grpc::read_answer(&reply, &trailers, &ids, None);
        vec![("leases", answered(&answer)), ("stream", end(&reply))]
    };
    Some(entry(exchange, &meanings))
}

/// What was shaped after the real service's answers, as if each were the answer to either kind of
/// call.
fn shaped(exchange: &Exchange) -> Option<String> {
    let (reply, _) = reply(exchange)?;
    let (ids, token) = (ids(&["ack-id-1", "ack-id-2", "ack-id-3"]), token());
    let leases = rest::read_answer(&reply, &ids, Some(&token));
    let meanings = [
        ("pull", pulled(&rest::read_pull(&reply, Some(&token)))),
        ("leases", answered(&leases)),
    ];
    Some(entry(exchange, &meanings))
}

#[test]
fn recorded_over_rest() {
    pin(
        "wire_subscribe_recorded_rest",
        &of(Source::GoogleEmulator, over_rest),
    );
}

#[test]
fn recorded_over_grpc() {
    pin(
        "wire_subscribe_recorded_grpc",
        &of(Source::GoogleEmulator, over_grpc),
    );
}

#[test]
fn shaped_answers() {
    pin("wire_subscribe_shaped", &of(Source::Shaped, shaped));
}

/// The class a shaped answer deserves is advice to a publisher; what a subscriber makes of it
/// differs only where that is said here.
#[test]
fn shaped_answers_mean_what_the_reports_say() {
    for exchange in exchanges::shaped() {
        let (reply, _) = reply(&exchange).unwrap();
        let ids = ids(&["ack-id-1", "ack-id-2", "ack-id-3"]);
        let read = match rest::read_answer(&reply, &ids, None) {
            Ok(()) => "ok".to_owned(),
            Err(failure) => format!("{:?}", failure.class),
        };
        let class = exchange.class.as_deref().unwrap();
        let expected = match (class, exchange.name.as_str()) {
            // What is asked for here is never too large; a page says nothing of an ack id.
            ("message", "413-html") => "Transient",
            // We never send an API key, nor do we ask for tokens here.
            (_, "400-api-key-invalid" | "oauth-400-invalid-grant") => "Invalid",
            ("message", _) => "Invalid",
            ("config", _) => "Config",
            ("auth", _) => "Unauthenticated",
            ("throttle", "429-retry-info") => "Throttled(Some(45.837906927s))",
            ("throttle", _) => "Throttled(None)",
            ("transient", "503-retry-after") => "Throttled(Some(12s))",
            ("transient", _) => "Transient",
            ("per ack id", _) => "PerId",
            ("ok", _) => "ok",
            other => panic!("{other:?}"),
        };
        assert_eq!(read, expected, "{}", exchange.name);
    }
}

#[test]
fn a_recorded_frame_is_what_its_json_says() {
    let exchange = exchanges::named("grpc-streaming-pull").unwrap();
    for frame in &exchange.response.payload.frames {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&frame.frame_base64);
        let streamed = grpc::read_stream_message(Bytes::from(bytes.unwrap()).slice(5..)).unwrap();
        let rest = Reply {
            status: 200,
            body: frame.json.to_string().into(),
            ..Reply::default()
        };
        // The same shape over REST.
        assert_eq!(
            rest::read_pull(&rest, None).unwrap().messages,
            streamed.answer.messages
        );
    }
}
