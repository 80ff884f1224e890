//! The workspace that these tests are a part of.

use std::fs;
use std::path::Path;

use house::{breaches, read_packages, read_rooms};

#[test]
fn this_workspace_keeps_the_rules_of_the_house() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let packages = read_packages(root).unwrap();
    let document = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let found: Vec<String> = breaches(&packages, &read_rooms(&document)).iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{} rules do not hold:\n{}", found.len(), found.join("\n"));
}
