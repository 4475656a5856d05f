//! Bearer tokens from a command or an environment variable.

use std::fmt::Display;
use std::thread;

use clap::Args;
use pubsink_core::token::Token;
use pubsink_core::token_cache::FetchedToken;
use pubsink_tokio::{CachedTokens, NoToken, TokenSource};

use crate::exit::CommandError;
use crate::token_command::run;

/// Where the bearer token comes from. Without either no token is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Credentials (without either no token is sent)")]
#[group(multiple = false)]
pub(crate) struct Credentials {
    /// Run CMD by the shell for a bearer token, for example
    /// 'gcloud auth print-access-token'. It is run again when Pub/Sub refuses the token
    #[arg(long, value_name = "CMD")]
    token_command: Option<String>,
    /// Take the bearer token from this environment variable
    #[arg(long, value_name = "VAR")]
    token_env: Option<String>,
}

impl Credentials {
    /// The provider that was asked for, if any.
    pub(crate) fn provider(&self) -> Result<Option<CachedTokens<Source>>, CommandError> {
        let source = if let Some(command) = &self.token_command {
            Source::Command(command.clone())
        } else if let Some(variable) = &self.token_env {
            let failed =
                |why: &dyn Display| CommandError::new(format!("--token-env {variable}"), why);
            let value = std::env::var_os(variable).ok_or_else(|| failed(&"it is not set"))?;
            let token = Token::new(&value.to_string_lossy()).map_err(|error| failed(&error))?;
            Source::Fixed(token)
        } else {
            return Ok(None);
        };
        Ok(Some(CachedTokens::new(source)))
    }
}

/// Where tokens are fetched.
#[derive(Debug)]
pub(crate) enum Source {
    Command(String),
    Fixed(Token),
}

impl TokenSource for Source {
    async fn fetch(&self) -> Result<FetchedToken, NoToken> {
        let token = match self {
            Self::Fixed(token) => token.clone(),
            Self::Command(command) => {
                let command = command.clone();
                let (sender, receiver) = async_channel::bounded(1);
                thread::spawn(move || sender.send_blocking(run(&command)));
                let lost = |_| Err(NoToken("the token command's thread ended".to_owned()));
                receiver.recv().await.unwrap_or_else(lost)?
            }
        };
        Ok(FetchedToken {
            token,
            expires_in: None,
        })
    }
}
