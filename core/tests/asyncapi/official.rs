//! The official parser and the official JSON Schema, where `.ci/check-asyncapi` has installed
//! them.

use std::path::{Path, PathBuf};
use std::process::Command;

use pubsink_core::asyncapi::AsyncApi;
use serde_json::{Value, json};

use super::samples::{nasty, whole};
use super::schema::{written, wrong};

#[test]
fn official_tools_take_the_documents() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/asyncapi");
    let installed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("asyncapi");
    if let Err(missing) = check_installed(&scripts, &installed) {
        return eprintln!("NOT RUN: the official AsyncAPI parser: {missing}");
    }
    let cases = installed.join("cases.json");
    std::fs::write(
        &cases,
        json!([plain(), empty(), hostile(), refused()]).to_string(),
    )
    .unwrap();
    let mut node = Command::new("node");
    let node = node
        .arg(scripts.join("validate.mjs"))
        .arg(installed)
        .arg(cases);
    let output = node.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
    assert_eq!(said.lines().count(), 4, "{said}");
}

/// A document with messages that fit it and messages that do not.
fn plain() -> Value {
    let written = written();
    let accepted: Vec<&Value> = written.iter().map(|one| &one.message).collect();
    let attributes: Vec<&Value> = written.iter().map(|one| &one.attributes).collect();
    json!({
        "name": "with something of everything",
        "document": whole().to_json(),
        "message": "/channels/projects-my-project-topics-hooks/messages/github-acme",
        "accepted": accepted,
        "attributes": attributes,
        "refused": wrong(),
    })
}

fn empty() -> Value {
    let document = AsyncApi::new("Nothing", "0.1.0");
    json!({"name": "without a channel", "document": document.to_json()})
}

fn hostile() -> Value {
    json!({"name": "of nasty texts", "document": nasty().to_json()})
}

/// Why a channel binding is left out: the day this one is taken, it need not be.
fn refused() -> Value {
    json!({
        "name": "with bindings as described",
        "document": whole().bindings_as_described().to_json(),
        "error": "required property \"schemaSettings\"",
    })
}

/// Whether what is installed is what the scripts ask for.
fn check_installed(scripts: &Path, installed: &Path) -> Result<(), String> {
    let read = |path: PathBuf| {
        std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    if !installed.join("node_modules/@asyncapi/parser").is_dir() {
        return Err(".ci/check-asyncapi has not installed it".to_owned());
    }
    let asked = read(scripts.join("package-lock.json"))?;
    // A copy that is made once the installation is complete.
    if asked != read(installed.join("node_modules/.installed"))? {
        return Err(".ci/check-asyncapi has installed another version".to_owned());
    }
    let node = Command::new("node").arg("--version").output();
    node.map(drop).map_err(|error| format!("node: {error}"))
}
