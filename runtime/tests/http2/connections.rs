//! Connections: shared, bounded, replaced.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{join, join_all};
use http::Request;
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::http2::{Client, Connector};
use pubsink_runtime::seam::{
    Exchange, SendLimits, StreamTransport as _, TransportError, Uplink as _,
};

use super::server::{Call, Server};
use super::support::{
    PATIENCE, answer_within, assert_is, broken, call, connection, data, end, head, limits, open,
    post,
};

/// Answers with the number of the connection; `/away` and `/cut` end it, `/never` gets no answer,
/// `/echo` is a stream.
async fn obedient(mut call: Call) {
    let path = call.path().to_owned();
    let number = call.connection.to_string();
    match path.as_str() {
        "/never" => {
            call.reset().await;
        }
        "/echo" => {
            let mut stream = call.head();
            while let Some(chunk) = call.chunk().await {
                stream.send_data(chunk, false).unwrap();
            }
            stream.send_trailers(super::server::trailers("0")).unwrap();
        }
        "/cut" => {
            call.cut();
            // Dropped, it would be reset before.
            std::future::pending::<()>().await;
        }
        _ => {
            if path == "/away" {
                call.go_away();
            }
            call.answer(number);
        }
    }
}

pub(crate) async fn callers_share_the_first_one<C: Connector + Default>() {
    let server = Server::start(obedient);
    let client = Client::<C>::new();
    let calls = (0..50).map(|_| call(&client, &server, "/"));
    for answer in join_all(calls).await {
        assert_eq!(connection(&answer), 0);
    }
    let clone = client.clone();
    assert_eq!(connection(&call(&clone, &server, "/").await), 0);
    assert_eq!(server.connections(), 1);
}

pub(crate) async fn one_that_goes_away_is_replaced<C: Connector + Default>() {
    let server = Server::start(obedient);
    let client = Client::<C>::new();
    for round in 0..5 {
        let Exchange { mut up, mut down } = open(&client, &server, "/echo").await;
        head(&mut down).await;
        call(&client, &server, "/away").await.unwrap();
        // Calls that come before the news are answered, or told that they were not.
        loop {
            match call(&client, &server, "/").await {
                Err(error) => assert_is(&error, TransportKind::Connect, "connection error"),
                answer if connection(&answer) == round => {}
                answer => break assert_eq!(connection(&answer), round + 1),
            }
        }
        // And what was open goes on.
        up.send(Bytes::from_static(b"still here")).await.unwrap();
        assert_eq!(data(&mut down).await, "still here");
        up.close();
        end(&mut down).await;
    }
    assert_eq!(server.connections(), 6);
}

pub(crate) async fn one_that_is_cut_is_replaced<C: Connector + Default>() {
    let mut server = Server::start(obedient);
    let client = Client::<C>::new();
    call(&client, &server, "/").await.unwrap();
    let cut = call(&client, &server, "/cut").await.unwrap_err();
    assert_eq!(cut.kind, TransportKind::Connection, "{cut}");
    assert_eq!(server.closed().await, 0);
    assert_eq!(connection(&call(&client, &server, "/").await), 1);
}

pub(crate) async fn what_is_on_one_that_broke_fails<C: Connector + Default>() {
    let server = Server::start(obedient);
    let client = Client::<C>::new();
    let Exchange { mut up, mut down } = open(&client, &server, "/echo").await;
    head(&mut down).await;
    let (never, cut) = join(
        call(&client, &server, "/never"),
        call(&client, &server, "/cut"),
    )
    .await;
    for error in [
        never.unwrap_err(),
        cut.unwrap_err(),
        broken(&mut down).await,
    ] {
        assert_eq!(error.kind, TransportKind::Connection, "{error}");
    }
    let error = up.send(Bytes::from_static(b"late")).await.unwrap_err();
    assert_is(&error, TransportKind::Connection, "the stream has ended");
}

