//! A bucket's client, from the settings of its provider.

use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, Error, ObjectStore, RetryConfig};
use pubsink_runtime::core::claim::{Bucket, ClaimsUrlError, Provider};

use super::connector::Connector;
use super::detail::detail;

/// The client of a bucket. Of the settings it takes those that its provider's clients have.
pub(super) fn store_of(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Box<dyn ObjectStore>, ClaimsUrlError> {
    let scheme = bucket.provider.scheme();
    let built = match bucket.provider {
        Provider::S3 => s3(bucket, settings),
        Provider::Gcs => gcs(bucket, settings),
        Provider::Azure => azure(bucket, settings),
        other => {
            let detail = format!("there is no client for {}", other.scheme());
            return Err(ClaimsUrlError::Settings {
                scheme,
                detail: detail.into(),
            });
        }
    };
    built.map_err(|error| ClaimsUrlError::Settings {
        scheme,
        detail: detail(&error).into(),
    })
}

/// One more try, at once: it makes up for a kept connection that had died. Anything else is for
/// whoever called to try again.
fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_millis(500),
            base: 2.0,
        },
        max_retries: 1,
        retry_timeout: Duration::from_secs(10),
    }
}

type Settings<I> = Result<I, Error>;

fn s3(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Settings<Box<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::new();
    for (key, value) in of_provider("AWS_", settings) {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    let builder = builder
        .with_bucket_name(&bucket.name)
        .with_retry(retry())
        .with_http_connector(Connector);
    Ok(Box::new(builder.build()?))
}

fn gcs(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Settings<Box<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::new();
    for (key, value) in of_provider("GOOGLE_", settings) {
        if let Ok(key) = key.parse() {
            builder = builder.with_config(key, value);
        }
    }
    let builder = builder
        .with_bucket_name(&bucket.name)
        .with_retry(retry())
        .with_http_connector(Connector);
    Ok(Box::new(builder.build()?))
}

fn azure(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Settings<Box<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::new();
    for (key, value) in settings {
        // The one that does not have the prefix: App Service and Functions set it.
        if key == "IDENTITY_ENDPOINT" {
            builder = builder.with_msi_endpoint(value);
        } else if let Some(key) = of_prefix("AZURE_", &key).and_then(|key| key.parse().ok()) {
            builder = builder.with_config(key, value);
        }
    }
    let builder = builder
        .with_container_name(&bucket.name)
        .with_retry(retry())
        .with_http_connector(Connector);
    Ok(Box::new(builder.build()?))
}

fn of_provider(
    prefix: &'static str,
    settings: impl IntoIterator<Item = (String, String)>,
) -> impl Iterator<Item = (String, String)> {
    settings
        .into_iter()
        .filter_map(move |(key, value)| Some((of_prefix(prefix, &key)?, value)))
}

/// A setting's key as object_store reads it.
fn of_prefix(prefix: &str, key: &str) -> Option<String> {
    key.starts_with(prefix).then(|| key.to_ascii_lowercase())
}
