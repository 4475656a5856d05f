//! What is written elsewhere says what the list of metrics says.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pubsink_runtime::metrics::{Kind, Metric, names};
use serde_json::Value;

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(name)).unwrap()
}

/// The names of metrics in a text, without what Prometheus appends to histograms.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = |word: &&str| {
        [
            "pubsink_publish_",
            "pubsink_dispatch_",
            "pubsink_subscribe_",
            "ankusa_dispatch_",
            "ankusa_claim_",
        ]
        .iter()
        .any(|prefix| word.starts_with(prefix))
    };
    words.filter(ours).map(base).collect()
}

fn base(word: &str) -> String {
    let bases = ["_bucket", "_sum", "_count"];
    let base = bases.iter().find_map(|end| word.strip_suffix(end));
    let histogram = |metric: &&&Metric| metric.kind == Kind::Histogram;
    let mut histograms = names::ALL.iter().filter(histogram);
    match base.filter(|base| histograms.any(|metric| metric.name == *base)) {
        Some(base) => base.to_owned(),
        None => word.to_owned(),
    }
}

fn all() -> BTreeSet<String> {
    names::ALL.iter().map(|it| it.name.to_owned()).collect()
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let text = read("dashboards/pubsink.json");
    assert_eq!(named(&text), all());
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        for target in panel["targets"].as_array().unwrap() {
            labels_fit(target["expr"].as_str().unwrap());
        }
    }
}

#[test]
fn the_alerts_ask_for_metrics_there_are() {
    let text = read("alerts/pubsink.rules.yml");
    let named = named(&text);
    assert!(named.is_subset(&all()), "{named:?}");
    for needed in [
        "ankusa_dispatch_config_errors_total",
        "pubsink_dispatch_breaker_state",
        "pubsink_dispatch_journal_errors_total",
        "pubsink_publish_refused_total",
        "pubsink_dispatch_oldest_due_age_seconds",
        "pubsink_publish_requests_total",
        "pubsink_subscribe_leases_lost_total",
        "pubsink_subscribe_requests_total",
        "pubsink_subscribe_settled_total",
        "pubsink_subscribe_full",
        "pubsink_subscribe_oldest_message_age_seconds",
    ] {
        assert!(named.contains(needed), "{needed}");
    }
    let exprs: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expr: "))
        .collect();
    let alerts = text.lines().filter(|line| line.contains("- alert: "));
    assert_eq!(exprs.len(), alerts.count());
    exprs.into_iter().for_each(labels_fit);
}

/// Every label that an expression filters or groups by is one of a metric in it.
fn labels_fit(expr: &str) {
    let metrics = named(expr);
    let metrics = names::ALL.iter().filter(|it| metrics.contains(it.name));
    let labels: BTreeSet<_> = metrics.flat_map(|it| it.labels.iter().copied()).collect();
    let filters = expr.split('{').skip(1).map(|rest| rest.split('}').next());
    let filters = filters.flatten().flat_map(|inner| inner.split(','));
    let filters = filters.map(|filter| filter.split(['=', '!']).next().unwrap());
    let groups = expr
        .split("by (")
        .skip(1)
        .map(|rest| rest.split(')').next());
    let groups = groups.flatten().flat_map(|inner| inner.split(','));
    for label in filters.chain(groups).map(str::trim) {
        // What Prometheus adds by itself.
        let added = ["le", "job", "instance"].contains(&label);
        assert!(added || labels.contains(label), "{label} in {expr}");
    }
}

#[test]
fn the_documentation_has_the_table_of_the_list() {
    let text = read("docs/observability.md");
    let mut table = "| metric | kind | labels | what it tells |\n|---|---|---|---|\n".to_owned();
    for metric in names::ALL {
        let labels: Vec<_> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
        let (name, kind) = (metric.name, metric.kind.as_str());
        let (labels, help) = (labels.join(", "), metric.help);
        writeln!(table, "| `{name}` | {kind} | {labels} | {help} |").unwrap();
    }
    assert!(text.contains(&table), "the table has to be:\n\n{table}");
}

#[test]
fn names_follow_the_rules_of_prometheus() {
    for metric in names::ALL {
        let name = metric.name;
        assert_eq!(
            metric.kind == Kind::Counter,
            name.ends_with("_total"),
            "{name}"
        );
        let unit = metric.unit.map(|unit| unit.as_str());
        assert_eq!(
            unit == Some("seconds"),
            name.ends_with("_seconds"),
            "{name}"
        );
        assert_eq!(unit == Some("bytes"), name.ends_with("_bytes"), "{name}");
        assert!(
            metric.help.ends_with('.') && !metric.help.contains('|'),
            "{name}"
        );
    }
}