pub(crate) async fn no_more_streams_than_the_server_allows<C: Connector + Default>() {
    let server = Server::builder().max_streams(2).start(obedient);
    let client = Client::<C>::builder().connections(2).build();
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = open(&client, &server, "/echo").await;
        head(&mut stream.down).await;
        streams.push(stream);
    }
    assert_eq!(server.connections(), 2);
    // No room: what was not sent says so.
    let mut short = limits();
    short.connect = Duration::from_millis(100);
    let request = post(&server, "/", Bytes::new());
    let error = client.call(request, short).await.unwrap_err();
    assert_is(&error, TransportKind::Connect, "no room on the connections");
    // All who wait come in when there is room, one after the other.
    let waiting = join_all((0..20).map(|_| call(&client, &server, "/")));
    let mut waiting = std::pin::pin!(waiting);
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(streams.pop());
    for answer in waiting.await {
        connection(&answer);
    }
    assert_eq!(server.connections(), 2);
}

pub(crate) async fn one_without_a_word_is_replaced_after_a_timeout<C: Connector + Default>() {
    let server = Server::start(obedient);
    let client = Client::<C>::new();
    for round in 0..3 {
        assert_eq!(connection(&call(&client, &server, "/").await), round);
        let request = post(&server, "/never", Bytes::new());
        let late = client.call(request, answer_within(Duration::from_millis(100)));
        assert_eq!(late.await.unwrap_err().kind, TransportKind::Timeout);
    }
}

pub(crate) async fn one_that_talks_is_kept_after_a_timeout<C: Connector + Default>() {
    let server = Server::start(obedient);
    let client = Client::<C>::new();
    let Exchange { mut up, mut down } = open(&client, &server, "/echo").await;
    head(&mut down).await;
    let request = post(&server, "/never", Bytes::new());
    let late = client.call(request, answer_within(Duration::from_millis(100)));
    let talk = async {
        up.send(Bytes::from_static(b"alive?")).await.unwrap();
        data(&mut down).await
    };
    let (late, _) = join(late, talk).await;
    assert_eq!(late.unwrap_err().kind, TransportKind::Timeout);
    assert_eq!(connection(&call(&client, &server, "/").await), 0);
}

pub(crate) async fn an_idle_one_is_closed<C: Connector + Default>() {
    let mut server = Server::start(obedient);
    let client = Client::<C>::builder()
        .idle_timeout(Duration::from_secs(1))
        .build();
    // A stream keeps its connection, whatever its silence.
    let Exchange { up, mut down } = open(&client, &server, "/echo").await;
    assert_eq!(connection(&call(&client, &server, "/away").await), 0);
    while call(&client, &server, "/")
        .await
        .is_ok_and(|answer| answer.body == "0")
    {}
    call(&client, &server, "/").await.unwrap();
    assert_eq!(server.closed().await, 1);
    up.close();
    head(&mut down).await;
    end(&mut down).await;
    assert_eq!(server.closed().await, 0);
    assert_eq!(connection(&call(&client, &server, "/").await), 2);
}

/// Many callers, a server that does anything, callers that give up: all ends, and goes on.
pub(crate) async fn a_storm_passes<C: Connector + Default>() {
    let server = Server::builder()
        .max_streams(10)
        .start(|mut call| async move {
            match call.path() {
                "/refuse" => call.respond.send_reset(h2::Reason::REFUSED_STREAM),
                "/break" => {
                    call.head().send_reset(h2::Reason::INTERNAL_ERROR);
                }
                _ => obedient(call).await,
            }
        });
    let client = Client::<C>::builder().connections(3).build();
    let callers = (0..40).map(|caller| {
        let (client, server) = (&client, &server);
        async move {
            let mut chance = fastrand::Rng::with_seed(caller);
            let mut answered = 0;
            for _ in 0..50 {
                let path = match chance.u8(..100) {
                    0 => "/cut",
                    1..4 => "/away",
                    4..8 => "/refuse",
                    8..12 => "/break",
                    12..16 => "/never",
                    16..20 => {
                        // Opened, used and let go, at any point.
                        let opened = client.open(post(server, "/echo", ()), PATIENCE).await;
                        if let Ok(Exchange { mut up, .. }) = opened {
                            let _ = up.send(Bytes::from_static(b"x")).await;
                        }
                        continue;
                    }
                    20..24 => {
                        // Given up at once.
                        let _ = call(client, server, "/").now_or_never();
                        continue;
                    }
                    _ => "/",
                };
                let limits = answer_within(Duration::from_millis(200));
                let request = post(server, path, Bytes::from_static(b"ask"));
                match client.call(request, limits).await {
                    Ok(_) => answered += 1,
                    Err(error) => assert_ne!(error.kind, TransportKind::Other, "{error}"),
                }
            }
            answered
        }
    });
    let answered: usize = join_all(callers).await.into_iter().sum();
    assert!(answered > 500, "{answered} of 2,000");
    // The last to go away may still be there.
    let calm = async { while call(&client, &server, "/").await.is_err() {} };
    calm.await;
    for answer in join_all((0..30).map(|_| call(&client, &server, "/"))).await {
        answer.unwrap();
    }
}

