//! What is a URL of a claim store, and what is shown of one that is not.

use super::*;

fn directory_of(text: &str) -> PathBuf {
    match ClaimsUrl::parse(text) {
        Ok(ClaimsUrl::Directory(path)) => path,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_path_is_a_directory() {
    for path in [
        "claims",
        "./a:b",
        "/var/lib/claims",
        "..",
        r"C:\claims",
        "a/b:c",
    ] {
        assert_eq!(directory_of(path), PathBuf::from(path));
    }
    for url in [
        "file:///var/my%20claims",
        "FILE:///var/my%20claims",
        "file://localhost/var/my claims",
        "file:/var/my claims",
    ] {
        assert_eq!(directory_of(url), PathBuf::from("/var/my claims"), "{url}");
    }
}

#[test]
fn a_bucket_has_a_name_and_perhaps_a_prefix() {
    for (url, provider, name, prefix, shown) in [
        ("s3://b", Provider::S3, "b", "", "s3://b"),
        ("s3a://b/", Provider::S3, "b", "", "s3://b"),
        (
            "S3://My.bucket_1/",
            Provider::S3,
            "My.bucket_1",
            "",
            "s3://My.bucket_1",
        ),
        ("gs://b/p/q/", Provider::Gcs, "b", "p/q", "gs://b/p/q"),
        (
            "az://c/day=1",
            Provider::Azure,
            "c",
            "day=1",
            "az://c/day=1",
        ),
        ("abfss://c/p", Provider::Azure, "c", "p", "az://c/p"),
    ] {
        let parsed = ClaimsUrl::parse(url).unwrap();
        let bucket = Bucket {
            provider,
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        };
        assert_eq!(parsed, ClaimsUrl::Bucket(bucket), "{url}");
        assert_eq!(parsed.to_string(), shown);
    }
}

#[test]
fn what_is_no_store_is_refused_by_its_rule() {
    for empty in ["", " "] {
        assert_eq!(ClaimsUrl::parse(empty), Err(ClaimsUrlError::Empty));
    }
    for scheme in [
        "https://b.s3.amazonaws.com/p",
        "http:x",
        "memory:",
        "foo:bar",
    ] {
        let refused = ClaimsUrl::parse(scheme).unwrap_err();
        assert!(
            matches!(refused, ClaimsUrlError::Scheme { .. }),
            "{refused}"
        );
    }
    for url in [
        "s3:b",
        "s3:/b",
        "s3://",
        "s3:///p",
        "s3://b:9000/p",
        "s3://-b",
        "s3://b%20",
        "gs://b//p",
        "gs://b/p/../q",
        "gs://b/.",
        "gs://b/a b",
        "gs://b/%2e%2e",
        "gs://b/é",
        "file:claims",
        "file://host/claims",
        "file://",
        "file:///%ff",
        "file:///a%00",
    ] {
        let refused = ClaimsUrl::parse(url).unwrap_err();
        assert!(
            matches!(refused, ClaimsUrlError::Rule { .. }),
            "{url}: {refused}"
        );
    }
    assert!(ClaimsUrl::parse(&format!("s3://{}", "b".repeat(223))).is_err());
    assert!(ClaimsUrl::parse(&format!("s3://b/{}", "p".repeat(513))).is_err());
}

#[test]
fn what_was_to_be_a_url_never_becomes_a_directory() {
    for text in [
        " s3://key:hunter2@bucket",
        "s3://bucket ",
        "\ns3://bucket/p",
        "\u{feff}/var/lib/claims",
        "/var/lib/claims\r\n",
        "/var/lib/cla\0ims",
        " claims",
        "claims\t",
        "\"s3://bucket\"",
        "'/var/lib/claims'",
        "s3_x://bucket",
        "://x",
        "x://y",
        "./a://b",
        "s4://b",
        "~/claims",
        "~",
        "~user/claims",
        "$HOME/claims",
        "${CLAIMS}",
        "AKIA4:hunter2@bucket",
    ] {
        let refused = ClaimsUrl::parse(text).unwrap_err();
        assert!(
            matches!(refused, ClaimsUrlError::Unclear { .. }),
            "{text:?}: {refused}"
        );
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(!shown.to_lowercase().contains("akia4"), "{shown}");
    }
    let refused = ClaimsUrl::parse("~/claims").unwrap_err().to_string();
    assert!(refused.contains("the shell did not expand ~"), "{refused}");
    // They are names of directories where they stand.
    for path in ["a~", "./~", "./$x", "a b", "./\"x\"", "it's"] {
        assert_eq!(directory_of(path), PathBuf::from(path));
    }
}

#[test]
fn a_secret_is_refused_and_not_repeated() {
    for url in [
        "s3://AKIA:hunter2@bucket/p",
        "s3:hunter2@bucket",
        "s3:hunter2",
        "s3:/key:hunter2/b",
        "s3://hunter2!/x",
        "s3://bucket:hunter2/x",
        "s3://bucket/hunter2 x",
        "abfss://hunter2@account.dfs.core.windows.net/p",
        "az://c/p?sv=1&sig=hunter2",
        "gs://b/p#hunter2",
        "https://u:hunter2@h/p",
        "hunter2://b",
        "hunterhunterhunterhunter2:b",
        "file://u:hunter2@localhost/p",
        "file://hunter2/p",
        "file:///p?hunter2",
        "file:///p#hunter2",
        "file:hunter2",
        "file:///%ff/hunter2",
    ] {
        let refused = ClaimsUrl::parse(url).unwrap_err();
        assert!(
            !format!("{refused} {refused:?}").contains("hunter"),
            "{refused}"
        );
    }
    for url in ["file://u:p@localhost/p", "file:///p?q", "file:///p#f"] {
        let refused = ClaimsUrl::parse(url).unwrap_err();
        assert!(matches!(refused, ClaimsUrlError::Secret { .. }), "{url}");
    }
    // A path may have what a host may not.
    assert_eq!(directory_of("file:///a@b/c:d"), PathBuf::from("/a@b/c:d"));
}
