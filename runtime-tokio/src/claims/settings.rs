//! A bucket's client, from the settings of its provider.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{BackoffConfig, Error, ObjectStore, RetryConfig};
use pubsink_runtime::core::claim::{Bucket, ClaimsUrlError, Provider};

use super::check::{Kind, check};
use super::connector::Connector;
use super::detail::detail;

/// The client of a bucket. Of the settings it takes those that its provider's clients have.
pub(super) fn store_of(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Box<dyn ObjectStore>, ClaimsUrlError> {
    let scheme = bucket.provider.scheme();
    let build = || match bucket.provider {
        Provider::S3 => s3(bucket, settings),
        Provider::Gcs => gcs(bucket, settings),
        Provider::Azure => azure(bucket, settings),
        other => Err(format!("there is no client for {}", other.scheme())),
    };
    // What the checks let through must not end the program.
    let built = catch_unwind(AssertUnwindSafe(build));
    let built = built.unwrap_or_else(|_| Err("the store's client panicked over them".to_owned()));
    built.map_err(|detail| ClaimsUrlError::Settings {
        scheme,
        detail: detail.into(),
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

/// What is made of the settings, or what is wrong with them.
type Settings<I> = Result<I, String>;

fn s3(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Settings<Box<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::new();
    for (name, value) in of_provider("AWS_", settings) {
        if let Ok(key) = key_of::<AmazonS3ConfigKey>(&name) {
            check(&name, Kind::of_s3(key), &value)?;
            builder = builder.with_config(key, value);
        }
    }
    let builder = builder
        .with_bucket_name(&bucket.name)
        .with_retry(retry())
        .with_http_connector(Connector);
    Ok(Box::new(builder.build().map_err(|error| detail(&error))?))
}

fn gcs(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Settings<Box<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::new();
    let mut accounts = 0;
    for (name, value) in of_provider("GOOGLE_", settings) {
        let Ok(key) = key_of::<GoogleConfigKey>(&name) else {
            continue;
        };
        let failed = |error: io::Error| format!("the file of {name} cannot be read: {error}");
        check(&name, Kind::of_gcs(key), &value)?;
        builder = match key {
            GoogleConfigKey::ServiceAccount => {
                accounts += 1;
                // It is read here, since it says where its store is, and a pipe can be read once.
                let account = read(&value).map_err(failed)?;
                check(&name, Kind::Account, &account)?;
                builder.with_service_account_key(account)
            }
            GoogleConfigKey::ServiceAccountKey => {
                accounts += 1;
                builder.with_service_account_key(value)
            }
            GoogleConfigKey::ApplicationCredentials => {
                // Else what is set is repeated, and it may be the credentials themselves.
                fs::metadata(&value).map_err(failed)?;
                builder.with_application_credentials(value)
            }
            key => builder.with_config(key, value),
        };
    }
    if accounts > 1 {
        return Err("there is more than one service account, as a file or a key".to_owned());
    }
    let builder = builder
        .with_bucket_name(&bucket.name)
        .with_retry(retry())
        .with_http_connector(Connector);
    Ok(Box::new(builder.build().map_err(|error| detail(&error))?))
}

fn azure(
    bucket: &Bucket,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Settings<Box<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::new();
    for (name, value) in settings {
        // The one that does not have the prefix: App Service and Functions set it.
        let key = match name == "IDENTITY_ENDPOINT" {
            true => Ok(AzureConfigKey::MsiEndpoint),
            false if name.starts_with("AZURE_") => key_of(&name),
            false => continue,
        };
        if let Ok(key) = key {
            check(&name, Kind::of_azure(key), &value)?;
            builder = builder.with_config(key, value);
        }
    }
    let builder = builder
        .with_container_name(&bucket.name)
        .with_retry(retry())
        .with_http_connector(Connector);
    Ok(Box::new(builder.build().map_err(|error| detail(&error))?))
}

fn of_provider(
    prefix: &'static str,
    settings: impl IntoIterator<Item = (String, String)>,
) -> impl Iterator<Item = (String, String)> {
    settings
        .into_iter()
        .filter(move |(name, _)| name.starts_with(prefix))
}

/// A setting's key as object_store reads it.
fn key_of<K: FromStr<Err = Error>>(name: &str) -> Result<K, Error> {
    name.to_ascii_lowercase().parse()
}

/// The text of a small file.
fn read(path: &str) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(ACCOUNT_MAX)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// The most that is read of a service account's file: hundreds of times what one has.
const ACCOUNT_MAX: u64 = 1 << 20;
