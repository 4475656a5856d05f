//! The demo: what a newcomer sees first.

use pubsink_fixtures::hooks::sample_ndjson;

use super::support::pubsink;

#[test]
fn the_demo_shows_each_kind_of_trouble_and_that_nothing_was_lost() {
    let done = pubsink(&["demo"]).done().exits(0);
    let line = |start: &str| {
        let found: Vec<_> = done
            .stdout
            .lines()
            .filter(|line| line.starts_with(start))
            .collect();
        assert_eq!(found.len(), 1, "{start}: {}", done.stdout);
        found[0]
    };
    let poisoned = line("demo-poisoned   attempt 1  ");
    assert!(
        poisoned.contains("permanent: Pub/Sub answered 400 INVALID_ARGUMENT"),
        "{poisoned}"
    );
    let oversize = line("demo-oversize   attempt 1  ");
    assert!(
        oversize.contains("permanent: the message takes "),
        "{oversize}"
    );
    let throttled = line("demo-throttled  attempt 1  ");
    assert!(throttled.contains("throttled, retry after "), "{throttled}");
    assert_eq!(
        line("demo-throttled  attempt 2  "),
        "demo-throttled  attempt 2  delivered"
    );
    let all = sample_ndjson().lines().count() + 3;
    let good = all - 2;
    let proof = format!(
        "Nothing lost: {all} hooks = {good} delivered and read back + 2 refused, each with its reason."
    );
    assert_eq!(done.stdout.lines().last(), Some(proof.as_str()));
    let whole =
        format!("{good} read back and decoded, {good} of them with the body byte for byte.");
    assert_eq!(line(&whole), whole);
}
