//! The claim endpoint's answers.

#![allow(clippy::unwrap_used, clippy::panic)]

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use proptest::prelude::*;
use pubsink_core::claim::endpoint::{
    Answer, Body, Decision, Endpoint, Find, Grant, NoGrants, PIECE_BYTES, pieces,
};
use pubsink_core::claim::{ClaimError, ClaimRef};
use serde_json::json;

const ACME: &str = "acme-token-0123456789";
const ALL: &str = "all-token-0123456789";
const PATH: &str = "/v1/claims/acme/01M39VMD8RA3C5HR4RBV67Y002";

fn endpoint() -> Endpoint {
    Endpoint::new([
        Grant::tenants(ACME, ["acme", "acme-2"]).unwrap(),
        Grant::all_tenants(ALL).unwrap(),
    ])
    .unwrap()
}

/// A request, and what is decided of it.
struct Asked {
    method: Method,
    target: String,
    headers: HeaderMap,
}

fn get(target: &str) -> Asked {
    Asked {
        method: Method::GET,
        target: target.to_owned(),
        headers: HeaderMap::new(),
    }
}

impl Asked {
    fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, value.parse().unwrap());
        self
    }

    fn of(&self, endpoint: &Endpoint) -> Decision {
        endpoint.ask(&self.method, &self.target, &self.headers)
    }

    /// The answer, where it needs no store.
    fn answer(self) -> Answer {
        match self.of(&endpoint()) {
            Decision::Answer(answer) => answer,
            Decision::Find(find) => panic!("{find:?}"),
        }
    }

    fn find(self) -> Find {
        match self.of(&endpoint()) {
            Decision::Find(find) => find,
            Decision::Answer(answer) => panic!("{answer:?}"),
        }
    }
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer
        .headers
        .get(name)
        .map(|value| value.to_str().unwrap())
}

/// The message of an error, whose form is checked.
fn error(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status);
    assert_eq!(header(answer, "content-type"), Some("application/json"));
    let Body::Bytes(body) = &answer.body else {
        panic!("{answer:?}");
    };
    let size = body.len().to_string();
    assert_eq!(header(answer, "content-length"), Some(size.as_str()));
    let body: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1);
    body["error"].as_str().unwrap().to_owned()
}

