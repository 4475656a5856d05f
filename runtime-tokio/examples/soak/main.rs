//! Publishes and consumes at full speed, verifies that nothing is lost, and tells what it took.
//!
//! ```sh
//! cargo build --release --bin pubsink
//! cargo run --release -p pubsink-tokio --example soak -- --seconds 1800 --mode answer --wire grpc
//! ```
//!
//! Without `--address HOST:PORT` it starts `pubsink emulator`, a process of its own. Publisher,
//! service and the reader of replies have a thread each, so that CPU can be told apart. Linux only:
//! it reads `/proc`.

mod arguments;
mod marks;
mod measure;
mod server;
mod traffic;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use arguments::Arguments;
use measure::{Sample, peak_mib};
use server::Server;
use traffic::Traffic;

/// How long nothing may come while something is missing.
const PATIENCE: Duration = Duration::from_secs(90);
const BETWEEN_LINES: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments = Arguments::read()?;
    let server = Server::find(arguments.address.as_deref())?;
    server.create("soak")?;
    server.create("soak-replies")?;
    let length = Duration::from_secs(arguments.seconds);
    let traffic = Traffic::start(&arguments, server.address(), length)?;
    let state = Arc::clone(&traffic.state);
    let last = state.last(arguments.mode);
    let sample = || Sample::take(&state.threads, last);
    let again = || state.handled.duplicates() + state.answered.duplicates();

    let begin = sample();
    let (mut line, mut moved, mut tenth) = (begin.clone(), begin.clone(), None);
    let missing = loop {
        std::thread::sleep(TICK);
        let now = sample();
        if tenth.is_none() && now.at - begin.at >= length / 10 {
            tenth = Some(now.rss_mib);
        }
        if now.at - line.at >= BETWEEN_LINES {
            let (server, again) = (server.rss_mib(), again());
            println!("{}; server {server} MiB; {again} again", now.since(&line));
            line = now.clone();
        }
        let missing = state.published.get().map(|all| all - now.seen);
        if now.seen > moved.seen {
            moved = now;
        } else if missing == Some(0) || now.at - moved.at >= PATIENCE {
            break missing;
        }
    };
    let server_at_end = server.rss_mib();
    let clean = traffic.stop(missing == Some(0));
    println!(
        "{arguments}: {} messages in {:.0} s",
        moved.seen,
        (moved.at - begin.at).as_secs_f64()
    );
    println!("{}", moved.since(&begin));
    println!(
        "at 10 % {:.1} MiB, at 100 % {:.1} MiB, peak {:.1} MiB; server {server_at_end} MiB",
        tenth.unwrap_or_default(),
        moved.rss_mib,
        peak_mib()?
    );
    let lost = missing.as_ref().map(u64::to_string);
    let lost = lost.unwrap_or_else(|| "not all confirmed".to_owned());
    let (again, troubles) = (again(), &state.troubles);
    println!("lost: {lost}; again: {again}; troubles: {troubles}; nothing left in hand: {clean}");
    match missing == Some(0) && clean {
        true => Ok(()),
        false => Err("it did not hold".into()),
    }
}
