//! A small HTTP server that gives scripted answers and keeps what it was sent.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Posted {
    pub(super) at: Instant,
    /// Its first line.
    pub(super) line: String,
    /// Its headers, their names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Posted {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

/// It runs until the test's process ends.
pub(super) struct Listener {
    pub(super) url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Listener {
    /// Answers with `answers` in turn, the last one for ever: a status line's end with any
    /// headers, and a body.
    pub(super) fn start(answers: &[(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hooks?to=here", listener.local_addr().unwrap());
        let posted = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&posted);
        let answers = answers.to_vec();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                let number = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(request);
                    kept.len()
                };
                let (head, body) = answers[number.min(answers.len()) - 1];
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                let _ = stream.get_mut().write_all(answer.as_bytes());
            }
        });
        Self { url, posted }
    }

    pub(super) fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }
}

/// None: a connection without a request.
fn read(stream: &mut impl std::io::BufRead) -> Option<Posted> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut lines = lines.into_iter();
    let mut posted = Posted {
        at: Instant::now(),
        line: lines.next()?,
        headers: lines
            .filter_map(|line| {
                let (name, value) = line.split_once(':')?;
                Some((name.to_ascii_lowercase(), value.trim().to_owned()))
            })
            .collect(),
        body: Vec::new(),
    };
    let length = posted
        .header("content-length")
        .unwrap_or("0")
        .parse()
        .ok()?;
    posted.body = vec![0; length];
    stream.read_exact(&mut posted.body).ok()?;
    Some(posted)
}
