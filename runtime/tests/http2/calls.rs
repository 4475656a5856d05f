//! Calls: one request, its whole answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, join, select};
use http::{HeaderMap, HeaderValue, Request};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::http2::{Client, Connector};
use pubsink_runtime::seam::StreamTransport as _;
use tokio::sync::{Notify, mpsc};

use super::server::{Call, Server, reset, trailers};
use super::support::{answer_within, assert_is, call, connection, limits, post, status};

const MIB: usize = 1024 * 1024;

pub(crate) async fn brings_head_body_and_trailers<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        let asked = call.rest().await;
        let mut stream = call.head();
        stream.send_data("you said ".into(), false).unwrap();
        stream.send_data(asked.into(), false).unwrap();
        stream.send_trailers(trailers("0")).unwrap();
    });
    let answer = call(&Client::<C>::new(), &server, "/a").await.unwrap();
    assert_eq!(answer.parts.status, 200);
    assert_eq!(answer.body, "you said ask");
    assert_eq!(status(&answer.parts.headers), None);
    assert_eq!(status(&answer.trailers), Some("0"));
}

pub(crate) async fn sends_what_it_is_given_and_nothing_else<C: Connector + Default>() {
    let (seen, mut requests) = mpsc::unbounded_channel();
    let server = Server::start(move |mut call| {
        let seen = seen.clone();
        async move {
            let ended = call.request.body().is_end_stream();
            let body = call.rest().await;
            seen.send((call.request.map(|_| body), ended)).unwrap();
            call.respond
                .send_response(http::Response::new(()), true)
                .unwrap();
        }
    });
    let client = Client::<C>::new();
    let request = post(&server, "/s/M?q=1", Bytes::from_static(b"body"));
    let (mut head, body) = request.into_parts();
    head.headers
        .insert("te", HeaderValue::from_static("trailers"));
    head.headers.insert("x-own", HeaderValue::from_static("1"));
    let request = Request::from_parts(head, body);
    client.call(request, limits()).await.unwrap();
    let (request, _) = requests.recv().await.unwrap();
    assert_eq!(request.method(), "POST");
    assert_eq!(request.uri().to_string(), server.url("/s/M?q=1"));
    let mut names: Vec<_> = request.headers().keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["te", "x-own"]);
    assert_eq!(request.body(), b"body");

    let request = Request::get(server.url("/")).body(Bytes::new()).unwrap();
    client.call(request, limits()).await.unwrap();
    let (request, ended) = requests.recv().await.unwrap();
    assert!(ended, "nothing is sent after the head");
    assert!(request.body().is_empty() && request.headers().is_empty());
}

pub(crate) async fn an_error_from_the_start_is_all_head<C: Connector + Default>() {
    let server = Server::start(|mut call| async move { call.refuse("5") });
    let answer = call(&Client::<C>::new(), &server, "/").await.unwrap();
    assert_eq!(status(&answer.parts.headers), Some("5"));
    assert!(answer.body.is_empty() && answer.trailers.is_empty());
}

/// As many headers as make about `size` bytes.
fn large(size: usize) -> HeaderMap {
    let mut headers = trailers("3");
    let value = HeaderValue::from_bytes(&vec![b'v'; 8_000]).unwrap();
    for n in 0..size / 8_000 {
        let name = format!("detail-{n}").parse::<http::HeaderName>().unwrap();
        headers.insert(name, value.clone());
    }
    headers
}

pub(crate) async fn a_megabyte_of_headers_is_taken<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        if call.path() == "/head" {
            let mut head = http::Response::new(());
            *head.headers_mut() = large(MIB);
            call.respond.send_response(head, true).unwrap();
        } else {
            let mut stream = call.head();
            stream.send_data("x".into(), false).unwrap();
            stream.send_trailers(large(3 * MIB)).unwrap();
        }
    });
    let client = Client::<C>::new();
    let answer = call(&client, &server, "/head").await.unwrap();
    assert_eq!(answer.parts.headers, large(MIB));
    let answer = call(&client, &server, "/trailers").await.unwrap();
    assert_eq!(answer.trailers, large(3 * MIB));
}

pub(crate) async fn headers_without_end_are_a_failure_of_the_call<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        if call.path() == "/large" {
            let mut head = http::Response::new(());
            *head.headers_mut() = large(6 * MIB);
            call.respond.send_response(head, true).unwrap();
        } else {
            call.answer("fine");
        }
    });
    let client = Client::<C>::new();
    let error = call(&client, &server, "/large").await.unwrap_err();
    assert_eq!(error.kind, TransportKind::Connection);
    assert_eq!(call(&client, &server, "/").await.unwrap().body, "fine");
}

