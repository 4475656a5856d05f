//! The same against Google's emulator, by frames that were recorded from it.

use bytes::Bytes;
use http::Request;
use pubsink_fixtures::exchanges::{self, Exchange as Recorded, Payload};
use pubsink_fixtures::google::{Emulator, Unavailable};
use pubsink_runtime::http2::{Client, Connector};
use pubsink_runtime::seam::{
    Answer, Downlink as _, Exchange, Part, StreamTransport as _, Uplink as _,
};

use super::support::{PATIENCE, head, limits, status};

pub(crate) async fn publish_and_pull_on_a_stream<C: Connector + Default>() {
    let emulator = match Emulator::start() {
        Ok(emulator) => emulator,
        Err(missing @ (Unavailable::NotFound { .. } | Unavailable::NotStarted(_))) => {
            return eprintln!("NOT RUN: HTTP/2 with Google's emulator: {missing}");
        }
        Err(broken) => panic!("{broken}"),
    };
    let google = Google {
        endpoint: emulator.endpoint(),
        client: Client::<C>::new(),
    };
    let (topic, subscription) = (
        "projects/proj-rpc/topics/events",
        "projects/proj-rpc/subscriptions/events-sub",
    );
    let publish = exchanges::named("grpc-publish").unwrap();
    let missing = google.publish(&publish).await;
    assert_eq!(status(&missing.parts.headers), Some("5"), "{missing:?}");
    google.create("Publisher/CreateTopic", &[topic]).await;
    google
        .create("Subscriber/CreateSubscription", &[subscription, topic])
        .await;

    let answer = google.publish(&publish).await;
    assert_eq!(answer.parts.status, 200);
    assert_eq!(status(&answer.trailers), Some("0"));
    // Two ids: a frame's prefix, and a string each.
    assert_eq!((answer.body[0], answer.body[5]), (0, 0x0a), "{answer:?}");

    // The stream was open before; its head comes with the messages.
    let pull = exchanges::named("grpc-streaming-pull").unwrap();
    let mut frames = pull.request.clone().unwrap().payload.frames;
    frames.truncate(1);
    let first = Payload {
        frames,
        ..Payload::default()
    };
    let Exchange { mut up, mut down } = google.open(&pull).await;
    up.send(first.bytes().into()).await.unwrap();
    assert_eq!(head(&mut down).await.status, 200);
    let mut read = Vec::new();
    while !read.windows(6).any(|part| part == b"\x0a\x01a\x12\x01b") {
        match down.next().await {
            Some(Ok(Part::Data(data))) => read.extend_from_slice(&data),
            other => panic!("not data: {other:?}"),
        }
    }
    // Calls go on beside it; closing it ends it in good order.
    assert_eq!(status(&google.publish(&publish).await.trailers), Some("0"));
    up.close();
    loop {
        match down.next().await {
            Some(Ok(Part::Data(_))) => {}
            Some(Ok(Part::Trailers(trailers))) => break assert_eq!(status(&trailers), Some("0")),
            other => panic!("no end: {other:?}"),
        }
    }
    assert!(down.next().await.is_none());
}

struct Google<C> {
    endpoint: String,
    client: Client<C>,
}

impl<C: Connector> Google<C> {
    fn request<B>(&self, recorded: &Recorded, body: B) -> Request<B> {
        let request = recorded.request.as_ref().unwrap();
        let mut builder = Request::post(format!("{}{}", self.endpoint, request.path));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        builder.body(body).unwrap()
    }

    async fn publish(&self, recorded: &Recorded) -> Answer {
        let body = recorded.request.as_ref().unwrap().payload.bytes();
        let request = self.request(recorded, Bytes::from(body));
        self.client.call(request, limits()).await.unwrap()
    }

    async fn open(
        &self,
        recorded: &Recorded,
    ) -> Exchange<pubsink_runtime::http2::Up, pubsink_runtime::http2::Down> {
        let request = self.request(recorded, ());
        self.client.open(request, PATIENCE).await.unwrap()
    }

    /// A resource whose first fields are these strings.
    async fn create(&self, method: &str, fields: &[&str]) {
        let mut message = Vec::new();
        for (field, number) in fields.iter().zip(1_u8..) {
            message.extend([number << 3 | 2, u8::try_from(field.len()).unwrap()]);
            message.extend(field.as_bytes());
        }
        let mut body = vec![0, 0, 0, 0, u8::try_from(message.len()).unwrap()];
        body.extend(message);
        let request = Request::post(format!("{}/google.pubsub.v1.{method}", self.endpoint))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Bytes::from(body))
            .unwrap();
        let answer = self.client.call(request, limits()).await.unwrap();
        assert_eq!(status(&answer.trailers), Some("0"), "{answer:?}");
    }
}
