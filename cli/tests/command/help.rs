//! The help: what there is, its defaults, and how a command ends.

use super::support::pubsink;

const COMMANDS: [&str; 10] = [
    "demo",
    "publish",
    "replay",
    "subscribe",
    "dead-letters",
    "journal",
    "claims",
    "describe",
    "emulator",
    "bench",
];

#[test]
fn without_arguments_the_help_is_shown_and_it_is_bad_usage() {
    let done = pubsink(&[]).done().exits(2);
    assert_eq!(done.stdout, "");
    for command in COMMANDS {
        assert!(
            done.stderr.contains(&format!("\n  {command} ")),
            "{}",
            done.stderr
        );
    }
    assert!(
        done.stderr.contains("Usage: pubsink <COMMAND>"),
        "{}",
        done.stderr
    );
}

#[test]
fn the_help_of_every_command_tells_the_exit_codes() {
    for command in COMMANDS {
        for flag in ["--help", "-h"] {
            let help = pubsink(&[command, flag]).done().exits(0).stdout;
            assert!(help.contains("Exit codes: 0 "), "{command} {flag}: {help}");
        }
    }
    let help = pubsink(&["--help"]).done().exits(0).stdout;
    assert!(
        help.contains(
            "0 all delivered; 1 some deliveries failed; 2 bad usage or configuration; 3 interrupted"
        ),
        "{help}"
    );
}

#[test]
fn the_help_of_publish_tells_the_default_of_every_flag_that_has_one() {
    let help = pubsink(&["publish", "-h"]).done().exits(0).stdout;
    for (flag, default) in [
        ("--endpoint <URL>", "else https://pubsub.googleapis.com]"),
        ("--input <FILE>", "[default: -]"),
        (
            "--outcomes <FILE>",
            "[default: only a summary and the first failures, on standard error]",
        ),
        (
            "--dead-letters <FILE>",
            "[default: kept nowhere, but for a journal]",
        ),
        ("--max-attempts <N>", "[default: 5, or 84 with --journal]"),
        ("--journal <DIR>", "[default: in memory]"),
        ("--claims <URL>", "[default: such hooks fail]"),
        ("--shutdown-limit-ms <MS>", "[default: 10000]"),
        ("--inline-max-bytes <BYTES>", "[default: 65536]"),
        ("--max-message-bytes <BYTES>", "[default: 10000000]"),
        ("--timeout-ms <MS>", "[default: 5000]"),
        ("--batch-linger-ms <MS>", "[default: 20]"),
        ("--batch-max-entries <N>", "[default: 1000]"),
        ("--batch-max-bytes <BYTES>", "[default: 7500000]"),
        ("--batch-queue-max <N>", "[default: 4096]"),
        ("--batch-queue-bytes <BYTES>", "[default: 134217728]"),
        ("--batch-queue-tenant <N>", "[default: 1024]"),
        ("--batch-max-inflight <N>", "[default: 8]"),
        ("--sink-concurrency <N>", "[default: 8]"),
        ("--ordering-on-failure <WHAT>", "[default: continue]"),
        ("--max-stopped-keys <N>", "[default: 1024]"),
        ("--gzip-above <BYTES>", "[default: none are compressed]"),
        ("--gzip-level <N>", "[default: 1]"),
    ] {
        let line = help
            .lines()
            .find(|line| line.contains(flag))
            .unwrap_or_else(|| panic!("{flag}"));
        assert!(line.ends_with(default), "{line}");
    }
}

#[test]
fn the_long_help_of_publish_tells_the_form_of_a_line() {
    let help = pubsink(&["publish", "--help"]).done().exits(0).stdout;
    for key in [
        "id",
        "source_id",
        "tenant_id",
        "received_at",
        "headers",
        "content_type",
        "dedupe_key",
        "body",
        "body_base64",
    ] {
        assert!(help.contains(key), "{key}");
    }
}

#[test]
fn the_help_tells_of_journals_and_how_to_reach_the_emulator() {
    let help = pubsink(&["--help"]).done().exits(0).stdout;
    for words in ["publish --journal DIR", "--project local", "dead-letters"] {
        assert!(help.contains(words), "{words}");
    }
    let help = pubsink(&["replay", "--help"]).done().exits(0).stdout;
    for words in ["attempt_timeout", "key_stopped", "paused itself"] {
        assert!(help.contains(words), "{words}");
    }
    let help = pubsink(&["publish", "--help"]).done().exits(0).stdout;
    assert!(help.contains("which every run begins anew"), "{help}");
}

#[test]
fn the_version_is_told() {
    let version = format!("pubsink {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(pubsink(&["--version"]).done().exits(0).stdout, version);
}