pub(crate) async fn streams_outlive_their_client<C: Connector + Default>() {
    let mut server = Server::start(obedient);
    let client = Client::<C>::new();
    let Exchange { mut up, mut down } = open(&client, &server, "/echo").await;
    drop(client);
    head(&mut down).await;
    up.send(Bytes::from_static(b"still here")).await.unwrap();
    assert_eq!(data(&mut down).await, "still here");
    up.close();
    end(&mut down).await;
    drop(down);
    assert_eq!(server.closed().await, 0);
}

async fn both<C: Connector>(client: &Client<C>, url: &str, connect: Duration) -> TransportError {
    let limits = SendLimits::new(connect);
    let request = Request::post(url).body(Bytes::new()).unwrap();
    let of_call = client.call(request, limits).await.unwrap_err();
    let request = Request::post(url).body(()).unwrap();
    let of_open = client.open(request, connect).await.unwrap_err();
    assert_eq!(of_call.kind, of_open.kind);
    of_call
}

pub(crate) async fn a_refused_one_says_so<C: Connector + Default>() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let error = both(&Client::<C>::new(), &format!("http://{addr}/"), PATIENCE).await;
    assert_is(&error, TransportKind::Connect, "refused");
    assert!(error.detail.contains(&addr.to_string()), "{error}");
}

pub(crate) async fn one_that_is_not_http2_says_so<C: Connector + Default>() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for tcp in listener.incoming().take(2) {
            let mut tcp = tcp.unwrap();
            let refusal = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
            std::io::Write::write_all(&mut tcp, refusal).unwrap();
            // Until the client has gone.
            let _ = std::io::copy(&mut tcp, &mut std::io::sink());
        }
    });
    let error = both(&Client::<C>::new(), &format!("http://{addr}/"), PATIENCE).await;
    assert_is(&error, TransportKind::Connect, "no HTTP/2 with");
}

pub(crate) async fn one_that_says_nothing_is_given_up<C: Connector + Default>() {
    let mut server = Server::builder().silent(2).start(obedient);
    let client = Client::<C>::new();
    let error = both(&client, &server.url("/"), Duration::from_millis(100)).await;
    assert_is(&error, TransportKind::Connect, "no connection with");
    assert!(error.detail.contains("within 100 ms"), "{error}");
    // Nobody waits for them any more.
    let mut closed = [server.closed().await, server.closed().await];
    closed.sort_unstable();
    assert_eq!(closed, [0, 1]);
    assert_eq!(connection(&call(&client, &server, "/").await), 2);
}

pub(crate) async fn who_has_more_time_tries_another<C: Connector + Default>() {
    let server = Server::builder().silent(1).start(obedient);
    let client = Client::<C>::new();
    let mut short = limits();
    short.connect = Duration::from_millis(100);
    // Both wait for the first connection, which never comes.
    let hasty = client.call(post(&server, "/", Bytes::new()), short);
    let (hasty, patient) = join(hasty, call(&client, &server, "/")).await;
    assert_is(&hasty.unwrap_err(), TransportKind::Connect, "within 100 ms");
    assert_eq!(connection(&patient), 1);
}

pub(crate) async fn a_name_that_does_not_resolve_says_so<C: Connector + Default>() {
    let url = "http://name.invalid:80/";
    let error = both(&Client::<C>::new(), url, PATIENCE).await;
    assert_is(&error, TransportKind::Connect, "name.invalid:80");
}
