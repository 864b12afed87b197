//! Rules for the metadata of crates, as `cargo metadata` reports it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Limits of crates.io for keywords.
const MOST_KEYWORDS: usize = 5;
const LONGEST_KEYWORD: usize = 20;
/// A description is one line in the results of a search.
const LONGEST_DESCRIPTION: usize = 130;

/// The members of the workspace at `root`.
pub fn packages(root: &Path) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let output = command.current_dir(root).args(arguments).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON of cargo");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("packages: {other}"),
    }
}

fn words(value: &Value) -> Vec<&str> {
    let words = value.as_array().into_iter().flatten();
    words.filter_map(Value::as_str).collect()
}

/// Whether `cargo publish` may publish a package.
pub fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

/// Reports missing metadata of a published package, and dependencies that would not be found in a registry.
pub fn incomplete(package: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for key in ["description", "license", "readme", "rust_version"] {
        if package[key].as_str().is_none_or(str::is_empty) {
            missing.push(key.to_owned());
        }
    }
    let description = package["description"].as_str().unwrap_or_default();
    if description.len() > LONGEST_DESCRIPTION || description.ends_with('.') {
        missing.push("a description of one line without a full stop".into());
    }
    let keywords = words(&package["keywords"]);
    let is_accepted = |word: &&str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        word.len() <= LONGEST_KEYWORD && word.chars().all(is_plain)
    };
    if !(1..=MOST_KEYWORDS).contains(&keywords.len()) || !keywords.iter().all(is_accepted) {
        missing.push("keywords that crates.io accepts".into());
    }
    if words(&package["categories"]).is_empty() {
        missing.push("categories".into());
    }
    if words(&package["metadata"]["docs"]["rs"]["targets"]).is_empty() {
        missing.push("targets of docs.rs".into());
    }
    missing.extend(unpublishable(package));
    let name = package["name"].as_str().unwrap_or_default();
    let offences = missing.into_iter();
    offences.map(|what| format!("{name}: {what}")).collect()
}

/// Path dependencies of shipped code need a version.
fn unpublishable(package: &Value) -> Vec<String> {
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let offending = dependencies.filter(|dependency| {
        dependency["path"].is_string() && dependency["kind"] != "dev" && dependency["req"] == "*"
    });
    offending
        .map(|dependency| format!("a version of {}", dependency["name"]))
        .collect()
}

#[test]
fn missing_metadata_is_found() {
    let complete = serde_json::json!({
        "name": "tapline-x", "description": "A thing", "license": "MIT", "readme": "README.md",
        "rust_version": "1.95", "keywords": ["af-packet"], "categories": ["network-programming"],
        "metadata": {"docs": {"rs": {"targets": ["x86_64-unknown-linux-gnu"]}}},
        "dependencies": [
            {"name": "ring", "path": "/x", "req": "^0.1.0", "kind": null},
            {"name": "lab", "path": "/y", "req": "*", "kind": "dev"},
        ],
    });
    assert_eq!(incomplete(&complete), [""; 0]);
    for (pointer, value, expected) in [
        ("/description", Value::Null, "tapline-x: description"),
        ("/readme", Value::Null, "tapline-x: readme"),
        (
            "/categories",
            serde_json::json!([]),
            "tapline-x: categories",
        ),
        ("/metadata", Value::Null, "tapline-x: targets of docs.rs"),
        (
            "/keywords",
            serde_json::json!(["AF_PACKET"]),
            "tapline-x: keywords that crates.io accepts",
        ),
        (
            "/dependencies/0/req",
            serde_json::json!("*"),
            "tapline-x: a version of \"ring\"",
        ),
    ] {
        let mut package = complete.clone();
        *package.pointer_mut(pointer).expect("a field") = value;
        assert_eq!(incomplete(&package), [expected]);
    }
}
