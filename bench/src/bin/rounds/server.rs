//! The stub server as a process of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pubsink_bench::Error;

/// A stub server that runs until this is dropped.
pub(crate) struct Stub {
    process: Child,
    address: String,
}

impl Stub {
    /// Starts it on a core of its own, and waits until it listens. It serves messages of `size` bytes.
    pub(crate) fn start(binary: &Path, address: &str, size: usize) -> Result<Self, Error> {
        let mut command = pinned(1, binary);
        command.args(["--listen", address, "--pull-size", &size.to_string()]);
        command.stdout(Stdio::piped());
        let mut stub = Self {
            process: command.spawn()?,
            address: address.to_owned(),
        };
        let output = stub.process.stdout.take().ok_or("no output of the stub")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if !line.starts_with("listening") {
            return Err(format!("the stub server does not listen on {address}").into());
        }
        Ok(stub)
    }

    /// How many messages were published to it, or acknowledged.
    pub(crate) fn count(&self) -> Result<u64, Error> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(b"GET /count HTTP/1.1\r\n\r\n")?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let body = reply.rsplit("\r\n").next().unwrap_or_default();
        Ok(body.parse()?)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A command that runs on one core, where the system has two and a way to say so.
pub(crate) fn pinned(core: usize, binary: &Path) -> Command {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > core && cfg!(target_os = "linux") {
        let mut command = Command::new("taskset");
        command.args(["-c", &core.to_string()]).arg(binary);
        return command;
    }
    eprintln!("NOT PINNED: {} runs on any core", binary.display());
    Command::new(binary)
}
