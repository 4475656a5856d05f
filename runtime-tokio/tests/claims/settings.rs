//! Settings that do not do.

use pubsink_tokio::claims::{ClaimsUrlError, open_with};

use crate::buckets::settings;

#[test]
fn settings_that_do_not_do_are_told_without_their_values() {
    let key = r#""-----BEGIN PRIVATE KEY----- hunter2""#;
    for (url, pairs) in [
        ("s3://bucket", &[("AWS_ACCESS_KEY_ID", "hunter2")][..]),
        ("s3://bucket", &[("AWS_PROXY_URL", "http://u:hunter2@h")]),
        ("s3://bucket", &[("AWS_ALLOW_INVALID_CERTIFICATES", "1")]),
        ("gs://bucket", &[("GOOGLE_SERVICE_ACCOUNT_KEY", key)]),
        ("gs://bucket", &[("GOOGLE_SERVICE_ACCOUNT", "/nowhere")]),
        (
            "az://container",
            &[("AZURE_STORAGE_ACCOUNT_KEY", "hunter2")],
        ),
        (
            "az://container",
            &[
                ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
                ("AZURE_STORAGE_ACCOUNT_KEY", "hunter2 is not base64"),
            ],
        ),
    ] {
        let refused = open_with(url, settings(pairs)).unwrap_err();
        assert!(
            matches!(refused, ClaimsUrlError::Settings { .. }),
            "{refused}"
        );
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

/// What is said of settings that do not do.
fn refused(url: &str, pairs: &[(&str, &str)]) -> String {
    match open_with(url, settings(pairs)) {
        Err(refused @ ClaimsUrlError::Settings { .. }) => {
            let shown = format!("{refused} {refused:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
            refused.to_string()
        }
        other => panic!("{url} {pairs:?}: {other:?}"),
    }
}

#[test]
fn an_endpoint_is_a_url_of_a_host_for_every_provider() {
    for (url, name) in [
        ("s3://bucket", "AWS_ENDPOINT_URL"),
        ("s3://bucket", "AWS_ENDPOINT"),
        ("s3://bucket", "AWS_ENDPOINT_URL_S3"),
        ("s3://bucket", "AWS_ENDPOINT_URL_STS"),
        ("s3://bucket", "AWS_METADATA_ENDPOINT"),
        ("s3://bucket", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        ("gs://bucket", "GOOGLE_BASE_URL"),
        ("az://container", "AZURE_STORAGE_ENDPOINT"),
        ("az://container", "AZURE_ENDPOINT"),
        ("az://container", "AZURE_AUTHORITY_HOST"),
        ("az://container", "AZURE_MSI_ENDPOINT"),
        ("az://container", "IDENTITY_ENDPOINT"),
    ] {
        for endpoint in [
            "",
            "localhost:9000",
            "hunter2",
            "http://",
            "http:///x",
            "http://[::1",
            "http://h x",
            "/path",
            "ftp://x",
            "http://u:hunter2@h",
            "http://h?hunter2",
            "http://h#hunter2",
        ] {
            let said = refused(url, &[(name, endpoint)]);
            assert!(said.contains(name), "{said}");
        }
    }
}

#[test]
fn credentials_fit_into_a_header() {
    for (url, name) in [
        ("s3://bucket", "AWS_ACCESS_KEY_ID"),
        ("s3://bucket", "AWS_SECRET_ACCESS_KEY"),
        ("s3://bucket", "AWS_SESSION_TOKEN"),
        ("s3://bucket", "AWS_REGION"),
        ("s3://bucket", "AWS_DEFAULT_REGION"),
        ("gs://bucket", "GOOGLE_BEARER_TOKEN"),
        ("az://container", "AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://container", "AZURE_STORAGE_ACCOUNT_KEY"),
        ("az://container", "AZURE_STORAGE_SAS_TOKEN"),
        ("az://container", "AZURE_STORAGE_TOKEN"),
        ("az://container", "AZURE_CLIENT_SECRET"),
        ("az://container", "AZURE_TENANT_ID"),
    ] {
        for value in ["hunter2 x", "hunter2\n", "hunter2\0", "hunter2\u{e9}"] {
            let said = refused(url, &[(name, value)]);
            assert!(said.contains(name), "{said}");
        }
    }
}

#[test]
fn a_service_account_is_told_of_without_its_values() {
    let key = "GOOGLE_SERVICE_ACCOUNT_KEY";
    let json =
        r#"{"private_key":"k","private_key_id":"i","client_email":"e","gcs_base_url":"hunter2"}"#;
    let said = refused("gs://bucket", &[(key, json)]);
    assert!(
        said.contains("gcs_base_url of GOOGLE_SERVICE_ACCOUNT_KEY"),
        "{said}"
    );
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("account.json");
    std::fs::write(&file, json).unwrap();
    let said = refused(
        "gs://bucket",
        &[("GOOGLE_SERVICE_ACCOUNT", file.to_str().unwrap())],
    );
    assert!(
        said.contains("gcs_base_url of GOOGLE_SERVICE_ACCOUNT "),
        "{said}"
    );
    std::fs::remove_file(&file).unwrap();

    let said = refused("gs://bucket", &[(key, r#"{"private_key":424242}"#)]);
    assert!(!said.contains("424242"), "{said}");
    let said = refused("gs://bucket", &[(key, r#"{"private_key":"hunter2"}"#)]);
    assert!(said.contains("missing field"), "{said}");
    // The credentials in the place of their file.
    for name in ["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_APPLICATION_CREDENTIALS"] {
        let said = refused("gs://bucket", &[(name, r#"{"private_key":"hunter2"}"#)]);
        assert!(said.contains(name), "{said}");
    }
    let both = [(key, "{}"), ("GOOGLE_SERVICE_ACCOUNT_PATH", "/nowhere")];
    refused("gs://bucket", &both);
}
