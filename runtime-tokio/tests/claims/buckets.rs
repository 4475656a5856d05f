//! What is asked of object stores, and what is made of their answers.

use bytes::Bytes;
use pubsink_tokio::claims::object_store::memory::InMemory;
use pubsink_tokio::claims::{BucketClaims, ClaimStore as _, Claims, open_with};
use pubsink_tokio::core::claim::{ClaimError, sha256_hex};

use crate::contract::{self, body, claim};
use crate::scripted::{Heard, Reply, Scripted, bytes, reply};

const ID: &str = "01KBA6AKJC";
const OBJECT: [&str; 2] = [
    "etag: \"1\"",
    "last-modified: Wed, 12 Oct 2022 17:50:00 GMT",
];

pub(crate) fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    pairs.iter().map(owned).collect()
}

/// A store on S3, with more settings.
fn s3_with(server: &Scripted, more: &[(&str, &str)]) -> Claims {
    let mut settings = settings(&[
        ("AWS_ENDPOINT_URL", &server.url()),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2-secret"),
        ("AWS_SESSION_TOKEN", "hunter2-session"),
        ("AWS_PROFILE", "of-no-concern"),
    ]);
    settings.extend(self::settings(more));
    open_with("s3://bucket/hooks/eu", settings).unwrap()
}

fn s3(server: &Scripted) -> Claims {
    s3_with(server, &[])
}

/// The words of a store that is unavailable; they hold no secret.
pub(crate) fn unavailable<T: std::fmt::Debug>(result: Result<T, ClaimError>) -> String {
    match result {
        Err(ClaimError::Unavailable { detail }) => {
            assert!(!detail.contains("hunter2"), "{detail}");
            detail.to_string()
        }
        other => panic!("{other:?}"),
    }
}

fn lines(heard: &[Heard]) -> Vec<&str> {
    let word = |heard: &Heard| heard.line.find(' ');
    let method = |heard| word(heard).map_or("", |end| &heard.line[..end]);
    heard.iter().map(method).collect()
}

#[tokio::test]
async fn an_object_store_is_a_claim_store() {
    let store = BucketClaims::new(InMemory::new(), "prefix");
    contract::hold(&store, "acme").await;
    let shown = format!("{store:?}");
    assert!(
        shown.contains("InMemory") && shown.contains("prefix"),
        "{shown}"
    );
}

#[tokio::test]
async fn s3_is_asked_to_put_a_body_where_nothing_is() {
    let server = Scripted::new([reply("200 OK", &["etag: \"1\""], "")]);
    let (url, body) = (server.url(), body("one", 70_000));
    s3(&server)
        .check_in(&claim("acme", "one"), body.clone())
        .await
        .unwrap();
    let [heard] = &server.heard()[..] else {
        panic!()
    };
    assert!(
        heard
            .line
            .starts_with(&format!("PUT /bucket/hooks/eu/acme/{ID}"))
    );
    assert_eq!(heard.headers["if-none-match"], "*");
    assert_eq!(heard.headers["host"], url.trim_start_matches("http://"));
    assert_eq!(heard.headers["x-amz-content-sha256"], sha256_hex(&body));
    assert!(heard.headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/"));
    assert!(heard.headers["user-agent"].starts_with("pubsink/"));
    assert!(heard.body == body);
}

#[tokio::test]
async fn google_is_asked_to_put_a_body_where_nothing_is() {
    let server = Scripted::new([reply("200 OK", &["etag: \"1\""], "")]);
    let settings = settings(&[
        ("GOOGLE_BASE_URL", &server.url()),
        ("GOOGLE_ALLOW_HTTP", "true"),
        ("GOOGLE_BEARER_TOKEN", "hunter2-token"),
    ]);
    let store = open_with("gs://bucket/hooks", settings).unwrap();
    store
        .check_in(&claim("acme", "one"), body("one", 9))
        .await
        .unwrap();
    let [heard] = &server.heard()[..] else {
        panic!()
    };
    // Google's path has one segment for the name.
    let line = &heard.line;
    assert!(
        line.starts_with(&format!("PUT /bucket/hooks%2Facme%2F{ID}")),
        "{line}"
    );
    assert_eq!(heard.headers["x-goog-if-generation-match"], "0");
    assert_eq!(heard.headers["authorization"], "Bearer hunter2-token");
    assert!(heard.body == body("one", 9));
}

#[tokio::test]
async fn azure_is_asked_to_put_a_body_where_nothing_is() {
    let server = Scripted::new([reply("201 Created", &["etag: \"1\""], "")]);
    let settings = settings(&[
        ("AZURE_STORAGE_ENDPOINT", &server.url()),
        ("AZURE_ALLOW_HTTP", "true"),
        ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "aHVudGVyMg=="),
    ]);
    let store = open_with("abfss://container", settings).unwrap();
    store
        .check_in(&claim("acme", "one"), body("one", 9))
        .await
        .unwrap();
    let [heard] = &server.heard()[..] else {
        panic!()
    };
    assert!(heard.line.starts_with(&format!("PUT /container/acme/{ID}")));
    assert_eq!(heard.headers["if-none-match"], "*");
    assert!(heard.headers["authorization"].starts_with("SharedKey account:"));
    assert!(heard.body == body("one", 9));
}

