//! The head of a request.

use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Version};
use pubsink_core::options::PublisherOptions;
use pubsink_core::publish::Admission;

use crate::sim::defaults;
use crate::sim::messages::{authorized_request, message, request_of};

fn request(options: &Arc<PublisherOptions>) -> Request<bytes::Bytes> {
    let admission = Admission::message(message(1), options).unwrap();
    request_of(options, [admission]).encode().0
}

fn url(project: &str, topic: &str, endpoint: &str) -> String {
    let options = PublisherOptions::builder(project, topic).endpoint(endpoint);
    request(&Arc::new(options.build().unwrap()))
        .uri()
        .to_string()
}

#[test]
fn it_is_a_post_of_json_and_nothing_else() {
    let request = request(&defaults());
    assert_eq!(request.method(), Method::POST);
    assert_eq!(request.version(), Version::HTTP_11);
    assert_eq!(request.headers().len(), 1);
    assert_eq!(request.headers()[CONTENT_TYPE], "application/json");
    let expected = "https://pubsub.googleapis.com/v1/projects/proj/topics/hooks:publish";
    assert_eq!(request.uri().to_string(), expected);
}

#[test]
fn a_token_is_a_bearer_marked_sensitive() {
    let request = authorized_request("ya29.token");
    assert!(!format!("{request:?}").contains("ya29"));
    let (http, sent) = request.encode();
    let header = &http.headers()[AUTHORIZATION];
    assert_eq!(header, "Bearer ya29.token");
    assert!(header.is_sensitive());
    assert_eq!(http.headers().len(), 2);
    assert!(!format!("{http:?} {sent:?}").contains("ya29"));
}

#[test]
fn odd_names_are_escaped_once() {
    let endpoint = "https://pubsub.googleapis.com";
    let base = "https://pubsub.googleapis.com/v1/projects";
    let odd = url("p", "a-b.c_d~e+f%g", endpoint);
    assert_eq!(odd, format!("{base}/p/topics/a-b.c_d~e%2Bf%25g:publish"));
    let encoded = url("p", "a%2Bb", endpoint);
    assert_eq!(encoded, format!("{base}/p/topics/a%252Bb:publish"));
    let scoped = url("example.com:p", "abc", endpoint);
    assert_eq!(scoped, format!("{base}/example.com:p/topics/abc:publish"));
}

#[test]
fn an_endpoint_keeps_its_scheme_port_and_prefix() {
    let path = "/v1/projects/p/topics/abc:publish";
    for (endpoint, base) in [
        ("http://localhost:8085", "http://localhost:8085"),
        ("http://localhost:8085/", "http://localhost:8085"),
        ("http://[::1]:8085", "http://[::1]:8085"),
        (
            "https://proxy.example/pub/sub//",
            "https://proxy.example/pub/sub",
        ),
        (
            "https://us-east1-pubsub.googleapis.com",
            "https://us-east1-pubsub.googleapis.com",
        ),
    ] {
        assert_eq!(url("p", "abc", endpoint), format!("{base}{path}"));
    }
}

#[test]
fn a_request_knows_its_size_and_its_number() {
    let options = defaults();
    let admit = |tag| Admission::message(message(tag), &options).unwrap();
    let request = request_of(&options, (1..=3).map(admit));
    assert_eq!(request.len(), 3);
    assert!(!request.is_empty());
    let id = request.id();
    let (_, sent) = request.encode();
    assert_eq!(sent.id(), id);
    let reply = crate::sim::answers::error(404, "NOT_FOUND");
    let response = sent.answered(&reply);
    assert_eq!(response.id(), id);
    assert_eq!(
        *response.verdict(),
        pubsink_core::wire::read_reply(&reply, 3)
    );
}
