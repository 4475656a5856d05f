//! A command for each message.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, join, select};
use pubsink_runtime::service::Context;
use smol::Timer;
use smol::io::{AsyncReadExt as _, AsyncWriteExt as _};
use smol::process::{Child, ChildStdin, ChildStdout};

use super::handler::REPLY_MAX;
use crate::groups::Group;

/// How long its output may take to arrive once it ended. What it left running in the background
/// may hold the output open for ever.
const LAST_OUTPUT: Duration = Duration::from_millis(250);
/// With what the variables of attributes begin.
const ATTRIBUTE: &str = "PUBSINK_ATTRIBUTE_";
const MESSAGE_ID: &str = "PUBSINK_MESSAGE_ID";
const ORDERING_KEY: &str = "PUBSINK_ORDERING_KEY";
const DELIVERY_ATTEMPT: &str = "PUBSINK_DELIVERY_ATTEMPT";

/// Runs a command by the shell for each message. Dropped on its way, a run is ended with all that
/// it started.
pub(super) struct Exec {
    pub(super) command: String,
    /// Whether what it prints is the reply; else it goes to standard output.
    pub(super) replies: bool,
}

/// Why a message is not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExecError {
    #[error("the value of an attribute or the ordering key has a NUL, which no environment holds")]
    Nul,
    #[error("the command cannot be run: {0}")]
    Start(io::Error),
    #[error("the command cannot be waited for: {0}")]
    Wait(io::Error),
    #[error("the command failed: {0}")]
    Failed(ExitStatus),
    #[error("the command printed more than {REPLY_MAX} bytes, which no reply holds")]
    TooLong,
}

impl Exec {
    /// Runs it with the message; what it printed, where that is the reply.
    pub(super) async fn run(&self, context: &Context) -> Result<Bytes, ExecError> {
        // The group is dropped first: while the child is not waited for, its id is its own.
        let (mut child, group) = self.start(context)?;
        let mut output = Vec::new();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let status = {
            let streams = join(write(stdin, context.data()), read(stdout, &mut output));
            let (streams, status) = (pin!(streams), pin!(child.status()));
            match select(status, streams).await {
                Either::Left((status, streams)) => {
                    select(streams, Timer::after(LAST_OUTPUT)).await;
                    status
                }
                Either::Right((((), Err(too_long)), _)) => return Err(too_long),
                Either::Right((_, status)) => status.await,
            }
        };
        let status = status.map_err(ExecError::Wait)?;
        group.ended();
        match status.success() {
            false => Err(ExecError::Failed(status)),
            true if output.len() > REPLY_MAX => Err(ExecError::TooLong),
            true => Ok(output.into()),
        }
    }

    fn start(&self, context: &Context) -> Result<(Child, Group), ExecError> {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &self.command]).process_group(0);
        // What this process has of its own, where it is itself run for a message.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(ATTRIBUTE) {
                command.env_remove(name);
            }
        }
        let attempt = context
            .delivery_attempt()
            .map(|attempt| attempt.to_string());
        for (name, value) in [
            (MESSAGE_ID, Some(context.message_id().as_str())),
            (ORDERING_KEY, context.ordering_key()),
            (DELIVERY_ATTEMPT, attempt.as_deref()),
        ] {
            match value {
                Some(value) => command.env(name, without_nul(value)?),
                None => command.env_remove(name),
            };
        }
        for (name, value) in context.message().attributes.iter() {
            command.env(variable(name), without_nul(value)?);
        }
        let mut command = smol::process::Command::from(command);
        command.stdin(Stdio::piped());
        if self.replies {
            command.stdout(Stdio::piped());
        }
        let started = Group::start(|| {
            let child = command.spawn()?;
            let id = child.id();
            Ok((child, id))
        });
        started.map_err(ExecError::Start)
    }
}

/// The variable of an attribute.
fn variable(name: &str) -> String {
    let upper = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    ATTRIBUTE.chars().chain(name.chars().map(upper)).collect()
}

fn without_nul(value: &str) -> Result<&str, ExecError> {
    match value.contains('\0') {
        true => Err(ExecError::Nul),
        false => Ok(value),
    }
}

/// A command need not read it: whether it is done is for its exit code to say.
async fn write(stdin: Option<ChildStdin>, data: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(data).await;
        let _ = stdin.close().await;
    }
}

async fn read(stdout: Option<ChildStdout>, output: &mut Vec<u8>) -> Result<(), ExecError> {
    let Some(mut stdout) = stdout else {
        return Ok(());
    };
    let mut some = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = stdout.read(&mut some).await {
        output.extend_from_slice(&some[..read]);
        if output.len() > REPLY_MAX {
            return Err(ExecError::TooLong);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_a_variable_of_its_name() {
        for (name, expected) in [
            ("ankusa_id", "PUBSINK_ATTRIBUTE_ANKUSA_ID"),
            ("x-Event.kind=é", "PUBSINK_ATTRIBUTE_X_EVENT_KIND__"),
        ] {
            assert_eq!(variable(name), expected);
        }
    }

    #[test]
    fn a_value_that_no_variable_holds_is_told() {
        assert!(matches!(without_nul("a\0b"), Err(ExecError::Nul)));
        assert!(without_nul("").is_ok());
    }
}
