//! A server that says what it is told to, and keeps what it heard.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// What is done with a request.
#[derive(Debug)]
pub(crate) enum Reply {
    /// These bytes, and the next request.
    Then(Vec<u8>),
    /// These bytes, and the connection ends.
    Close(Vec<u8>),
    /// These bytes, and nothing more until the client goes.
    Hold(Vec<u8>),
}

/// A reply whose head is complete.
pub(crate) fn reply(status: &str, headers: &[&str], body: &str) -> Reply {
    Reply::Then(bytes(status, headers, body.len(), body))
}

/// The bytes of a reply that says it has `length` bytes.
pub(crate) fn bytes(status: &str, headers: &[&str], length: usize, body: &str) -> Vec<u8> {
    let headers: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// The server. Its threads end with their clients.
pub(crate) struct Scripted {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    heard: Vec<Heard>,
    replies: VecDeque<Reply>,
}

impl Scripted {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            heard: Vec::new(),
            replies: replies.into_iter().collect(),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &state));
            }
        });
        Self { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What was heard; every reply has to be used up.
    pub(crate) fn heard(self) -> Vec<Heard> {
        let mut state = self.state.lock().unwrap();
        assert!(state.replies.is_empty(), "{:?}", state.replies);
        std::mem::take(&mut state.heard)
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut write = stream.try_clone().ok()?;
    let mut read = BufReader::new(stream);
    loop {
        let mut line = || {
            let mut line = String::new();
            let size = read.read_line(&mut line).ok()?;
            (size > 0).then(|| line.trim_end().to_owned())
        };
        let first = line()?;
        let mut headers = BTreeMap::new();
        while let Some((name, value)) = line()?.split_once(": ") {
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length");
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        read.read_exact(&mut body).ok()?;
        let reply = {
            let mut state = state.lock().unwrap();
            state.heard.push(Heard {
                line: first,
                headers,
                body,
            });
            state.replies.pop_front()
        };
        match reply? {
            Reply::Then(bytes) => write.write_all(&bytes).ok()?,
            Reply::Close(bytes) => return write.write_all(&bytes).ok(),
            Reply::Hold(bytes) => {
                write.write_all(&bytes).ok()?;
                let _ = read.read(&mut [0]);
                return None;
            }
        }
    }
}
