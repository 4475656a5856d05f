//! Runs the command against a server of this process, with a limit on how long anything takes.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pubsink_core::message;
use pubsink_fixtures::server::Server;
use serde_json::Value;

pub(crate) const TOPIC: &str = "projects/p/topics/hooks";
/// What nothing here may take, on however slow a machine.
pub(crate) const WALL_LIMIT: Duration = Duration::from_secs(60);

/// A server with the topic, which keeps what it is sent.
pub(crate) fn server() -> Server {
    let server = Server::builder()
        .keep_published(true)
        .log_messages(true)
        .start()
        .unwrap();
    server.create_topic(TOPIC).unwrap();
    server
}

/// Bodies of everything the server stored, in order.
pub(crate) fn stored_bodies(server: &Server) -> Vec<Bytes> {
    let messages = server.stored(TOPIC);
    let decoded = messages
        .iter()
        .map(|stored| message::decode(&stored.message.data).unwrap());
    decoded.map(|message| message.body.unwrap()).collect()
}

/// Ids of everything the server stored, sorted.
pub(crate) fn stored_ids(server: &Server) -> Vec<String> {
    let messages = server.stored(TOPIC);
    let id =
        |message: &pubsink_fixtures::broker::PubsubMessage| message.attributes["ankusa_id"].clone();
    let mut ids: Vec<_> = messages.iter().map(|stored| id(&stored.message)).collect();
    ids.sort_unstable();
    ids
}

/// `count` hooks with ids `h0001`, `h0002`, …
pub(crate) fn hooks(count: usize) -> String {
    let line = |n| format!("{{\"id\":\"h{n:04}\",\"received_at\":1,\"body\":\"body {n}\"}}\n");
    (1..=count).map(line).collect()
}

/// The ids of [`hooks`].
pub(crate) fn ids(count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("h{n:04}")).collect()
}

/// The runtime under test: `command_smol` is made of the same modules as `command`.
const RUNTIME: &str = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"command_smol" => "smol",
    _ => "tokio",
};

/// A run to be made.
pub(crate) struct Run {
    command: Command,
    input: Vec<u8>,
}

/// The command with these arguments.
pub(crate) fn pubsink(arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubsink"));
    command
        .args(arguments)
        .env("PUBSINK_RUNTIME", RUNTIME)
        .env_remove("PUBSUB_EMULATOR_HOST")
        .env_remove("PUBSINK_LOG");
    Run {
        command,
        input: Vec::new(),
    }
}

/// Publishes `input` to the server's topic, with outcomes on standard output.
pub(crate) fn publish(server: &Server, input: impl Into<Vec<u8>>) -> Run {
    publish_to(&server.endpoint(), input).arguments(&["--outcomes", "-"])
}

/// Publishes 50 messages to the server as a benchmark.
pub(crate) fn bench(server: &Server) -> Run {
    let to = ["bench", "--project", "p", "--topic", "hooks"];
    let endpoint = server.endpoint();
    pubsink(&to).arguments(&["--messages", "50", "--endpoint", &endpoint])
}

/// Publishes `input` to the topic at an endpoint.
pub(crate) fn publish_to(endpoint: &str, input: impl Into<Vec<u8>>) -> Run {
    pubsink(&[
        "publish",
        "--project",
        "p",
        "--topic",
        "hooks",
        "--endpoint",
        endpoint,
    ])
    .input(input)
}

impl Run {
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Runs it by a shell script, where `"$@"` is the command.
    pub(crate) fn by_shell(mut self, script: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]);
        shell.arg(self.command.get_program());
        shell.args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        self.command = shell;
        self
    }

    /// Runs it to its end.
    pub(crate) fn done(self) -> Done {
        let mut running = self.start();
        running.close_input();
        running.wait()
    }

    /// Starts it and writes the input, which stays open.
    pub(crate) fn start(mut self) -> Running {
        let piped = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let stdout = collect(child.stdout.take().unwrap());
        let stderr = collect(child.stderr.take().unwrap());
        let mut stdin = child.stdin.take().unwrap();
        let input = self.input;
        let writer = thread::spawn(move || {
            // A command that ended early has not read it all.
            let _ = stdin.write_all(&input);
            stdin
        });
        Running {
            child: Some(child),
            stdout,
            stderr,
            writer: Some(writer),
        }
    }

    /// The command itself, for a test that ties its ends to something else.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }
}

