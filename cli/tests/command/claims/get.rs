//! `claims get`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use pubsink_core::claim::sha256_hex;

use super::super::support::{Scratch, pubsink};
use super::{flip, large, objects, put};

#[test]
fn a_body_is_written_where_it_is_wanted() {
    let scratch = Scratch::new();
    let (dir, output) = (scratch.path("claims"), scratch.path("out"));
    let claim = put(&dir, "one", "a body");
    let get = ["claims", "get", claim.as_str(), "--claims", &dir];
    assert_eq!(pubsink(&get).done().exits(0).stdout, "a body");
    let sha256 = sha256_hex(b"a body").to_uppercase();
    let verified = ["--sha256", &sha256, "--size", "6", "--output", &output];
    let done = pubsink(&get).arguments(&verified).done().exits(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
    assert_eq!(fs::read(&output).unwrap(), b"a body");
}

#[test]
fn a_body_that_was_changed_is_an_error_and_written_nowhere() {
    let scratch = Scratch::new();
    let (dir, output) = (scratch.path("claims"), scratch.path("out"));
    let claim = put(&dir, "one", "a body");
    flip(&dir);
    let get = [
        "claims",
        "get",
        claim.as_str(),
        "--claims",
        &dir,
        "--output",
        &output,
    ];
    let sha256 = sha256_hex(b"a body");
    for (size, what) in [("6", "sha256"), ("5", "size"), ("7", "size")] {
        let run = pubsink(&get).arguments(&["--sha256", &sha256, "--size", size]);
        let done = run.done().exits(1);
        let words = format!("pubsink: what lies under the claim is not its body: {what} is ");
        assert!(done.stderr.starts_with(&words), "{}", done.stderr);
        assert!(!fs::exists(&output).unwrap());
    }
}

#[test]
fn what_cannot_be_had_is_told_apart() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let claim = put(&dir, "one", "a body");
    let get = ["claims", "get", claim.as_str(), "--claims"];
    let large = pubsink(&get).arguments(&[&dir, "--max-bytes", "5"]);
    let large = large.done().exits(1).stderr;
    assert!(
        large.contains("has 6 bytes, over the limit of 5"),
        "{large}"
    );
    fs::remove_file(&objects(&dir)[0]).unwrap();
    let gone = pubsink(&get).arguments(&[&dir]).done().exits(1).stderr;
    assert_eq!(gone, "pubsink: the store has no claim of that ref\n");
    let nowhere = scratch.path("nowhere");
    let away = pubsink(&get).arguments(&[&nowhere]).done().exits(1).stderr;
    assert!(
        away.starts_with("pubsink: the claim store is unavailable: "),
        "{away}"
    );
}

#[test]
fn bad_usage_repeats_no_secret() {
    let scratch = Scratch::new();
    let dir = scratch.path("claims");
    let claim = put(&dir, "one", "a body");
    let signed = format!("urn:ankusa:claim:v2:acme:{}:1790345000:hunter2", claim.id());
    for (claim, url) in [
        (signed.as_str(), dir.as_str()),
        (claim.as_str(), "gs://hunter2@bucket"),
    ] {
        let get = ["claims", "get", claim, "--claims", url];
        let done = pubsink(&get).done().exits(2);
        assert!(!done.stderr.contains("hunter2"), "{}", done.stderr);
    }
    let half = [
        "claims",
        "get",
        claim.as_str(),
        "--claims",
        &dir,
        "--size",
        "6",
    ];
    let half = pubsink(&half).done().exits(2).stderr;
    assert!(half.contains("--sha256"), "{half}");
}

#[test]
fn a_file_that_cannot_be_written_whole_stays_as_it_was() {
    let scratch = Scratch::new();
    let (dir, folder) = (scratch.path("claims"), scratch.path("folder"));
    let claim = put(&dir, "one", large());
    fs::create_dir(&folder).unwrap();
    let output = format!("{folder}/out");
    fs::write(&output, "what was there").unwrap();
    let get = [
        "claims",
        "get",
        claim.as_str(),
        "--claims",
        &dir,
        "--output",
        &output,
    ];
    // No file may have more than 50 or 100 KiB.
    let limited = pubsink(&get).by_shell("trap '' XFSZ; ulimit -f 100; exec \"$@\"");
    let said = limited.done().exits(1).stderr;
    assert!(
        said.starts_with(&format!("pubsink: cannot write --output {output}: ")),
        "{said}"
    );
    assert_eq!(fs::read(&output).unwrap(), b"what was there");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left");
    // Through a link, with the permissions that the file had.
    fs::set_permissions(&output, Permissions::from_mode(0o640)).unwrap();
    let link = scratch.path("link");
    symlink(&output, &link).unwrap();
    let get = [&get[..6], &[link.as_str()]].concat();
    pubsink(&get).done().exits(0);
    assert!(fs::read(&output).unwrap() == large().as_bytes());
    let mode = fs::metadata(&output).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}