pub(crate) async fn a_reset_is_a_broken_connection<C: Connector + Default>() {
    let (has_begun, is_sent) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begun, sent) = (Arc::clone(&has_begun), Arc::clone(&is_sent));
    let server = Server::start(move |mut call| {
        let (begun, sent) = (Arc::clone(&begun), Arc::clone(&sent));
        async move {
            match call.path() {
                "/at-once" => call.respond.send_reset(h2::Reason::REFUSED_STREAM),
                "/half" => {
                    let mut stream = call.head();
                    stream.send_data("half".into(), false).unwrap();
                    stream.send_reset(h2::Reason::INTERNAL_ERROR);
                }
                "/half-500" => {
                    let mut stream = call.head_of(500);
                    stream.send_data("half".into(), false).unwrap();
                    begun.notify_one();
                    sent.notified().await;
                    stream.send_reset(h2::Reason::INTERNAL_ERROR);
                }
                _ => call.answer("fine"),
            }
        }
    });
    let client = Client::<C>::new();
    let refused = call(&client, &server, "/at-once").await.unwrap_err();
    // The server says that it has not begun with it.
    assert_is(&refused, TransportKind::Connect, "refused stream");
    let half = call(&client, &server, "/half").await.unwrap_err();
    assert_is(&half, TransportKind::Connection, "internal error");
    let send = async {
        has_begun.notified().await;
        // What was said before this answer has left before it.
        call(&client, &server, "/").await.unwrap();
        is_sent.notify_one();
    };
    let (answer, ()) = join(call(&client, &server, "/half-500"), send).await;
    let answer = answer.unwrap();
    assert_eq!(
        (answer.parts.status.as_u16(), &*answer.body),
        (500, &b"half"[..])
    );
    assert_eq!(call(&client, &server, "/").await.unwrap().body, "fine");
    assert_eq!(server.connections(), 1);
}

pub(crate) async fn an_answer_before_the_request_was_read_is_an_answer<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        // Dropped, the stream is reset with NO_ERROR after it.
        call.refuse("8");
    });
    let client = Client::<C>::new();
    for _ in 0..3 {
        let request = post(&server, "/", Bytes::from(vec![7; 10 * MIB]));
        let answer = client.call(request, limits()).await.unwrap();
        assert_eq!(status(&answer.parts.headers), Some("8"));
    }
    assert_eq!(server.connections(), 1);
}

pub(crate) async fn a_large_request_arrives_whole<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        let read = call.rest().await;
        call.answer(read);
    });
    let body: Vec<u8> = (0..=250).cycle().take(10 * MIB).collect();
    let mut limits = limits();
    limits.body_max = 10 * MIB;
    let request = post(&server, "/", Bytes::from(body.clone()));
    let answer = Client::<C>::new().call(request, limits).await.unwrap();
    assert!(answer.body == body, "{} bytes", answer.body.len());
    assert_eq!(status(&answer.trailers), Some("0"));
}

pub(crate) async fn a_body_over_the_limit<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        let status = call.path().trim_start_matches('/').parse().unwrap();
        let mut stream = call.head_of(status);
        stream.send_data(vec![b'x'; 1_001].into(), false).unwrap();
        stream.send_trailers(trailers("0")).unwrap();
    });
    let client = Client::<C>::new();
    let mut limits = limits();
    limits.body_max = 1_001;
    let whole = client.call(post(&server, "/200", Bytes::new()), limits);
    assert_eq!(whole.await.unwrap().body.len(), 1_001);
    limits.body_max = 1_000;
    let error = client.call(post(&server, "/200", Bytes::new()), limits);
    assert_is(
        &error.await.unwrap_err(),
        TransportKind::Other,
        "more than 1000 bytes",
    );
    let cut = client.call(post(&server, "/502", Bytes::new()), limits);
    let cut = cut.await.unwrap();
    assert_eq!((cut.parts.status.as_u16(), cut.body.len()), (502, 1_000));
}

pub(crate) async fn no_answer_in_time<C: Connector + Default>() {
    let (seen, mut resets) = mpsc::unbounded_channel();
    let server = Server::start(move |mut call: Call| {
        let seen = seen.clone();
        async move {
            let reason = if call.path() == "/half" {
                let mut stream = call.head();
                stream.send_data("half".into(), false).unwrap();
                reset(&mut stream).await
            } else {
                call.reset().await
            };
            seen.send(reason).unwrap();
        }
    });
    let client = Client::<C>::new();
    for path in ["/never", "/half"] {
        let request = post(&server, path, Bytes::from_static(b"ask"));
        let error = client.call(request, answer_within(Duration::from_millis(100)));
        let error = error.await.unwrap_err();
        assert_is(&error, TransportKind::Timeout, "no reply within 100 ms");
        assert_eq!(resets.recv().await, Some(h2::Reason::CANCEL));
    }
}

pub(crate) async fn one_that_is_dropped_is_reset<C: Connector + Default>() {
    let (seen, mut events) = mpsc::unbounded_channel();
    let server = Server::start(move |mut call: Call| {
        let seen = seen.clone();
        async move {
            if call.path() != "/never" {
                return call.answer(call.connection.to_string());
            }
            seen.send("asked".to_owned()).unwrap();
            seen.send(call.reset().await.to_string()).unwrap();
        }
    });
    let client = Client::<C>::new();
    {
        let mut never = std::pin::pin!(call(&client, &server, "/never"));
        let mut asked = std::pin::pin!(events.recv());
        let asked = select(&mut never, &mut asked).await;
        assert!(matches!(asked, Either::Right(_)));
    }
    let reset = events.recv().await.unwrap();
    assert_eq!(reset, h2::Reason::CANCEL.to_string());
    assert_eq!(connection(&call(&client, &server, "/").await), 0);
}

pub(crate) async fn needs_an_absolute_url<C: Connector + Default>() {
    let request = Request::post("/only/a/path").body(Bytes::new()).unwrap();
    let error = Client::<C>::new()
        .call(request, limits())
        .await
        .unwrap_err();
    assert_is(&error, TransportKind::Other, "URL");
}
