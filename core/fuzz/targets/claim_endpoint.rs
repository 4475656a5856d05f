//! Whatever is asked of the claim endpoint: no claim without its token, and nothing promised that
//! the claim does not have.
//!
//! An input is the size of the claim in 8 bytes, then the lines of a request: method, target, and
//! headers as `name:value`.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use pubsink_core::claim::endpoint::{Answer, Body, Decision, Endpoint, Grant, pieces};

const TOKEN: &str = "0123456789abcdef";

pub(crate) fn run(data: &[u8]) {
    let Some((size, request)) = data.split_first_chunk() else {
        return;
    };
    let size = u64::from_be_bytes(*size);
    let mut lines = request.split(|&byte| byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let Ok(method) = Method::from_bytes(line()) else {
        return;
    };
    let Ok(target) = std::str::from_utf8(line()) else {
        return;
    };
    let mut headers = HeaderMap::new();
    for line in lines {
        let mut parts = line.splitn(2, |&byte| byte == b':');
        let name = HeaderName::from_bytes(parts.next().unwrap_or_default());
        let value = HeaderValue::from_bytes(parts.next().unwrap_or_default());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let grant = Grant::tenants(TOKEN, ["acme"]).unwrap();
    let endpoint = Endpoint::new([grant]).unwrap();
    let find = match endpoint.ask(&method, target, &headers) {
        Decision::Answer(answer) => {
            check(&answer, &method);
            return assert!(matches!(answer.body, Body::Bytes(_)));
        }
        Decision::Find(find) => find,
    };
    assert_eq!(find.claim().tenant(), "acme");
    let authorization = headers["authorization"].to_str().unwrap();
    assert!(authorization.contains(TOKEN), "{authorization}");
    assert!(target.starts_with(&find.claim().path()));

    let answer = find.found(size);
    check(&answer, &method);
    let Body::Claim(part) = answer.body else {
        return assert!(method == Method::HEAD || answer.status == 416);
    };
    assert!(part.start <= part.end && part.end <= size, "{part:?}");
    assert_eq!(length(&answer.headers), part.end - part.start);
    assert_eq!(
        answer.status == 200,
        !answer.headers.contains_key("content-range")
    );
    assert!(answer.status == 206 || part == (0..size));
    let first = pieces(part.clone(), 1 << 20).next();
    assert_eq!(
        first.map(|piece| piece.start),
        (!part.is_empty()).then_some(part.start)
    );
}

/// What every answer keeps.
fn check(answer: &Answer, method: &Method) {
    let length = length(&answer.headers);
    if let Body::Bytes(body) = &answer.body {
        let is_head = *method == Method::HEAD;
        assert_eq!(body.len() as u64, if is_head { 0 } else { length });
        // The error of a broken request is short, whatever the request.
        assert!(body.len() < 2_000);
    }
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
}

fn length(headers: &HeaderMap) -> u64 {
    headers["content-length"].to_str().unwrap().parse().unwrap()
}
