//! Claims in a directory: where they lie, and what a kill leaves.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use pubsink_runtime::claims::{ClaimStore as _, DirectoryClaims};
use pubsink_runtime::core::claim::{ClaimError, ClaimRef};

use crate::contract::{self, body, claim};
use crate::support::{Here, Place, block_on};

fn open(path: &Path) -> DirectoryClaims<Here> {
    DirectoryClaims::new(path, Here)
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn unavailable<T>(result: Result<T, ClaimError>) -> String {
    match result.map(drop) {
        Err(ClaimError::Unavailable { detail }) => detail.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_is_a_claim_store() {
    let place = Place::new();
    let store = open(&place.path().join("made/when/needed"));
    // The contract begins with claims that are not there, of a directory that is.
    fs::create_dir_all(store.directory()).unwrap();
    block_on(contract::hold(&store, "acme"));
    assert_eq!(names(store.directory()), [".incoming", "acme", "acme-2"]);
    assert!(names(&store.directory().join(".incoming")).is_empty());
}

#[test]
fn a_claim_is_a_file_of_its_bytes() {
    let place = Place::new();
    let store = open(&place.path().join("a/b"));
    let claim = claim("acme", "one");
    assert!(!place.path().exists());
    block_on(store.check_in(&claim, body("one", 70_000))).unwrap();
    let file = place.path().join("a/b/acme").join(claim.id());
    assert!(fs::read(&file).unwrap() == body("one", 70_000));
    // What another process has put there is one too.
    let other = contract::claim("acme", "other");
    fs::write(file.with_file_name(other.id()), "other").unwrap();
    assert_eq!(block_on(store.fetch(&other, 5)).unwrap(), "other");
}

#[test]
fn a_directory_that_is_missing_has_lost_no_claims() {
    let place = Place::new();
    let store = open(place.path());
    let claim = claim("acme", "one");
    let said = unavailable(block_on(store.size(&claim)));
    assert!(said.contains("there is no directory"), "{said}");
    unavailable(block_on(store.fetch(&claim, 9)));
    unavailable(block_on(store.fetch_range(&claim, 0..9)));
    fs::create_dir(place.path()).unwrap();
    assert_eq!(block_on(store.size(&claim)), Err(ClaimError::NotFound));
    // It may go away under a process, and is made again.
    for _ in 0..2 {
        block_on(store.check_in(&claim, body("one", 9))).unwrap();
        assert_eq!(block_on(store.size(&claim)), Ok(9));
        fs::remove_dir_all(place.path()).unwrap();
    }
}

#[test]
fn what_is_not_a_file_is_no_claim() {
    let place = Place::new();
    let store = open(place.path());
    let claim = claim("acme", "one");
    fs::create_dir_all(place.path().join("acme").join(claim.id())).unwrap();
    unavailable(block_on(store.size(&claim)));
    unavailable(block_on(store.check_in(&claim, body("one", 9))));
    #[cfg(unix)]
    {
        let nothing = contract::claim("acme", "nothing");
        let path = place.path().join("acme").join(nothing.id());
        std::os::unix::fs::symlink("nowhere", path).unwrap();
        let said = unavailable(block_on(store.check_in(&nothing, body("one", 9))));
        assert!(said.contains("nothing is there"), "{said}");
    }
    fs::write(place.path().join("umbrella"), "a file").unwrap();
    let under_a_file = contract::claim("umbrella", "one");
    unavailable(block_on(store.check_in(&under_a_file, body("one", 9))));
    let store = open(&place.path().join("umbrella"));
    unavailable(block_on(store.check_in(&claim, body("one", 9))));
    unavailable(block_on(store.size(&claim)));
}

#[test]
fn a_file_in_the_place_of_incoming_is_told_by_its_name() {
    let place = Place::new();
    let incoming = place.path().join(".incoming");
    let told = |store: &DirectoryClaims<Here>, name| {
        let said = unavailable(block_on(
            store.check_in(&claim("acme", name), body(name, 9)),
        ));
        let named = format!("{}", incoming.display());
        assert!(said.contains(&named), "{said}");
        assert!(!said.contains("its name is taken"), "{said}");
    };
    fs::create_dir(place.path()).unwrap();
    fs::write(&incoming, "a file").unwrap();
    let store = open(place.path());
    told(&store, "one");
    fs::remove_file(&incoming).unwrap();
    block_on(store.check_in(&claim("acme", "one"), body("one", 9))).unwrap();
    // Under a process that has seen a directory there.
    fs::remove_dir(&incoming).unwrap();
    fs::write(&incoming, "a file").unwrap();
    told(&store, "two");
    // What is there already needs none.
    block_on(store.check_in(&claim("acme", "one"), body("one", 9))).unwrap();
}

#[test]
fn what_dead_processes_left_is_cleared_away_and_no_claim() {
    let place = Place::new();
    let incoming = place.path().join(".incoming");
    fs::create_dir_all(&incoming).unwrap();
    for (name, minutes) in [("old", 61), ("new", 59)] {
        let file = File::create(incoming.join(name)).unwrap();
        let at = SystemTime::now() - Duration::from_secs(60 * minutes);
        file.set_modified(at).unwrap();
    }
    let store = open(place.path());
    block_on(store.check_in(&claim("acme", "one"), body("one", 9))).unwrap();
    assert_eq!(names(&incoming), ["new"]);
    // Only this much can be asked for: the name of the directory is no tenant.
    assert!(ClaimRef::new(".incoming", claim("acme", "one").id()).is_err());
}

#[test]
fn of_two_bodies_at_once_one_is_there_with_all_its_bytes() {
    const SIZE: usize = 300_000;
    let place = Place::new();
    for round in 0..20 {
        let claim = claim("acme", &round.to_string());
        let results = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                loop {
                    match block_on(open(place.path()).fetch(&claim, SIZE as u64)) {
                        Ok(body) => return body,
                        // Not there, or not even the directory.
                        Err(ClaimError::NotFound | ClaimError::Unavailable { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let writers = ["a", "b", "a", "b"].map(|name| {
                let (claim, place) = (&claim, &place);
                let check_in =
                    move || block_on(open(place.path()).check_in(claim, body(name, SIZE)));
                (name, scope.spawn(check_in))
            });
            let there = reader.join().unwrap();
            for (name, writer) in writers {
                match writer.join().unwrap() {
                    Ok(()) => assert!(there == body(name, SIZE)),
                    Err(ClaimError::Integrity { .. }) => assert!(there != body(name, SIZE)),
                    Err(error) => panic!("{error}"),
                }
            }
            there
        });
        assert!(results == body("a", SIZE) || results == body("b", SIZE));
    }
}

/// Where the child of the next test writes; without it there is none.
const CHILD: &str = "PUBSINK_TEST_CLAIMS_OF_A_CHILD";
const KILLED_SIZE: usize = 1_500_000;

#[test]
fn a_kill_leaves_whole_claims_only() {
    if let Some(path) = std::env::var_os(CHILD) {
        let store = open(Path::new(&path));
        for round in 0_u64.. {
            let name = round.to_string();
            block_on(store.check_in(&claim("acme", &name), body(&name, KILLED_SIZE))).unwrap();
        }
    }
    let place = Place::new();
    for kill in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "directory::a_kill_leaves_whole_claims_only"])
            .env(CHILD, place.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let tenant = place.path().join("acme");
        while !tenant.is_dir() || names(&tenant).len() < 3 * kill {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "the child is stuck"
            );
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let store = open(place.path());
    let count = names(&place.path().join("acme")).len();
    assert!(count >= 15);
    for round in 0..count {
        let name = round.to_string();
        let found = block_on(store.fetch(&claim("acme", &name), u64::MAX));
        assert!(found.unwrap() == body(&name, KILLED_SIZE), "{name}");
        // A retry of what was under way, and of what was done.
        block_on(store.check_in(&claim("acme", &name), body(&name, KILLED_SIZE))).unwrap();
    }
}
