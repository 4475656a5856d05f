//! A collector that keeps what it is sent.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Its head, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// Answers every request with a status, on a thread for each connection, as long as it is held.
pub(crate) struct Collector {
    addr: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Collector {
    pub(crate) fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let kept = Arc::downgrade(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(kept) = kept.upgrade() else {
                    return;
                };
                let stream = stream.unwrap();
                thread::spawn(move || serve(&stream, status, &kept));
            }
        });
        Self { addr, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// What it was sent so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // Its own thread looks up, and closes.
        self.requests = Arc::default();
        let _ = TcpStream::connect(self.addr);
    }
}

fn serve(stream: &TcpStream, status: u16, kept: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match reader.read_line(&mut head) {
                Ok(1..) => {}
                _ => return,
            }
        }
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap();
        let length = length.split("\r\n").next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        kept.lock().unwrap().push(Request { head, body });
        let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