fn collect(mut output: impl Read + Send + 'static) -> Output {
    let so_far = Arc::new(Mutex::new(Vec::new()));
    let (sender, whole) = channel();
    let read = Arc::clone(&so_far);
    thread::spawn(move || {
        let mut some = [0; 8_192];
        while let Ok(count @ 1..) = output.read(&mut some) {
            read.lock().unwrap().extend_from_slice(&some[..count]);
        }
        let _ = sender.send(());
    });
    Output { so_far, whole }
}

/// What is written to a pipe.
struct Output {
    so_far: Arc<Mutex<Vec<u8>>>,
    /// Told when there is no more.
    whole: Receiver<()>,
}

impl Output {
    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.so_far.lock().unwrap()).into_owned()
    }

    fn whole(&self) -> String {
        self.whole.recv_timeout(WALL_LIMIT).unwrap();
        String::from_utf8(self.so_far.lock().unwrap().clone()).unwrap()
    }
}

/// A run under way. Dropping it kills it.
pub(crate) struct Running {
    child: Option<Child>,
    stdout: Output,
    stderr: Output,
    writer: Option<thread::JoinHandle<ChildStdin>>,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.id()).unwrap()), signal).unwrap();
    }

    /// The rest of the first line on standard error that begins with this, once it is there.
    pub(crate) fn said(&self, start: &str) -> String {
        let mut rest = None;
        eventually(start, || {
            let text = self.stderr.so_far();
            let lines = text.split_inclusive('\n');
            let whole = lines.filter_map(|line| line.strip_suffix('\n'));
            rest = whole
                .filter_map(|line| line.strip_prefix(start))
                .next()
                .map(str::to_owned);
            rest.is_some()
        });
        rest.unwrap()
    }

    /// Waits until a part of a line is on standard error.
    pub(crate) fn logged(&self, part: &str) {
        eventually(part, || self.stderr.so_far().contains(part));
    }

    /// Waits until so many lines are on standard output.
    pub(crate) fn wrote_lines(&self, count: usize) {
        eventually("lines on standard output", || {
            self.stdout.so_far().lines().count() >= count
        });
    }

    /// Writes more input.
    pub(crate) fn write(&mut self, input: &str) {
        let mut stdin = self.writer.take().unwrap().join().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        self.writer = Some(thread::spawn(move || stdin));
    }

    /// Ends the input once all of it is written.
    pub(crate) fn close_input(&mut self) {
        let writer = self.writer.take().unwrap();
        thread::spawn(move || drop(writer.join()));
    }

    pub(crate) fn wait(mut self) -> Done {
        let status = end_of(self.child.as_mut().unwrap());
        self.child = None;
        Done {
            code: status
                .code()
                .unwrap_or_else(|| panic!("ended by a signal: {status}")),
            stdout: self.stdout.whole(),
            stderr: self.stderr.whole(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits for a child's end; one that does not end is killed and is a failure.
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > WALL_LIMIT {
            child.kill().unwrap();
            panic!("it did not end within {WALL_LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// The outcomes, sorted by line.
    pub(crate) fn outcomes(&self) -> Vec<Value> {
        outcomes(&self.stdout)
    }

    /// The last line for a person.
    pub(crate) fn summary(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }
}

/// Outcomes as they are written, sorted by line.
pub(crate) fn outcomes(text: &str) -> Vec<Value> {
    let mut outcomes: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    outcomes.sort_by_key(|outcome| outcome["line"].as_u64().unwrap());
    outcomes
}

/// Whether this is true within moments.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < WALL_LIMIT, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A directory of this test's own.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("pubsink-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A file in it with this content.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
