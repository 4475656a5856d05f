use super::*;

type Set = fn(PublisherOptionsBuilder) -> PublisherOptionsBuilder;

fn builder() -> PublisherOptionsBuilder {
    PublisherOptions::builder("proj", "hooks")
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let options = builder().build().unwrap();
    assert_eq!(options.endpoint().as_str(), "https://pubsub.googleapis.com");
    assert_eq!(options.inline_max_bytes(), 65_536);
    assert_eq!(options.max_message_bytes(), 10_000_000);
    assert_eq!(options.timeout(), Duration::from_millis(5_000));
    assert!(options.batch());
    assert_eq!(options.batch_linger(), Duration::from_millis(20));
    assert_eq!(options.batch_max_entries(), 1_000);
    assert_eq!(options.batch_max_bytes(), 7_500_000);
    assert_eq!(options.batch_queue_max(), 4_096);
    assert_eq!(options.batch_queue_bytes(), 134_217_728);
    assert_eq!(options.batch_queue_tenant(), 1_024);
    assert_eq!(options.batch_max_inflight(), 8);
    assert_eq!(options.sink_concurrency(), 8);
    assert_eq!(options.ordering_on_failure(), OrderingOnFailure::Continue);
    assert_eq!(options.max_stopped_keys(), 1_024);
    assert!(!options.trace_context());
    assert_eq!(options.compression(), Compression::Off);
    let url = options.publish_url().to_string();
    assert_eq!(
        url,
        "https://pubsub.googleapis.com/v1/projects/proj/topics/hooks:publish"
    );
}

#[test]
fn each_option_refuses_what_lies_outside_its_range() {
    let cases: &[(&str, Set, &str)] = &[
        ("inline_max_bytes", |b| b.inline_max_bytes(0), "at least 1"),
        (
            "max_message_bytes",
            |b| b.max_message_bytes(0),
            "1 to 10000000",
        ),
        (
            "max_message_bytes",
            |b| b.max_message_bytes(10_000_001),
            "1 to 10000000",
        ),
        (
            "timeout",
            |b| b.timeout(Duration::from_micros(999)),
            "at least 1 ms",
        ),
        (
            "batch_linger",
            |b| b.batch_linger(Duration::ZERO),
            "1 to 60000 ms",
        ),
        (
            "batch_linger",
            |b| b.batch_linger(Duration::from_millis(60_001)),
            "1 to 60000 ms",
        ),
        ("batch_max_entries", |b| b.batch_max_entries(0), "1 to 1000"),
        (
            "batch_max_entries",
            |b| b.batch_max_entries(1_001),
            "1 to 1000",
        ),
        ("batch_max_bytes", |b| b.batch_max_bytes(0), "1 to 7500000"),
        (
            "batch_max_bytes",
            |b| b.batch_max_bytes(7_500_001),
            "1 to 7500000",
        ),
        ("batch_queue_max", |b| b.batch_queue_max(0), "at least 1"),
        (
            "batch_queue_bytes",
            |b| b.batch_queue_bytes(0),
            "at least 1",
        ),
        (
            "batch_queue_tenant",
            |b| b.batch_queue_tenant(0),
            "at least 1",
        ),
        (
            "batch_max_inflight",
            |b| b.batch_max_inflight(0),
            "at least 1",
        ),
        ("sink_concurrency", |b| b.sink_concurrency(0), "at least 1"),
        ("max_stopped_keys", |b| b.max_stopped_keys(0), "at least 1"),
        (
            "gzip_above",
            |b| b.compression(Compression::gzip(10_485_761)),
            "0 to 10485760",
        ),
        (
            "gzip_level",
            |b| b.compression(Compression::Gzip { above: 0, level: 0 }),
            "1 to 9",
        ),
        (
            "gzip_level",
            |b| {
                b.compression(Compression::Gzip {
                    above: 0,
                    level: 10,
                })
            },
            "1 to 9",
        ),
    ];
    for (option, set, expected) in cases {
        let error = set(builder()).build().unwrap_err();
        assert_eq!(
            (error.option, error.expected.as_str()),
            (*option, *expected)
        );
    }
}

#[test]
fn the_edges_of_each_range_are_inside_it() {
    let least = builder()
        .inline_max_bytes(1)
        .max_message_bytes(1)
        .timeout(Duration::from_millis(1))
        .batch_linger(Duration::from_millis(1))
        .batch_max_entries(1)
        .batch_max_bytes(1)
        .batch_queue_max(1)
        .batch_queue_bytes(1)
        .batch_queue_tenant(1)
        .batch_max_inflight(1)
        .sink_concurrency(1)
        .max_stopped_keys(1)
        .compression(Compression::Gzip { above: 0, level: 1 });
    assert!(least.build().is_ok());
    let most = builder()
        .batch_linger(Duration::from_millis(60_000))
        .batch_max_entries(1_000)
        .batch_max_bytes(7_500_000)
        .max_message_bytes(10_000_000)
        .compression(Compression::Gzip {
            above: 10_485_760,
            level: 9,
        });
    assert!(most.build().is_ok());
}

#[test]
fn names_and_endpoint_are_checked_when_built() {
    let error = PublisherOptions::builder("p", "ab").build().unwrap_err();
    assert_eq!(error.option, "topic");
    let error = PublisherOptions::builder("", "abc").build().unwrap_err();
    assert_eq!(error.option, "project");
    let error = builder().endpoint("nowhere").build().unwrap_err();
    assert_eq!(error.option, "endpoint");
    let error = builder().emulator("bad host").build().unwrap_err();
    assert_eq!(error.option, "endpoint");
}

#[test]
fn an_error_reads_well() {
    let error = builder().batch_max_entries(5_000).build().unwrap_err();
    let words = "option batch_max_entries is \"5000\"; it must be 1 to 1000";
    assert_eq!(error.to_string(), words);
}

#[test]
fn a_fixed_ordering_key_is_checked_before_any_hook_fails_for_it() {
    assert!(builder().ordering_key(&"k".repeat(1_024)).build().is_ok());
    let error = builder()
        .ordering_key(&"k".repeat(1_025))
        .build()
        .unwrap_err();
    let words = "option ordering_key is \"1025 bytes long\"; it must be at most 1024 bytes long";
    assert_eq!(error.to_string(), words);
}

#[test]
fn the_page_on_publishing_has_every_option() {
    let page = include_str!("../../../docs/publishing.md");
    let settings = format!("{:?}", builder().build().unwrap().settings);
    let names = settings
        .split([' ', '{'])
        .filter_map(|word| word.strip_suffix(':'));
    let names: Vec<_> = names.collect();
    assert!(names.contains(&"trace_context"), "{settings}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "{name} is not in it");
    }
}
