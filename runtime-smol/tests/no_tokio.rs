//! How much of tokio stands under this crate: nothing, or with `grpc` its traits and locks.

use std::process::Command;

/// What of tokio runs, opens sockets or keeps time.
const RUNTIME: [&str; 7] = ["fs", "full", "net", "process", "rt", "signal", "time"];

#[test]
fn there_is_no_tokio_in_the_dependency_tree() {
    let Some(packages) = tree(&[]) else { return };
    assert_eq!(tokio(&packages), Vec::<&str>::new());
}

#[test]
fn with_grpc_there_is_tokio_but_no_runtime_of_it() {
    let Some(packages) = tree(&["--features", "grpc"]) else {
        return;
    };
    let tokio = tokio(&packages);
    let features = tokio
        .iter()
        .find_map(|package| package.strip_prefix("tokio "))
        .unwrap_or_else(|| panic!("no tokio: {tokio:?}"));
    let (_version, features) = features.split_once(' ').unwrap_or_default();
    let features: Vec<_> = features.split(',').collect();
    assert!(features.contains(&"io-util"), "{features:?}");
    for feature in features {
        let runs = RUNTIME.iter().any(|name| feature.starts_with(name));
        assert!(!runs, "tokio is built with {feature}");
    }
}

/// Each package under this crate with its features, or none where that cannot be told here.
fn tree(options: &[&str]) -> Option<String> {
    let Some(cargo) = std::env::var_os("CARGO") else {
        eprintln!("NOT RUN: cargo is not here");
        return None;
    };
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "-p", "pubsink-smol", "-e", "normal"])
        .args(["--prefix", "none", "--format", "{p} {f}"])
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let Ok(tree) = tree else {
        eprintln!("NOT RUN: cargo does not start");
        return None;
    };
    let said = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{said}");
    let packages = String::from_utf8_lossy(&tree.stdout).into_owned();
    assert!(packages.contains("isahc "), "{packages}");
    Some(packages)
}

fn tokio(packages: &str) -> Vec<&str> {
    let names = packages.lines().filter(|line| line.contains("tokio"));
    names.collect()
}
