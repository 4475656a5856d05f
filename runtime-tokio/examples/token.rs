//! Publishes with a bearer token from a command, fetched once and again when it is refused.
//!
//! ```sh
//! cargo run -p pubsink-tokio --example token -- my-project hooks gcloud auth print-access-token
//! ```
//!
//! A metadata server or a service account key takes the place of the command in `fetch`; none of
//! them is built in.

use std::error::Error;

use pubsink_tokio::core::options::PublisherOptions;
use pubsink_tokio::core::publish::Message;
use pubsink_tokio::core::token::Token;
use pubsink_tokio::core::token_cache::FetchedToken;
use pubsink_tokio::{CachedTokens, NoToken, TokenSource};
use tokio::process::Command;

struct FromCommand(Vec<String>);

impl TokenSource for FromCommand {
    async fn fetch(&self) -> Result<FetchedToken, NoToken> {
        let [program, arguments @ ..] = self.0.as_slice() else {
            return Err(NoToken("there is no command".to_owned()));
        };
        // What it printed is a secret, so no error repeats it.
        let output = Command::new(program).args(arguments).output().await;
        let output = output.map_err(|error| NoToken(format!("cannot run {program}: {error}")))?;
        Ok(FetchedToken {
            token: Token::new(&String::from_utf8_lossy(&output.stdout))?,
            expires_in: None,
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(project), Some(topic)) = (arguments.next(), arguments.next()) else {
        return Err("usage: token PROJECT TOPIC COMMAND [ARGUMENT ...]".into());
    };
    let tokens = CachedTokens::new(FromCommand(arguments.collect()));
    let options = PublisherOptions::builder(&project, &topic).build()?;
    let publisher = pubsink_tokio::publisher(options)
        .token_provider(tokens)
        .spawn()?;
    match publisher.publish(Message::new("hello")).await {
        Ok(delivered) => println!("stored as {}", delivered.message_id),
        Err(failure) => println!("{failure}"),
    }
    Ok(())
}
