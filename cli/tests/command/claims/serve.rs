//! `claims serve`.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use ankusa::ClaimCheckError;
use nix::sys::signal::Signal;
use pubsink_core::claim::sha256_hex;

use super::super::support::{Scratch, WALL_LIMIT, eventually, pubsink};
use super::{ACME, Serving, block_on, large, put, received};

#[test]
fn a_raw_client_gets_heads_parts_and_pieces() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let body = large();
    let path = put(&dir, "one", &body).path();
    let serving = Serving::start(&scratch, &dir);
    let (head, sent) = received(serving.send("HEAD", &path, "range: bytes=1-2\r\n"));
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    assert!(head.contains("\r\ncontent-length: 3145728\r\n"), "{head}");
    assert!(sent.is_empty());
    // Over the end of a piece.
    let range = "range: bytes=1000000-1999999\r\n";
    let (head, sent) = received(serving.send("GET", &path, range));
    assert!(head.starts_with("http/1.1 206 "), "{head}");
    assert!(
        head.contains("\r\ncontent-range: bytes 1000000-1999999/3145728"),
        "{head}"
    );
    assert!(sent == body.as_bytes()[1_000_000..2_000_000]);
    let (head, _) = received(serving.send("GET", &path, "range: bytes=3145728-\r\n"));
    assert!(head.starts_with("http/1.1 416 "), "{head}");
    let (head, sent) = received(serving.send("GET", &path, ""));
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    assert!(sent == body.as_bytes());
    let (head, _) = received(serving.send("DELETE", &path, ""));
    assert!(head.starts_with("http/1.1 405 "), "{head}");
    // A line for each, without what may be a signature.
    let (head, _) = received(serving.send("GET", &format!("{path}?sig=hunter2"), ""));
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    // And nothing of what may be a token in the wrong place.
    for path in [
        "/hunter2",
        "/v1/claims/hunter2",
        "/v1/claims/acme/hunter2?x",
    ] {
        let (head, _) = received(serving.send("GET", path, ""));
        assert!(head.starts_with("http/1.1 40"), "{head}");
    }
    let log = serving.end().stderr;
    assert_eq!(log.matches("another path").count(), 3, "{log}");
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("/v1/claims/"))
        .collect();
    assert_eq!(lines.len(), 6, "{log}");
    assert!(lines[1].contains("status=206"), "{log}");
}

#[test]
fn who_has_no_token_gets_nothing_unless_all_are_served() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let claim = put(&dir, "one", "a body");
    let (claim, sha256) = (claim.as_str(), sha256_hex(b"a body"));
    let serving = Serving::start(&scratch, &dir);
    match serving
        .redeem("hunter2-stranger", claim, &sha256)
        .unwrap_err()
    {
        ClaimCheckError::Rejected { status, .. } => assert_eq!(status, 401),
        other => panic!("{other}"),
    }
    let client = serving.client("hunter2-stranger");
    assert_eq!(block_on(client.health()).unwrap().status, "ok");
    serving.end();
    let open = Serving::with(&dir, &["--open-to-all"]);
    assert_eq!(
        open.redeem("hunter2-stranger", claim, &sha256).unwrap(),
        "a body"
    );
    let said = open.end().stderr;
    assert!(
        said.contains("pubsink: whoever can reach it is served\n"),
        "{said}"
    );
    let all = scratch.file("all", format!("{ACME} *\n"));
    let all = Serving::with(&dir, &["--token-file", &all]);
    assert_eq!(all.redeem(ACME, claim, &sha256).unwrap(), "a body");
    all.end();
}

#[test]
fn a_store_that_is_away_is_no_claim_that_is_gone() {
    let scratch = Scratch::new();
    let (dir, elsewhere) = (scratch.path("claims"), scratch.path("elsewhere"));
    let claim = put(&dir, "one", "a body");
    let sha256 = sha256_hex(b"a body");
    let serving = Serving::start(&scratch, &dir);
    fs::rename(&dir, &elsewhere).unwrap();
    let away = serving.redeem(ACME, claim.as_str(), &sha256).unwrap_err();
    assert!(away.is_retryable(), "{away}");
    fs::rename(&elsewhere, &dir).unwrap();
    let back = serving.redeem(ACME, claim.as_str(), &sha256);
    assert_eq!(back.unwrap(), "a body");
    let said = serving.end().stderr;
    assert!(said.contains("there is no directory"), "{said}");
}

