//! pub-sub-client: REST, a call for each vector of messages.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::rsa::Rsa;
use pub_sub_client::{PubSubClient, RawPublishedMessage};

use crate::load::Load;
use crate::measure::{Figures, Started};
use crate::{Error, attributes, in_batches};

pub async fn publish(address: &str, load: &Load) -> Result<Figures, Error> {
    let client = Arc::new(client(address)?);
    let attributes = attributes();
    let started = Started::now()?;
    in_batches(load, |numbers| {
        let messages = numbers.map(|number| {
            RawPublishedMessage::new(STANDARD.encode(load.body(number)))
                .with_attributes(attributes.clone())
        });
        let messages: Vec<_> = messages.collect();
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            let ids = client.publish_raw("hooks", messages, None).await?;
            Ok(ids.len())
        })
    })
    .await?;
    started.end(load.messages)
}

/// It has its credentials from a file, and its server from `PUB_SUB_BASE_URL`.
fn client(address: &str) -> Result<PubSubClient, Error> {
    let key = String::from_utf8(Rsa::generate(2_048)?.private_key_to_pem()?)?;
    let credentials = format!(
        r#"{{"type":"service_account","project_id":"p","private_key_id":"","private_key":{key:?},
            "client_email":"","client_id":"","auth_uri":"","token_uri":"http://{address}/token",
            "auth_provider_x509_cert_url":"","client_x509_cert_url":""}}"#
    );
    let name = format!("pubsink-bench-{}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, credentials)?;
    let client = PubSubClient::new(path.to_string_lossy(), Duration::from_secs(60));
    std::fs::remove_file(&path)?;
    Ok(client?)
}
