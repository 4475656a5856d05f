//! A relay between a client and a server that can go dead: connections stay open and say nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A relay to one server.
pub(crate) struct Relay {
    pub(crate) addr: SocketAddr,
    /// Connections taken so far.
    taken: Arc<AtomicUsize>,
    /// Connections up to this one are dead.
    dead: Arc<AtomicUsize>,
}

impl Relay {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (taken, dead) = (Arc::default(), Arc::default());
        let relay = Self { addr, taken, dead };
        let (taken, dead) = (Arc::clone(&relay.taken), Arc::clone(&relay.dead));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                let number = taken.fetch_add(1, Ordering::SeqCst) + 1;
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let dead = Arc::clone(&dead);
                    thread::spawn(move || copy(from, to, number, &dead));
                }
            }
        });
        relay
    }

    /// Every connection so far goes dead. New ones work.
    pub(crate) fn kill(&self) {
        self.dead
            .store(self.taken.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    pub(crate) fn connections(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, number: usize, dead: &AtomicUsize) {
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let is_dead = number <= dead.load(Ordering::SeqCst);
        if !is_dead && to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // A dead connection stays open.
    if number > dead.load(Ordering::SeqCst) {
        let _ = to.shutdown(std::net::Shutdown::Write);
    }
}
