//! Cases in a process of their own.

use std::env;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::case::Case;

/// Set in a process that runs one case alone.
const CHILD: &str = "PUBSINK_TESTS_CHILD";
/// How long a process may take beside its case.
const STARTING: Duration = Duration::from_secs(5);

/// Whether this process runs one case alone.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Runs the case of that full name in a process of its own.
pub(super) fn run(full_name: &str, case: &Case) -> Result<(), String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(["--exact", full_name])
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // Read on threads of their own, so that the process never waits for its output to be taken.
    let mut out = child.stdout.take().expect("stdout is piped");
    let mut err = child.stderr.take().expect("stderr is piped");
    let read = |mut read: Box<dyn FnMut(&mut String) + Send>| {
        thread::spawn(move || {
            let mut text = String::new();
            read(&mut text);
            text
        })
    };
    let out = read(Box::new(move |text| drop(out.read_to_string(text))));
    let err = read(Box::new(move |text| drop(err.read_to_string(text))));
    let end = Instant::now() + case.limit + STARTING;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!(
                    "its process did not end within {} s",
                    case.limit.as_secs()
                ));
            }
            Err(error) => break Err(error.to_string()),
        }
    };
    let (out, err) = (
        out.join().unwrap_or_default(),
        err.join().unwrap_or_default(),
    );
    let notes = err.lines().filter(|line| line.starts_with("NOTE: "));
    notes.for_each(|note| eprintln!("{note}"));
    match status {
        Ok(status) if !status.success() => Err(format!("{status}\n{out}\n{err}")),
        Ok(_) if !out.contains("1 passed") => Err(format!("the case was not run\n{out}\n{err}")),
        Ok(_) if err.contains("panicked at") => Err(format!("it wrote of a panic\n{err}")),
        Ok(_) => Ok(()),
        Err(problem) => Err(format!("{problem}\n{out}\n{err}")),
    }
}
