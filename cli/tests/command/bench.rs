//! The benchmark: one line of figures, or a reason.

use super::support::{TOPIC, pubsink, server};

fn bench(endpoint: &str, arguments: &[&str]) -> super::support::Run {
    let all = [
        "bench",
        "--project",
        "p",
        "--topic",
        "hooks",
        "--endpoint",
        endpoint,
    ];
    pubsink(&all).arguments(arguments)
}

#[test]
fn it_prints_one_line_of_figures_once_every_message_is_confirmed() {
    for payload in ["raw", "hook"] {
        let server = server();
        let arguments = ["--messages", "3000", "--size", "100", "--payload", payload];
        let done = bench(&server.endpoint(), &arguments).done().exits(0);
        let line = done.stdout.strip_suffix('\n').unwrap();
        let figures: Vec<_> = line
            .split(' ')
            .map(|figure| figure.split_once('=').unwrap())
            .collect();
        let names: Vec<_> = figures.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["messages_per_s", "cpu_s_per_million", "rss_mib"]);
        assert!(
            figures
                .iter()
                .all(|(_, figure)| figure.parse::<f64>().unwrap() > 0.0),
            "{line}"
        );
        assert_eq!(
            (server.stored(TOPIC).len(), done.stderr.as_str()),
            (3_000, "")
        );
    }
}

#[test]
fn raw_messages_are_of_the_size_asked_for() {
    let server = server();
    bench(&server.endpoint(), &["--messages", "300", "--size", "77"])
        .done()
        .exits(0);
    let stored = server.stored(TOPIC);
    assert!(stored.iter().all(|one| one.message.data.len() == 77));
    let size = |one: &pubsink_fixtures::broker::PubsubMessage| {
        one.attributes
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum::<usize>()
    };
    assert!(
        stored
            .iter()
            .all(|one| (one.message.attributes.len(), size(&one.message)) == (6, 140))
    );
    let different: std::collections::BTreeSet<_> =
        stored.iter().map(|one| &one.message.data).collect();
    assert_eq!(different.len(), 256);
}

#[test]
fn a_refused_connection_is_a_reason_and_no_figures() {
    let server = server();
    server.refuse_connections(true).unwrap();
    let done = bench(&server.endpoint(), &["--messages", "10"])
        .done()
        .exits(1);
    assert_eq!(done.stdout, "");
    assert!(
        done.stderr.starts_with(
            "pubsink: 10 messages failed; the first: transient: transport (connect): "
        ),
        "{}",
        done.stderr
    );
}

#[test]
fn figures_out_of_range_are_bad_usage() {
    for arguments in [
        ["--messages", "0"],
        ["--size", "10000001"],
        ["--payload", "other"],
    ] {
        let done = bench("http://127.0.0.1:1", &arguments).done().exits(2);
        assert!(
            done.stderr.contains(arguments[0]) && done.stderr.contains(arguments[1]),
            "{}",
            done.stderr
        );
    }
}
