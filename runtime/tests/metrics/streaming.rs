//! A subscription over gRPC whose streams end in every way.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use pubsink_runtime::core::reason::TransportKind;
use pubsink_runtime::core::subscribe::{SubscriberOptions, Wire};
use pubsink_runtime::core::token::Token;
use pubsink_runtime::seam::{
    Answer, Downlink, Exchange, Part, Runtime as _, SendLimits, StreamTransport, TransportError,
    Uplink,
};
use pubsink_runtime::subscribe::{self, Client};

use crate::ledger::Ledger;
use crate::support::{Threads, wait_until};

const STREAMED: &str = "projects/p/subscriptions/streamed";
const MESSAGES: &str = "pubsink_subscribe_messages_total";
const REQUESTS: &str = "pubsink_subscribe_requests_total";

/// Streams that end in these ways, and then one that says nothing.
struct Streams {
    ends: Mutex<VecDeque<Ends>>,
    opened: Arc<AtomicU32>,
}

#[derive(Clone, Copy)]
enum Ends {
    Cut,
    With(&'static str),
}

struct Silent;

struct Comes(VecDeque<Part>);

impl Uplink for Silent {
    async fn send(&mut self, _chunk: Bytes) -> Result<(), TransportError> {
        Ok(())
    }
}

impl Downlink for Comes {
    async fn next(&mut self) -> Option<Result<Part, TransportError>> {
        match self.0.pop_front() {
            Some(part) => Some(Ok(part)),
            None => pending().await,
        }
    }
}

impl StreamTransport for Streams {
    type Up = Silent;
    type Down = Comes;

    async fn call(
        &self,
        _request: Request<Bytes>,
        _limits: SendLimits,
    ) -> Result<Answer, TransportError> {
        pending().await
    }

    async fn open(
        &self,
        _request: Request<()>,
        _connect: Duration,
    ) -> Result<Exchange<Silent, Comes>, TransportError> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let next = self.ends.lock().unwrap().pop_front();
        let status = match next {
            Some(Ends::Cut) => {
                return Err(TransportError::new(TransportKind::Connect, "planted-words"));
            }
            Some(Ends::With(status)) => Some(status),
            None => None,
        };
        let (head, ()) = Response::new(()).into_parts();
        let trailers = status.map(|status| {
            let status = HeaderValue::from_static(status);
            Part::Trailers(HeaderMap::from_iter([(
                "grpc-status".parse().unwrap(),
                status,
            )]))
        });
        // The last one brings a message without an id, as the only thing that ever comes.
        let unreadable = Bytes::from_static(&[0, 0, 0, 0, 5, 0x0a, 3, 0x0a, 1, b'a']);
        let last = trailers.is_none().then_some(Part::Data(unreadable));
        let parts = [Part::Head(head)].into_iter().chain(last).chain(trailers);
        Ok(Exchange {
            up: Silent,
            down: Comes(parts.collect()),
        })
    }
}

/// Every end of a stream.
pub(crate) fn every_stream(ledger: &Ledger) {
    let ends = [
        (Ends::Cut, "transport"),
        (Ends::With("14"), "transient"),
        (Ends::With("8"), "throttled"),
        (Ends::With("16"), "unauthenticated"),
        (Ends::With("7"), "config"),
        (Ends::With("0"), "ok"),
    ];
    let opened = Arc::<AtomicU32>::default();
    let streams = Streams {
        ends: Mutex::new(ends.iter().map(|(end, _)| *end).collect()),
        opened: Arc::clone(&opened),
    };
    let options = SubscriberOptions::builder("p", "streamed").wire(Wire::Grpc);
    let options = options.build().unwrap();
    let client = Client::grpc(streams);
    let connected = subscribe::connect(options, client, None::<Token>, Threads, 1);
    let (subscription, driver) = connected.unwrap();
    Threads.spawn(driver);
    let handle = subscription.handle();
    let counted = |result| ledger.count(REQUESTS, &[STREAMED, "stream", result]);
    for (_, result) in ends {
        wait_until(result, || counted(result) >= 1.0);
    }
    wait_until("the last one is open", || {
        opened.load(Ordering::SeqCst) > u32::try_from(ends.len()).unwrap()
    });
    let came = |result| ledger.count(MESSAGES, &[STREAMED, result]);
    wait_until("what it brings is told", || came("unreadable") >= 1.0);
    assert_eq!(
        (handle.unreadable(), came("unreadable"), came("new")),
        (1, 1.0, 0.0)
    );
    handle.close(Duration::from_millis(100));
    wait_until("it is closed", || !handle.is_alive());
    wait_until("its last stream is given up", || counted("lost") >= 1.0);
    for (_, result) in ends {
        assert_eq!(counted(result), 1.0, "{result}");
    }
    assert_eq!(counted("lost"), 1.0);
    drop(subscription);
}
