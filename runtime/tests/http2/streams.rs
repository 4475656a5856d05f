//! Streams: two sides that go their own ways.

use bytes::Bytes;
use futures_util::FutureExt as _;
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::http2::{Client, Connector};
use pubsink_runtime::seam::{Downlink as _, Exchange, Uplink as _};
use tokio::sync::mpsc;

use super::server::{Server, reset, trailers};
use super::support::{assert_is, broken, call, connection, data, end, head, open, status};

/// Answers each chunk with its length, and says so when the client has ended.
fn echo() -> Server {
    Server::start(|mut call| async move {
        let mut stream = None;
        while let Some(chunk) = call.chunk().await {
            let stream = stream.get_or_insert_with(|| call.head());
            stream
                .send_data(format!("{} ", chunk.len()).into(), false)
                .unwrap();
        }
        let mut stream = stream.unwrap_or_else(|| call.head());
        stream.send_data("end".into(), false).unwrap();
        stream.send_trailers(trailers("0")).unwrap();
    })
}

pub(crate) async fn heads_come_with_the_first_message<C: Connector + Default>() {
    let server = echo();
    let client = Client::<C>::new();
    // It is open though nothing has come, and nothing will until something is sent.
    let Exchange { mut up, mut down } = open(&client, &server, "/").await;
    assert!(down.next().now_or_never().is_none());
    up.send(Bytes::from_static(b"four")).await.unwrap();
    assert_eq!(head(&mut down).await.status, 200);
    assert_eq!(data(&mut down).await, "4 ");
    // Waiting for more does not end it, nor does not waiting any longer.
    assert!(down.next().now_or_never().is_none());
    up.send(Bytes::new()).await.unwrap();
    up.send(Bytes::from_static(b"seven77")).await.unwrap();
    assert_eq!(data(&mut down).await, "7 ");
}

pub(crate) async fn a_closed_uplink_ends_with_trailers<C: Connector + Default>() {
    let server = echo();
    let Exchange { mut up, mut down } = open(&Client::<C>::new(), &server, "/").await;
    up.send(Bytes::from_static(b"four")).await.unwrap();
    up.close();
    head(&mut down).await;
    let mut read = Vec::new();
    while read != b"4 end" {
        read.extend_from_slice(&data(&mut down).await);
    }
    end(&mut down).await;
}

pub(crate) async fn a_dropped_uplink_is_closed<C: Connector + Default>() {
    let server = echo();
    let Exchange { up, mut down } = open(&Client::<C>::new(), &server, "/").await;
    drop(up);
    head(&mut down).await;
    assert_eq!(data(&mut down).await, "end");
    end(&mut down).await;
}

pub(crate) async fn an_error_from_the_start_ends_the_uplink<C: Connector + Default>() {
    let (seen, mut resets) = mpsc::unbounded_channel();
    let server = Server::start(move |mut call| {
        let seen = seen.clone();
        async move {
            call.refuse("5");
            // What the client has not sent by now it does not send.
            while call.chunk().await.is_some() {}
            seen.send(()).unwrap();
        }
    });
    let client = Client::<C>::new();
    let Exchange { mut up, mut down } = open(&client, &server, "/").await;
    assert_eq!(status(&head(&mut down).await.headers), Some("5"));
    assert!(down.next().await.is_none());
    let error = up.send(Bytes::from_static(b"late")).await.unwrap_err();
    assert_is(&error, TransportKind::Connection, "the stream has ended");
    resets.recv().await.unwrap();
}

pub(crate) async fn a_reset_ends_both_sides<C: Connector + Default>() {
    let server = Server::start(|mut call| async move {
        if call.path() == "/" {
            return call.answer(call.connection.to_string());
        }
        let mut stream = call.head();
        stream.send_data("some".into(), false).unwrap();
        call.chunk().await;
        stream.send_reset(h2::Reason::INTERNAL_ERROR);
    });
    let client = Client::<C>::new();
    let Exchange { mut up, mut down } = open(&client, &server, "/reset").await;
    head(&mut down).await;
    assert_eq!(data(&mut down).await, "some");
    up.send(Bytes::from_static(b"now")).await.unwrap();
    let error = broken(&mut down).await;
    assert_is(&error, TransportKind::Connection, "internal error");
    assert!(up.send(Bytes::from_static(b"late")).await.is_err());
    assert_eq!(connection(&call(&client, &server, "/").await), 0);
}

/// What became of a stream.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Opened,
    Reset(h2::Reason),
}

/// Tells how its streams were reset; reads nothing of them, and answers all but `/silent`.
fn watching() -> (Server, mpsc::UnboundedReceiver<Event>) {
    let (seen, events) = mpsc::unbounded_channel();
    let server = Server::start(move |mut call| {
        let seen = seen.clone();
        async move {
            seen.send(Event::Opened).unwrap();
            let reason = if call.path() == "/silent" {
                call.reset().await
            } else {
                let mut stream = call.head();
                stream.send_data("some".into(), false).unwrap();
                reset(&mut stream).await
            };
            seen.send(Event::Reset(reason)).unwrap();
        }
    });
    (server, events)
}

pub(crate) async fn a_dropped_downlink_resets_it<C: Connector + Default>() {
    let (server, mut events) = watching();
    let client = Client::<C>::new();
    // Before anything came and after it, with the uplink open and closed.
    for (path, close) in [
        ("/silent", false),
        ("/silent", true),
        ("/", false),
        ("/", true),
    ] {
        let Exchange { mut up, mut down } = open(&client, &server, path).await;
        assert_eq!(events.recv().await, Some(Event::Opened));
        if path == "/" {
            head(&mut down).await;
        }
        if close {
            up.close();
            drop(down);
        } else {
            drop(down);
            let error = up.send(Bytes::from_static(b"late")).await.unwrap_err();
            assert_is(&error, TransportKind::Connection, "the stream has ended");
        }
        assert_eq!(events.recv().await, Some(Event::Reset(h2::Reason::CANCEL)));
    }
    assert_eq!(server.connections(), 1);
}

pub(crate) async fn a_dropped_downlink_resets_it_while_the_uplink_is_stuck<C>()
where
    C: Connector + Default,
{
    let (server, mut events) = watching();
    let Exchange { mut up, mut down } = open(&Client::<C>::new(), &server, "/").await;
    head(&mut down).await;
    // The server's window is 64 KiB, and it never reads.
    up.send(vec![0; 100_000].into()).await.unwrap();
    let mut stuck = std::pin::pin!(up.send(Bytes::from_static(b"more")));
    assert!(stuck.as_mut().now_or_never().is_none());
    assert_eq!(events.recv().await, Some(Event::Opened));
    drop(down);
    assert_eq!(events.recv().await, Some(Event::Reset(h2::Reason::CANCEL)));
    assert!(stuck.await.is_err());
}
