//! Who is faster has to wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use h2::SendStream;
use pubsink_runtime::http2::{Client, Connector};
use pubsink_runtime::seam::{Exchange, Uplink as _};
use tokio::sync::{Notify, mpsc};

use super::server::{Server, trailers};
use super::support::{call, data, end, head, open};

const MIB: usize = 1024 * 1024;

/// What a server may send before it is read.
const WINDOW: usize = 2 * MIB;

/// Sends `total` bytes as the client lets it, and counts them.
async fn pour(stream: &mut SendStream<Bytes>, total: usize, sent: &AtomicUsize, full: &Notify) {
    let mut left = total;
    while left > 0 {
        stream.reserve_capacity(left.min(16_384));
        let mut more = std::pin::pin!(std::future::poll_fn(|cx| stream.poll_capacity(cx)));
        let now = more.as_mut().now_or_never();
        let room = match now {
            Some(room) => room,
            None => {
                full.notify_one();
                more.await
            }
        };
        let Some(Ok(room)) = room else { return };
        let chunk = Bytes::from(vec![b'x'; room.min(left)]);
        left -= chunk.len();
        sent.fetch_add(chunk.len(), Ordering::SeqCst);
        stream.send_data(chunk, false).unwrap();
    }
}

/// Pours on `/pour`, answers all else at once.
fn pouring(total: usize) -> (Server, Arc<AtomicUsize>, Arc<Notify>) {
    let (sent, full) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (sum, is_full) = (Arc::clone(&sent), Arc::clone(&full));
    let server = Server::builder().wide_connection().start(move |mut call| {
        let (sum, is_full) = (Arc::clone(&sum), Arc::clone(&is_full));
        async move {
            if call.path() != "/pour" {
                return call.answer(vec![b'y'; 4_096]);
            }
            let mut stream = call.head();
            pour(&mut stream, total, &sum, &is_full).await;
            // It fails where the client is gone.
            let _ = stream.send_trailers(trailers("0"));
        }
    });
    (server, sent, full)
}

pub(crate) async fn a_server_that_is_faster_has_to_wait<C: Connector + Default>() {
    let (server, sent, full) = pouring(64 * MIB);
    let client = Client::<C>::new();
    let Exchange { up, mut down } = open(&client, &server, "/pour").await;
    up.close();
    while sent.load(Ordering::SeqCst) < WINDOW {
        full.notified().await;
    }
    // Words go to and fro on the same connection, and it is no more.
    for _ in 0..3 {
        call(&client, &server, "/").await.unwrap();
    }
    assert_eq!(sent.load(Ordering::SeqCst), WINDOW);
    head(&mut down).await;
    let mut read = 0;
    while read < 64 * MIB {
        assert!(sent.load(Ordering::SeqCst) - read <= WINDOW);
        read += data(&mut down).await.len();
    }
    end(&mut down).await;
    assert_eq!((read, server.connections()), (64 * MIB, 1));
}

pub(crate) async fn a_client_that_is_faster_has_to_wait<C: Connector + Default>() {
    let (seen, mut bodies) = mpsc::unbounded_channel();
    let start = Arc::new(Notify::new());
    let started = Arc::clone(&start);
    let server = Server::start(move |mut call| {
        let (seen, started) = (seen.clone(), Arc::clone(&started));
        async move {
            started.notified().await;
            seen.send(call.rest().await).unwrap();
            call.answer("");
        }
    });
    let Exchange { mut up, mut down } = open(&Client::<C>::new(), &server, "/").await;
    // More than the server's window of 64 KiB: all of it is taken, and then no more.
    up.send(vec![1; 100_000].into()).await.unwrap();
    for _ in 0..3 {
        let given_up = up.send(vec![9; 10].into());
        assert!(given_up.now_or_never().is_none());
    }
    start.notify_one();
    up.send(vec![2; 200_000].into()).await.unwrap();
    up.send(vec![3; 10].into()).await.unwrap();
    up.close();
    let body = bodies.recv().await.unwrap();
    let whole = [vec![1; 100_000], vec![2; 200_000], vec![3; 10]].concat();
    assert!(body == whole, "{} bytes", body.len());
    head(&mut down).await;
    end(&mut down).await;
}

pub(crate) async fn calls_pass_streams_that_nobody_reads<C: Connector + Default>() {
    const STREAMS: usize = 20;
    let (server, sent, full) = pouring(64 * MIB);
    let client = Client::<C>::new();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut stream = open(&client, &server, "/pour").await;
        // Nor is this read by the server.
        stream.up.send(vec![0; 100_000].into()).await.unwrap();
        streams.push(stream);
    }
    while sent.load(Ordering::SeqCst) < STREAMS * WINDOW {
        full.notified().await;
    }
    for _ in 0..10 {
        let calls = (0..50).map(|_| call(&client, &server, "/"));
        for answer in join_all(calls).await {
            assert_eq!(answer.unwrap().body.len(), 4_096);
        }
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(sent.load(Ordering::SeqCst), STREAMS * WINDOW);
}
