//! Addresses that fail, and such that say nothing, on time that passes at once.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::Context;
use std::time::Instant;

use futures_util::FutureExt as _;
use tokio::io::DuplexStream;

use super::*;
use crate::seam::{Runtime, Timer};

/// Its timers fire when they are looked at.
#[derive(Debug, Clone)]
struct Hasty(Instant);

impl Runtime for Hasty {
    type Timer = Fired;

    fn now(&self) -> Instant {
        self.0
    }

    fn spawn(&self, _: impl Future<Output = ()> + Send + 'static) {}

    fn timer(&self) -> Fired {
        Fired
    }
}

struct Fired;

impl Timer for Fired {
    fn reset(self: Pin<&mut Self>, _: Instant) {}
}

impl Future for Fired {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// What each address of the host does, by its port.
#[derive(Debug, Default)]
struct Net {
    addrs: Vec<SocketAddr>,
    tried: Mutex<Vec<u16>>,
}

const SILENT: u16 = 1;
const REFUSES: u16 = 2;
const GOOD: u16 = 3;

impl Connector for Net {
    type Runtime = Hasty;
    type Tcp = DuplexStream;

    fn runtime(&self) -> Result<Hasty, TransportError> {
        Ok(Hasty(Instant::now()))
    }

    async fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(self.addrs.clone())
    }

    async fn connect(&self, addr: SocketAddr) -> io::Result<DuplexStream> {
        self.tried.lock().unwrap().push(addr.port());
        match addr.port() {
            SILENT => std::future::pending().await,
            REFUSES => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => Ok(tokio::io::duplex(1).0),
        }
    }
}

/// What became of connecting to a host with these addresses, and which of them were tried.
fn connect(addrs: &[u16]) -> (Option<Result<(), String>>, Vec<u16>) {
    let net = Net {
        addrs: addrs
            .iter()
            .map(|port| ([127, 0, 0, 1], *port).into())
            .collect(),
        ..Net::default()
    };
    let origin = Origin {
        tls: false,
        host: "h".to_owned(),
        port: 80,
    };
    let runtime = net.runtime().unwrap();
    let connected = tcp(&net, &runtime, &origin).now_or_never();
    let connected = connected.map(|it| it.map(drop).map_err(|error| error.detail));
    let tried = net.tried.lock().unwrap().clone();
    (connected, tried)
}

#[test]
fn the_first_address_that_takes_a_connection_has_it() {
    assert_eq!(connect(&[GOOD, GOOD]), (Some(Ok(())), vec![GOOD]));
    let tried = vec![REFUSES, REFUSES, GOOD];
    assert_eq!(connect(&tried), (Some(Ok(())), tried));
}

#[test]
fn one_that_says_nothing_does_not_keep_the_others_from_being_tried() {
    let tried = vec![SILENT, SILENT, REFUSES, GOOD];
    assert_eq!(connect(&tried), (Some(Ok(())), tried));
}

#[test]
fn what_says_nothing_is_waited_for_to_the_last() {
    let tried = vec![REFUSES, SILENT];
    assert_eq!(connect(&tried), (None, tried));
}

#[test]
fn the_first_fault_is_told() {
    let (connected, _) = connect(&[REFUSES, REFUSES]);
    let fault = connected.unwrap().unwrap_err();
    assert!(fault.starts_with("h:80 (127.0.0.1:2): "), "{fault}");
    let (connected, _) = connect(&[]);
    assert_eq!(
        connected.unwrap().unwrap_err(),
        "h:80: the name has no address"
    );
}

#[test]
fn families_take_turns() {
    let addrs = |texts: &[&str]| -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    };
    let resolved = addrs(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
    assert_eq!(
        alternate(resolved),
        addrs(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"])
    );
    let resolved = addrs(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
    assert_eq!(
        alternate(resolved),
        addrs(&["1.1.1.1:1", "[::1]:1", "[::2]:1"])
    );
    assert_eq!(alternate(Vec::new()), Vec::new());
}
