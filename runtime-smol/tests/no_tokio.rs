//! What stands under this crate has no tokio in it.

use std::process::Command;

#[test]
fn there_is_no_tokio_in_the_dependency_tree() {
    let Some(cargo) = std::env::var_os("CARGO") else {
        println!("NOT RUN: cargo is not here");
        return;
    };
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "-p", "pubsink-smol", "-e", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let Ok(tree) = tree else {
        println!("NOT RUN: cargo does not start");
        return;
    };
    let said = String::from_utf8_lossy(&tree.stderr);
    assert!(tree.status.success(), "{said}");
    let packages = String::from_utf8(tree.stdout).unwrap();
    assert!(packages.contains("isahc "), "{packages}");
    let tokio: Vec<_> = packages
        .lines()
        .filter(|package| package.contains("tokio"))
        .collect();
    assert!(tokio.is_empty(), "{tokio:?}");
}
