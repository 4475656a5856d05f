//! The trace that a hook came with, on its message.

use pubsink_fixtures::broker::PubsubMessage;

use super::support::{Scratch, TOPIC, publish, server};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn input() -> String {
    let headers = [
        format!("{{\"Traceparent\":\"{TRACE}\",\"tracestate\":\"v=1\"}}"),
        "{\"traceparent\":\"hunter2\",\"tracestate\":\"v=1\"}".to_owned(),
        "{}".to_owned(),
    ];
    let line =
        |(id, headers)| format!("{{\"id\":\"{id}\",\"received_at\":1,\"headers\":{headers}}}\n");
    ["a", "b", "c"].into_iter().zip(headers).map(line).collect()
}

/// What was stored with these flags, by id.
fn stored(flags: &[&str]) -> Vec<PubsubMessage> {
    let server = server();
    publish(&server, input()).arguments(flags).done().exits(0);
    let stored = server.stored(TOPIC);
    let mut messages: Vec<_> = stored.iter().map(|one| one.message.clone()).collect();
    messages.sort_by(|a, b| a.attributes["ankusa_id"].cmp(&b.attributes["ankusa_id"]));
    messages
}

#[test]
fn a_hooks_trace_travels_as_attributes_where_it_is_asked_for_and_is_one() {
    let scratch = Scratch::new();
    let dirs = ["j", "k"].map(|name| scratch.path(name));
    let mut data = Vec::new();
    for (flags, asked) in [
        (&[][..], false),
        (&["--journal", &dirs[0]], false),
        (&["--trace-context"], true),
        (&["--trace-context", "--journal", &dirs[1]], true),
    ] {
        let messages = stored(flags);
        let traces = |name: &str| -> Vec<_> {
            let traces = messages.iter().map(|one| one.attributes.get(name).cloned());
            traces.collect()
        };
        let own = |value: &str| asked.then(|| value.to_owned());
        assert_eq!(traces("traceparent"), [own(TRACE), None, None]);
        assert_eq!(traces("tracestate"), [own("v=1"), None, None]);
        data.push(messages.into_iter().map(|one| one.data).collect::<Vec<_>>());
    }
    // There they are among the other headers, whatever travels beside.
    assert!(String::from_utf8_lossy(&data[0][0]).contains("\"traceparent\""));
    assert!(data.iter().all(|one| *one == data[0]));
}
