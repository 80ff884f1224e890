//! What runs in browsers depends on nothing that does not build for them.
//!
//! It would be better to build it for `wasm32-unknown-unknown`, whose standard library is not on every machine. Here its dependencies are held
//! against a list of those that build there, and its sources against what the standard library refuses there.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const ROOMS: [&str; 2] = ["dedup", "segment-store"];
/// Rust alone, without files, threads, sockets or the C library on this target; BLAKE3 takes no C there.
const KNOWN_TO_BUILD: [&str; 15] = [
    "arrayvec",
    "blake3",
    "block-buffer",
    "cfg-if",
    "constant_time_eq",
    "crc32fast",
    "crypto-common",
    "dedup",
    "digest",
    "fastcdc",
    "hybrid-array",
    "segment-store",
    "sha1",
    "thiserror",
    "typenum",
];
/// These compile there and fail at run time, or do not compile.
const REFUSED: [&str; 5] = ["std::thread", "std::time", "std::net", "std::process", "std::env"];

#[test]
fn rooms_for_browsers_depend_on_what_builds_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut arguments =
        "tree --offline --locked --target wasm32-unknown-unknown --edges normal,no-proc-macro --prefix none --format {p}"
            .split(' ')
            .collect::<Vec<_>>();
    ROOMS.iter().for_each(|room| arguments.extend(["--package", room]));
    let listed = Command::new(env!("CARGO")).args(arguments).current_dir(&root).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty());
    let packages: BTreeSet<&str> = names.collect();
    assert!(packages.contains("blake3"), "{packages:?}");
    let strange: Vec<_> = packages.iter().filter(|package| !KNOWN_TO_BUILD.contains(package)).collect();
    assert!(strange.is_empty(), "{strange:?} are not known to build for browsers");
}

#[test]
fn rooms_for_browsers_use_what_their_standard_library_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for room in ROOMS {
        let mut folders = vec![root.join("crates").join(room).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let outside_tests = text.split("#[cfg(test)]").next().unwrap_or_default();
                for refused in REFUSED {
                    assert!(!outside_tests.contains(refused), "{} uses `{refused}`", path.display());
                }
            }
        }
    }
}