#[tokio::test]
async fn a_body_that_is_there_is_compared() {
    for (status, there, same) in [
        ("412 Precondition Failed", "0123456789", true),
        ("409 Conflict", "0123456789", true),
        ("412 Precondition Failed", "0123456780", false),
    ] {
        let server = Scripted::new([
            reply(
                status,
                &[],
                "<Error><Code>PreconditionFailed</Code></Error>",
            ),
            reply("200 OK", &OBJECT, there),
        ]);
        let check_in = s3(&server)
            .check_in(&claim("acme", "one"), "0123456789".into())
            .await;
        match same {
            true => assert_eq!(check_in, Ok(())),
            false => assert_eq!(check_in.unwrap_err().kind(), "integrity"),
        }
        assert_eq!(lines(&server.heard()), ["PUT", "GET"]);
    }
    // Another one is writing it at this moment.
    let server = Scripted::new([
        reply("409 Conflict", &[], ""),
        reply(
            "404 Not Found",
            &[],
            "<Error><Code>NoSuchKey</Code></Error>",
        ),
    ]);
    unavailable(
        s3(&server)
            .check_in(&claim("acme", "one"), "x".into())
            .await,
    );
    server.heard();
}

#[tokio::test]
async fn a_store_that_has_no_conditions_is_looked_at_first() {
    let disabled = [("AWS_CONDITIONAL_PUT", "disabled")];
    let server = Scripted::new([
        reply("404 Not Found", &[], ""),
        reply("200 OK", &["etag: \"1\""], ""),
    ]);
    let store = s3_with(&server, &disabled);
    store
        .check_in(&claim("acme", "one"), "0123".into())
        .await
        .unwrap();
    let heard = server.heard();
    assert_eq!(lines(&heard), ["HEAD", "PUT"]);
    assert!(!heard[1].headers.contains_key("if-none-match"));

    let server = Scripted::new([
        Reply::Then(bytes("200 OK", &OBJECT, 4, "")),
        reply("200 OK", &OBJECT, "9999"),
    ]);
    let store = s3_with(&server, &disabled);
    let refused = store.check_in(&claim("acme", "one"), "0123".into()).await;
    assert_eq!(refused.unwrap_err().kind(), "integrity");
    assert_eq!(lines(&server.heard()), ["HEAD", "GET"]);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read() {
    // It would never come.
    let server = Scripted::new([Reply::Hold(bytes("200 OK", &OBJECT, 9_999_999_999, "0123"))]);
    let fetched = s3(&server)
        .fetch(&claim("acme", "one"), 9_999_999_998)
        .await;
    let (size, max) = (9_999_999_999, 9_999_999_998);
    assert_eq!(fetched, Err(ClaimError::TooLarge { size, max }));
    server.heard();
}

#[tokio::test]
async fn a_missing_claim_and_a_missing_bucket_are_two_things() {
    let missing = |code: &str| {
        let key = "<Key>hooks/eu/NoSuchBucket/x</Key>";
        let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code>{key}</Error>");
        reply("404 Not Found", &[], &body)
    };
    let get = |code| Scripted::new([missing(code)]);
    // The reply to a HEAD does not tell them apart.
    let head = |code| Scripted::new([reply("404 Not Found", &[], ""), missing(code)]);
    // A tenant may have any name.
    let claim = claim("NoSuchBucket", "one");
    for code in ["NoSuchKey", "BlobNotFound"] {
        let fetched = s3(&get(code)).fetch(&claim, 9).await;
        assert_eq!(fetched, Err(ClaimError::NotFound));
        let size = s3(&head(code)).size(&claim).await;
        assert_eq!(size, Err(ClaimError::NotFound));
    }
    for code in ["NoSuchBucket", "ContainerNotFound"] {
        for said in [
            unavailable(s3(&get(code)).fetch(&claim, 9).await),
            unavailable(s3(&head(code)).size(&claim).await),
            unavailable(s3(&get(code)).check_in(&claim, "x".into()).await),
        ] {
            assert_eq!(said, format!("404 Not Found: {code}"));
        }
    }
    // A body is checked in where nothing is, so it is the bucket that is not found.
    unavailable(s3(&get("NoSuchKey")).check_in(&claim, "x".into()).await);
}

#[tokio::test]
async fn a_refusal_is_told_without_what_it_repeats() {
    let body = "<?xml version=\"1.0\"?>\n<Error><Code>SignatureDoesNotMatch</Code>\
                <Message>The request signature\n does not match.</Message>\
                <CanonicalRequest>PUT x-amz-security-token:hunter2-session</CanonicalRequest></Error>";
    let server = Scripted::new([reply("403 Forbidden", &[], body)]);
    let said = unavailable(
        s3(&server)
            .check_in(&claim("acme", "one"), "x".into())
            .await,
    );
    assert_eq!(
        said,
        "403 Forbidden: SignatureDoesNotMatch: The request signature does not match."
    );
    for (body, said) in [
        ("", "400 Bad Request"),
        ("hunter2", "400 Bad Request"),
        ("{\"error\":\"hunter", "400 Bad Request"),
        (
            r#"{"error":{"code":400,"message":"no such project","x":"hunter2"}}"#,
            "400 Bad Request: no such project",
        ),
    ] {
        let server = Scripted::new([reply("400 Bad Request", &[], body)]);
        let refused = s3(&server).size(&claim("acme", "one")).await;
        // A HEAD has no body to tell of.
        assert_eq!(unavailable(refused), "400 Bad Request");
        let server = Scripted::new([reply("400 Bad Request", &[], body)]);
        let refused = s3(&server).fetch(&claim("acme", "one"), 9).await;
        assert_eq!(unavailable(refused), said);
    }
}

#[tokio::test]
async fn a_fault_is_tried_once_more_and_then_told() {
    let busy = || {
        let body = "<Error><Code>SlowDown</Code><Message>Please.</Message></Error>";
        reply("503 Slow Down", &[], body)
    };
    let server = Scripted::new([busy(), busy()]);
    let said = unavailable(
        s3(&server)
            .check_in(&claim("acme", "one"), "x".into())
            .await,
    );
    assert_eq!(said, "503 Service Unavailable: SlowDown: Please.");
    assert_eq!(server.heard().len(), 2);

    let server = Scripted::new([busy(), reply("200 OK", &["etag: \"1\""], "")]);
    s3(&server)
        .check_in(&claim("acme", "one"), "x".into())
        .await
        .unwrap();
    assert_eq!(server.heard().len(), 2);
}

#[tokio::test]
async fn a_connection_that_dies_is_made_up_for() {
    let etag = ["etag: \"1\""];
    // While it is kept.
    let last = Reply::Close(bytes("200 OK", &etag, 0, ""));
    let server = Scripted::new([last, reply("200 OK", &etag, "")]);
    let store = s3(&server);
    for name in ["one", "two"] {
        let claim = claim("acme", name);
        store.check_in(&claim, "x".into()).await.unwrap();
    }
    assert_eq!(server.heard().len(), 2);
    // Under the request, whose body may have been stored.
    let server = Scripted::new([Reply::Close(Vec::new()), reply("200 OK", &etag, "")]);
    let claim = claim("acme", "one");
    s3(&server).check_in(&claim, "x".into()).await.unwrap();
    assert_eq!(server.heard().len(), 2);
}

#[tokio::test]
async fn a_reply_that_is_cut_short_is_no_body() {
    let cut = || Reply::Close(bytes("200 OK", &OBJECT, 10, "01234"));
    let server = Scripted::new([cut()]);
    // The second try asks for the rest, which nobody gives.
    unavailable(s3(&server).fetch(&claim("acme", "one"), 10).await);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_says_nothing_is_unavailable_after_30_s() {
    let server = Scripted::new([Reply::Hold(Vec::new())]);
    let store = s3(&server);
    let started = tokio::time::Instant::now();
    let said = unavailable(store.size(&claim("acme", "one")).await);
    assert_eq!(said, "no answer within 30 s");
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = gone.local_addr().unwrap().port();
    drop(gone);
    let settings = settings(&[
        ("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "hunter2"),
    ]);
    let store = open_with("s3://bucket", settings).unwrap();
    let said = unavailable(store.fetch(&claim("acme", "one"), 9).await);
    assert!(
        said.contains(&format!("http://127.0.0.1:{port}/bucket/acme/")),
        "{said}"
    );
    assert!(said.contains("connect"), "{said}");
}

#[tokio::test]
async fn plain_http_has_to_be_allowed() {
    let server = Scripted::new([]);
    let said = s3_with(&server, &[("AWS_ALLOW_HTTP", "false")]);
    let said = unavailable(said.size(&claim("acme", "one")).await);
    assert!(said.contains("ALLOW_HTTP"), "{said}");
    assert!(server.heard().is_empty());
}

#[tokio::test]
async fn words_that_repeat_the_request_are_cut() {
    for (words, said) in [
        (
            "The header AWS4-HMAC-SHA256 Credential=AKIA/x, Signature=hunter2 is bad",
            "The header AWS4-HMAC-SHA256 …",
        ),
        ("of Credential=AKIA/x, Signature=hunter2", "of Credential=…"),
        ("Authorization: Bearer hunter2", "Authorization:…"),
        (r#"{"authorization" : "hunter2"}"#, r#"{"authorization" :…"#),
        (
            "&quot;Signature&quot;:&quot;hunter2",
            "&quot;Signature&quot;:…",
        ),
        ("x-amz-security-token:hunter2", "x-amz-security-token:…"),
        ("X-Amz-Credential%3Dhunter2", "X-Amz-Credential%3D…"),
        (
            "GET /c/x?sv=1&amp;sig=hunter2 no",
            "GET /c/x?sv=1&amp;sig=…",
        ),
        ("é: no Bearer ya29.hunter2hunter2", "é: no Bearer …"),
        ("no SharedKey account:hunter2hunter2=", "no SharedKey …"),
        (
            "The signature does not match, nor the authorization header of a bearer token",
            "The signature does not match, nor the authorization header of a bearer token",
        ),
        (
            "expected x-amz-content-sha256",
            "expected x-amz-content-sha256",
        ),
    ] {
        let body = format!("<Error><Code>InvalidToken</Code><Message>{words}</Message></Error>");
        let server = Scripted::new([reply("403 Forbidden", &[], &body)]);
        let refused = s3(&server).fetch(&claim("acme", "one"), 9).await;
        assert_eq!(
            unavailable(refused),
            format!("403 Forbidden: InvalidToken: {said}")
        );
        server.heard();
    }
}

#[tokio::test]
async fn nothing_shows_a_secret() {
    let server = Scripted::new([]);
    let shown = format!("{:?}", s3(&server));
    assert!(
        shown.contains("bucket") && shown.contains("hooks/eu"),
        "{shown}"
    );
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[tokio::test]
async fn a_part_behind_the_end_is_empty() {
    let server = Scripted::new([
        reply(
            "416 Range Not Satisfiable",
            &[],
            "<Error><Code>InvalidRange</Code></Error>",
        ),
        Reply::Then(bytes("200 OK", &OBJECT, 10, "")),
    ]);
    let part = s3(&server).fetch_range(&claim("acme", "one"), 10..20).await;
    assert_eq!(part, Ok(Bytes::new()));
    let heard = server.heard();
    assert_eq!(heard[0].headers["range"], "bytes=10-19");
    assert_eq!(lines(&heard), ["GET", "HEAD"]);
}