#[test]
fn it_is_healthy_to_whoever_asks() {
    for target in ["/health", "/health?x"] {
        let answer = get(target).answer();
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.body, Body::Bytes(r#"{"status":"ok"}"#.into()));
        assert_eq!(header(&answer, "content-length"), Some("15"));
    }
    let answer = get("/health").method(Method::HEAD).answer();
    assert_eq!(answer.body, Body::Bytes(Bytes::new()));
    assert_eq!(header(&answer, "content-length"), Some("15"));
}

#[test]
fn a_claim_is_found_for_whoever_may_have_it() {
    for (token, tenant) in [(ACME, "acme"), (ACME, "acme-2"), (ALL, "acme"), (ALL, "x")] {
        let target = PATH.replace("acme", tenant);
        let find = get(&target).token(token).find();
        assert_eq!(find.claim().path(), target);
    }
    // The scheme's case is free.
    get(PATH)
        .header("authorization", &format!("bearer  {ACME} "))
        .find();
}

#[test]
fn without_a_token_that_is_known_there_is_nothing_to_be_had() {
    let without = get(PATH).answer();
    error(&without, 401);
    let asked = header(&without, "www-authenticate");
    assert_eq!(asked, Some(r#"Bearer realm="claims""#));
    let long = format!("{ACME}{ACME}");
    for wrong in ["x", &ACME[1..], &ACME[..20], &long, &ACME.to_uppercase()] {
        let answer = get(PATH).token(wrong).answer();
        let said = error(&answer, 401);
        assert!(!said.contains(wrong));
        let asked = header(&answer, "www-authenticate").unwrap();
        assert!(asked.ends_with(r#"error="invalid_token""#));
    }
    for value in [
        "Bearer",
        "Bearer ",
        "Basic YWNtZTph",
        ACME,
        "",
        "Bearer a b",
    ] {
        error(&get(PATH).header("authorization", value).answer(), 401);
    }
    // Two tokens tell two stories, whichever comes first.
    error(&get(PATH).token(ACME).token("x").answer(), 401);
    error(&get(PATH).token("x").token(ACME).answer(), 401);
    // What a signed ref shows in its query grants nothing.
    let signed = format!("{PATH}?exp=9999999999&sig=MAmydaNzNwA3sV38ggZG15ElUTajA8QtBkKevsaq1Ac");
    error(&get(&signed).answer(), 401);
    get(&signed).token(ACME).find();
}

#[test]
fn a_tenant_of_somebody_else_is_refused_whether_there_is_one() {
    let other = PATH.replace("acme", "other");
    let nonsense = PATH.replace("acme", "a.b");
    let answers = [
        get(&other).token(ACME).answer(),
        get(&nonsense).token(ACME).answer(),
        get("/v1/claims/other/x").token(ACME).answer(),
    ];
    for answer in &answers {
        error(answer, 403);
        assert_eq!(answer, &answers[0]);
    }
}

#[test]
fn what_is_no_claim_is_said_to_be_none() {
    let lower = PATH.to_lowercase();
    let longer = format!("{PATH}/x");
    for target in [
        "/v1/claims/acme/",
        "/v1/claims/acme/x",
        &lower,
        &longer,
        &format!("{PATH}%0A"),
        &format!("{PATH}:1:x"),
        "/v1/claims/acme/../acme/01M39VMD8RA3C5HR4RBV67Y002",
    ] {
        error(&get(target).token(ACME).answer(), 400);
        error(&get(target).answer(), 401);
    }
    for target in [
        "",
        "/",
        "*",
        "/v1",
        "/v1/claims",
        "/v1/claims/",
        "/v1/claims/acme",
        "/health/",
        "/Health",
        "/v2/claims/acme/x",
        "//v1/claims/acme/x",
        "http://h/v1/claims/acme/x",
        "/metrics",
    ] {
        error(&get(target).token(ALL).answer(), 404);
    }
    let hidden = get("/v1/claims/a%22b/x").token(ALL).answer();
    assert!(error(&hidden, 400).contains("a%22b"));
}

#[test]
fn claims_are_read_only() {
    for method in [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "BREW",
    ] {
        for target in [PATH, "/health"] {
            let method = method.parse().unwrap();
            let answer = get(target).token(ACME).method(method).answer();
            error(&answer, 405);
            assert_eq!(header(&answer, "allow"), Some("GET, HEAD"));
        }
    }
}

#[test]
fn a_claim_is_handed_out_whole_or_in_part() {
    let whole = get(PATH).token(ACME).find().found(1_000);
    assert_eq!(whole.status, StatusCode::OK);
    assert_eq!(whole.body, Body::Claim(0..1_000));
    let headers: Vec<_> = whole
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    assert_eq!(
        headers,
        [
            ("content-type", "application/octet-stream"),
            ("content-length", "1000"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("accept-ranges", "bytes"),
        ]
    );
    for (range, part, content_range) in [
        ("bytes=0-0", 0..1, "bytes 0-0/1000"),
        ("bytes=0-999", 0..1_000, "bytes 0-999/1000"),
        ("bytes=990-2000", 990..1_000, "bytes 990-999/1000"),
        ("bytes=-10", 990..1_000, "bytes 990-999/1000"),
        ("bytes=-5000", 0..1_000, "bytes 0-999/1000"),
        ("bytes=500-", 500..1_000, "bytes 500-999/1000"),
    ] {
        let find = get(PATH).token(ACME).header("range", range).find();
        let answer = find.found(1_000);
        assert_eq!(answer.status, StatusCode::PARTIAL_CONTENT, "{range}");
        assert_eq!(header(&answer, "content-range"), Some(content_range));
        let size = (part.end - part.start).to_string();
        assert_eq!(header(&answer, "content-length"), Some(size.as_str()));
        assert_eq!(answer.body, Body::Claim(part));
    }
    // Several ranges, or a range that is none, are answered with all of it.
    for range in ["bytes=0-0,5-6", "bytes=5-4", "lines=1-2", "bytes", "x"] {
        let find = get(PATH).token(ACME).header("range", range).find();
        assert_eq!(find.found(1_000), whole, "{range}");
    }
    let conditional = get(PATH).token(ACME).header("range", "bytes=0-0");
    let find = conditional.header("if-range", "\"x\"").find();
    assert_eq!(find.found(1_000), whole);
}

#[test]
fn a_range_that_has_nothing_of_it_is_refused_with_its_size() {
    for range in ["bytes=1000-", "bytes=1000-1000", "bytes=-0"] {
        let find = get(PATH).token(ACME).header("range", range).find();
        let answer = find.found(1_000);
        error(&answer, 416);
        assert_eq!(header(&answer, "content-range"), Some("bytes */1000"));
    }
}

#[test]
fn a_head_has_the_head_alone() {
    let head = |headers: &[&str]| {
        let mut asked = get(PATH).token(ACME).method(Method::HEAD);
        for value in headers {
            asked = asked.header("range", value);
        }
        asked.find().found(1_000)
    };
    let whole = head(&[]);
    assert_eq!(whole.status, StatusCode::OK);
    assert_eq!(header(&whole, "content-length"), Some("1000"));
    assert_eq!(whole.body, Body::Bytes(Bytes::new()));
    // Ranges are of a GET only.
    assert_eq!(head(&["bytes=0-0"]), whole);
    assert_eq!(head(&["bytes=1000-"]), whole);

    let refused = get(PATH).method(Method::HEAD).answer();
    let shown = get(PATH).answer();
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert_eq!(refused.headers, shown.headers);
    assert_eq!(refused.body, Body::Bytes(Bytes::new()));
}

#[test]
fn what_the_store_says_is_a_status_and_none_of_its_words() {
    let secret = "http://10.0.0.1/hunter2";
    for (failure, status) in [
        (ClaimError::NotFound, 404),
        (ClaimError::unavailable(secret), 503),
        (
            ClaimError::Integrity {
                what: "size",
                found: secret.into(),
                expected: "1".into(),
            },
            500,
        ),
        (ClaimError::TooLarge { size: 2, max: 1 }, 500),
    ] {
        let answer = get(PATH).token(ACME).find().failed(&failure);
        assert!(!error(&answer, status).contains(secret));
        let retry_after = (status == 503).then_some("1");
        assert_eq!(header(&answer, "retry-after"), retry_after);
        let head = get(PATH).token(ACME).method(Method::HEAD).find();
        let head = head.failed(&failure);
        assert_eq!(head.headers, answer.headers);
        assert_eq!(head.body, Body::Bytes(Bytes::new()));
    }
}

#[test]
fn an_endpoint_without_tokens_has_to_be_asked_for() {
    assert_eq!(Endpoint::new([]).unwrap_err(), NoGrants);
    assert!(!endpoint().is_open_to_all());
    let open = Endpoint::open_to_all();
    assert!(open.is_open_to_all());
    for asked in [get(PATH), get(PATH).token("anything")] {
        assert!(matches!(asked.of(&open), Decision::Find(_)));
    }
    assert!(matches!(
        get("/v1/claims/a/b").of(&open),
        Decision::Answer(_)
    ));
    let shown = format!("{:?}", endpoint());
    assert!(!shown.contains("token-0123456789"), "{shown}");
}

#[test]
fn grants_of_one_token_add_up() {
    let endpoint = Endpoint::new([
        Grant::tenants(ACME, ["a"]).unwrap(),
        Grant::tenants(ACME, ["b"]).unwrap(),
    ])
    .unwrap();
    for (tenant, opened) in [("a", true), ("b", true), ("c", false)] {
        let decision = get(&PATH.replace("acme", tenant)).token(ACME).of(&endpoint);
        assert_eq!(matches!(decision, Decision::Find(_)), opened, "{tenant}");
    }
}

/// The format's own consumer understands the answers.
#[test]
fn a_health_answer_is_what_the_consumer_reads() {
    let Body::Bytes(body) = get("/health").answer().body else {
        panic!("no body");
    };
    let health: ankusa::ClaimCheckHealth = serde_json::from_slice(&body).unwrap();
    assert_eq!(health.status, "ok");
    assert_eq!(json!({"status": "ok"}).to_string().as_bytes(), body);
}

#[test]
fn pieces_make_up_the_range() {
    let all = |range, max| pieces(range, max).collect::<Vec<_>>();
    assert_eq!(all(0..0, 5), []);
    assert_eq!(all(3..3, 5), []);
    assert_eq!(all(0..5, 5), all(0..5, 9));
    assert_eq!(all(0..5, 5).len(), 1);
    assert_eq!(all(2..12, 5), [2..7, 7..12]);
    assert_eq!(all(0..6, 5), [0..5, 5..6]);
    assert_eq!(all(0..2, 0), [0..1, 1..2]);
    let most = u64::MAX;
    assert_eq!(all(most - 3..most, 2), [most - 3..most - 1, most - 1..most]);
    assert_eq!(pieces(0..most, PIECE_BYTES).next(), Some(0..1_048_576));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_is_promised_is_within_the_claim(
        method in prop_oneof![Just(Method::GET), Just(Method::HEAD), Just(Method::POST)],
        target in prop_oneof![
            4 => "/v1/claims/(acme|other|[a-z.%]{0,3})/(01M39VMD8RA3C5HR4RBV67Y002|[0-9A-Z]{0,27})(\\?.{0,5})?",
            1 => "/?[a-z0-9/.]{0,20}",
            1 => ".{0,20}",
        ],
        token in prop_oneof![
            Just(format!("Bearer {ACME}")),
            Just(format!("bearer {ALL}")),
            "[ -~]{0,30}",
        ],
        range in prop_oneof![
            "bytes=[0-9]{0,4}-[0-9]{0,4}(,[0-9]{0,2}-[0-9]{0,2})?",
            "bytes=[0-9]{15,25}-[0-9]{0,25}",
            "[ -~]{0,20}",
        ],
        size in prop_oneof![0_u64..3, 0_u64..10_000, any::<u64>()],
    ) {
        let asked = Asked { method: method.clone(), target: target.clone(), headers: HeaderMap::new() };
        let asked = asked.header("authorization", &token).header("range", &range);
        let find = match asked.of(&endpoint()) {
            Decision::Answer(answer) => {
                prop_assert!(answer.status != 206 && !matches!(answer.body, Body::Claim(_)));
                return Ok(());
            }
            Decision::Find(find) => find,
        };
        let path = target.split('?').next().unwrap();
        prop_assert_eq!(find.claim().path(), path);
        prop_assert!(token.contains(ALL) || token.contains(ACME) && path.contains("/acme/"));
        let claim = ClaimRef::parse(find.claim().as_str());
        prop_assert_eq!(claim.as_ref(), Ok(find.claim()));
        let answer = find.found(size);
        let length: u64 = header(&answer, "content-length").unwrap().parse().unwrap();
        match answer.body {
            Body::Claim(part) => {
                prop_assert!(part.start <= part.end && part.end <= size);
                prop_assert_eq!(length, part.end - part.start);
                let whole = part == (0..size);
                prop_assert!(answer.status == 206 || answer.status == 200 && whole);
                prop_assert!(answer.status != 206 || length > 0);
            }
            Body::Bytes(body) if method == Method::HEAD => {
                prop_assert!(body.is_empty());
                prop_assert_eq!(length, size);
            }
            Body::Bytes(_) => prop_assert_eq!(answer.status, 416),
        }
    }
}
