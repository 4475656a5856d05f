//! Lines of JSON.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pubsink_core::message;
use pubsink_fixtures::broker::PubsubMessage;
use pubsink_fixtures::hooks::sample_ndjson;
use serde_json::{Value, json};

use super::super::support::{Done, end_of, publish, stored_ids};
use super::{WIRES, acked, all_acked, numbered, send, subscribe, subscribed, subscribed_as};

fn printed(done: &Done) -> Vec<Value> {
    let lines = done.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_message_is_a_line_and_is_acked() {
    for wire in WIRES {
        let server = subscribed_as(|config| config.ordered());
        let text = PubsubMessage::new("two\nlines").attribute("kind", "\"text\"");
        let ids = send(
            &server,
            [
                text.ordering_key("k"),
                PubsubMessage::new(vec![0xff, 0x00]).ordering_key("k"),
                PubsubMessage::new("")
                    .attribute("empty", "")
                    .ordering_key("k"),
            ],
        );
        let done = subscribe(&server, wire).arguments(&["--count", "3"]);
        let done = done.done().exits(0);
        let line = |id: &String, attributes: Value, data: &str, value: &str| {
            json!({
                "message_id": id,
                "publish_time": "2025-11-30T10:53:20.332Z",
                "ordering_key": "k",
                "attributes": attributes,
                data: value,
            })
        };
        assert_eq!(
            printed(&done),
            [
                line(&ids[0], json!({"kind": "\"text\""}), "data", "two\nlines"),
                line(&ids[1], json!({}), "data_base64", "/wA="),
                line(&ids[2], json!({"empty": ""}), "data", ""),
            ],
            "{wire}"
        );
        assert_eq!(acked(&server), 3, "{wire}");
        assert_eq!(
            done.summary(),
            "pubsink: 3 received, 3 acked, 0 retried, 0 failed"
        );
    }
}

#[test]
fn published_hooks_come_out_whole() {
    for wire in WIRES {
        let server = subscribed();
        let count = sample_ndjson().lines().count();
        publish(&server, sample_ndjson()).done().exits(0);
        let done = subscribe(&server, wire).arguments(&["--print", "--count", &count.to_string()]);
        let lines = printed(&done.done().exits(0));
        let mut ids = Vec::new();
        for line in &lines {
            let data = match line["data_base64"].as_str() {
                Some(data) => STANDARD.decode(data).unwrap(),
                None => line["data"].as_str().unwrap().into(),
            };
            let hook = message::decode(&data).unwrap();
            assert_eq!(line["attributes"]["ankusa_id"], hook.id.as_str());
            ids.push(hook.id);
        }
        ids.sort_unstable();
        assert_eq!(ids, stored_ids(&server), "{wire}");
    }
}

#[test]
fn a_count_is_not_passed_and_the_rest_is_left() {
    for wire in WIRES {
        let server = subscribed();
        send(&server, numbered(20));
        let mut seen = BTreeSet::new();
        for count in [3, 17] {
            let run = subscribe(&server, wire).arguments(&["--count", &count.to_string()]);
            let lines = printed(&run.done().exits(0));
            assert_eq!(lines.len(), count, "{wire}");
            let data = lines.iter().map(|line| line["data"].to_string());
            seen.extend(data);
        }
        assert_eq!((seen.len(), acked(&server)), (20, 20), "{wire}");
    }
}

#[test]
fn what_nobody_reads_is_not_acked_and_ends_it() {
    for wire in WIRES {
        let server = subscribed();
        send(&server, numbered(1));
        let mut command = subscribe(&server, wire).into_command();
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        assert!(first.contains("\"m1\""), "{first}");
        all_acked(&server, 1);
        drop(stdout);
        send(&server, [PubsubMessage::new("unread")]);
        let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
        assert_eq!(end_of(&mut child).code(), Some(0), "{stderr}");
        assert_eq!(acked(&server), 1, "{wire}");
        let summary = "pubsink: 2 received, 1 acked, 1 retried, 0 failed\n";
        assert!(stderr.ends_with(summary), "{stderr}");
        // It was given back, and not left to its lease.
        assert!(!server.log().nacked().is_empty());
        let again = subscribe(&server, wire).arguments(&["--count", "1"]).done();
        assert!(again.exits(0).stdout.contains("\"unread\""));
    }
}

#[test]
fn a_full_disk_is_told_and_nothing_is_acked() {
    let server = subscribed();
    send(&server, numbered(1));
    let mut command = subscribe(&server, "grpc").into_command();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let piped = command.stdout(full).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("pubsink: cannot write to standard output: "),
        "{stderr}"
    );
    assert_eq!(acked(&server), 0);
}

#[test]
fn a_reader_that_stops_to_read_does_not_hold_up_the_end() {
    let server = subscribed();
    send(&server, [PubsubMessage::new(vec![b'x'; 1024 * 1024])]);
    let run = subscribe(&server, "grpc").arguments(&["--shutdown-limit-ms", "200"]);
    let mut command = run.into_command();
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // It is on its way, and larger than a pipe.
    stdout.read_exact(&mut [0]).unwrap();
    kill(
        Pid::from_raw(child.id().try_into().unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(end_of(&mut child).code(), Some(3));
    assert_eq!((acked(&server), server.gauges().leases), (0, 0));
}
