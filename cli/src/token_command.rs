//! Runs a command that prints a token.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use pubsink_core::token::Token;
use pubsink_tokio::NoToken;

use crate::groups::running;

/// How long a token command may run. Below the core's own limit, so that it is ended too.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(25);
/// How long its output may take to arrive once it ended. What it left running in the background
/// may hold the output open for ever.
const LAST_OUTPUT: Duration = Duration::from_millis(250);
/// The most bytes of its output that are read: no token is as long.
const OUTPUT_MAX: u64 = 64 * 1024;

/// Runs it by the shell.
pub(crate) fn run(command: &str) -> Result<Token, NoToken> {
    let failed = |why: String| NoToken(format!("the token command {why}"));
    let (ended, output) = start(command)
        .and_then(|(mut child, output)| Ok((child.wait()?, output)))
        .map_err(failed)?;
    if !ended.success() {
        return Err(failed(format!("failed: {ended}")));
    }
    match String::from_utf8(collect(&output)) {
        Ok(text) => Token::new(&text).map_err(|error| failed(format!("printed no token: {error}"))),
        Err(_) => Err(failed("printed no text".to_owned())),
    }
}

/// A command in a process group of its own: Ctrl-C in the terminal is not meant for it, and it can
/// be ended with all that it started.
struct Child {
    child: std::process::Child,
    group: Pid,
}

fn start(command: &str) -> Result<(Child, Receiver<Vec<u8>>), String> {
    // Held meanwhile, so that no command starts unseen.
    let mut running = running();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let group = i32::try_from(child.id()).map(Pid::from_raw);
    let group = group.map_err(|error| format!("has no id: {error}"))?;
    running.push(group);
    let (sender, receiver) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let mut output = output.take(OUTPUT_MAX);
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
    }
    Ok((Child { child, group }, receiver))
}

impl Child {
    /// Waits for its end, or ends it.
    fn wait(&mut self) -> Result<ExitStatus, String> {
        let started = Instant::now();
        let mut late = false;
        loop {
            let ended = self.ended();
            let ended = ended.map_err(|error| format!("cannot be waited for: {error}"))?;
            if let Some(status) = ended {
                let seconds = COMMAND_TIMEOUT.as_secs();
                let in_time = (!late).then_some(status);
                return in_time.ok_or_else(|| format!("did not end within {seconds} s"));
            }
            if !late && started.elapsed() >= COMMAND_TIMEOUT {
                late = true;
                let _ = killpg(self.group, Signal::SIGKILL);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// How it ended, once it did. From then on its id may be another process's.
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let mut running = running();
        let ended = self.child.try_wait();
        if !matches!(ended, Ok(None)) {
            running.retain(|group| *group != self.group);
        }
        ended
    }
}

/// What was written until now and a moment after.
fn collect(output: &Receiver<Vec<u8>>) -> Vec<u8> {
    let ended = Instant::now();
    let mut all = Vec::new();
    while let Ok(part) = output.recv_timeout(LAST_OUTPUT.saturating_sub(ended.elapsed())) {
        all.extend(part);
    }
    all
}