#[test]
fn a_claim_that_is_cut_short_breaks_the_connection_off() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    // More than what is on its way when nobody reads.
    let size = 64 * 1024 * 1024;
    let claim = put(&dir, "one", vec![b'x'; size]);
    let serving = Serving::start(&scratch, &dir);
    let mut stream = serving.send("GET", &claim.path(), "");
    stream.read_exact(&mut [0]).unwrap();
    put(&dir, "one", "cut");
    let mut rest = Vec::new();
    // It may be a reset.
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < size);
    let said = serving.end().stderr;
    assert!(said.contains("a claim was broken off"), "{said}");
}

#[test]
fn an_answer_under_way_is_finished_before_the_end() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let body = vec![b'x'; 64 * 1024 * 1024];
    let claim = put(&dir, "one", &body);
    let serving = Serving::start(&scratch, &dir);
    let mut stream = serving.send("GET", &claim.path(), "");
    let mut first = [0; 1];
    stream.read_exact(&mut first).unwrap();
    serving.running.signal(Signal::SIGINT);
    eventually("it accepts no more", || {
        TcpStream::connect(&serving.addr).is_err()
    });
    let (_, sent) = received(stream);
    assert!(sent == body);
    serving.running.wait().exits(0);
}

#[test]
fn no_more_is_served_at_once_than_it_has_room_for() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let path = put(&dir, "one", "a body").path();
    let serving = Serving::start(&scratch, &dir);
    let connect = |_| TcpStream::connect(&serving.addr).unwrap();
    let mut idle: Vec<_> = (0..256).map(connect).collect();
    let waiting = serving.send("GET", &path, "");
    let patience = Some(Duration::from_millis(300));
    waiting.set_read_timeout(patience).unwrap();
    assert!(waiting.peek(&mut [0]).is_err(), "it has no room for it yet");
    waiting.set_read_timeout(Some(WALL_LIMIT)).unwrap();
    idle.pop();
    let (head, _) = received(waiting);
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    drop(idle);
    serving.end();
}

#[test]
fn a_token_file_that_cannot_be_read_is_named_by_its_line() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let serve = [
        "claims",
        "serve",
        "--claims",
        &dir,
        "--listen",
        "127.0.0.1:0",
    ];
    for (content, words) in [
        (
            &b"hunter2-a-01234567 acme\nhunter2-b\n"[..],
            ", line 2: a line is TOKEN *",
        ),
        (
            b"# none\n\nhunter2-a-01234567 acme globex\n",
            ", line 3: a line is TOKEN *",
        ),
        (
            b"hunter2-a-01234567 acme/eu\n",
            ", line 1: a tenant is 1 to 64",
        ),
        (b"hunter2-01234567\x07a acme\n", ", line 1: "),
        (b"* hunter2-a-01234567\n", ", line 1: the token comes first"),
        (
            b"hunter2-a *\n",
            ", line 1: a token has at least 16 characters",
        ),
        (b"# none\n", ": it has no token; --open-to-all"),
        (b"hunter2-\xff acme\n", ": it is not UTF-8"),
    ] {
        let file = scratch.file("tokens", content);
        let done = pubsink(&serve)
            .arguments(&["--token-file", &file])
            .done()
            .exits(2);
        assert!(
            done.stderr.contains(&format!("{file}{words}")),
            "{}",
            done.stderr
        );
        assert!(!done.stderr.contains("hunter2"), "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    let missing = scratch.path("missing");
    let done = pubsink(&serve)
        .arguments(&["--token-file", &missing])
        .done()
        .exits(2);
    assert!(
        done.stderr
            .contains(&format!("cannot read --token-file {missing}: ")),
        "{}",
        done.stderr
    );
    let nobody = pubsink(&serve).done().exits(2).stderr;
    assert!(nobody.contains("--open-to-all"), "{nobody}");
}

#[test]
fn an_address_in_use_is_named() {
    let scratch = Scratch::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let serve = [
        "claims",
        "serve",
        "--claims",
        &scratch.path("claims"),
        "--listen",
        &addr,
    ];
    let done = pubsink(&serve)
        .arguments(&["--open-to-all"])
        .done()
        .exits(2);
    let words = format!("pubsink: cannot listen on {addr}: ");
    assert!(done.stderr.starts_with(&words), "{}", done.stderr);
    assert_eq!(done.stdout, "");
}
