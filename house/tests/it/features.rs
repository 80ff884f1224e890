//! Packages from elsewhere have the same features in every part of the workspace that is built apart, so that nothing
//! is compiled twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Features of each package from elsewhere, as often as it is built with different ones.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Packages below the makers of bindings, libbpf and no crate of this house.
const NOT_SHARED: &[&str] = &[
    "bitflags",
    "deranged",
    "itertools",
    "memchr",
    "nix",
    "regex",
    "regex-automata",
    "regex-syntax",
    "smallvec",
    "time",
];

/// Returns the features of all that `cargo build` builds with these arguments, or `cargo test` if `dev` is among the
/// edges.
fn features(edges: &str, selection: &str) -> Features {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--prefix", "none", "-f", "{p}|{f}", "-e", edges])
        .args(selection.split_whitespace())
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = Features::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        // A package of the workspace has its path behind its version.
        let Some((package, features)) = line.split_once('|').filter(|(package, _)| !package.contains("(/")) else {
            continue;
        };
        let package = package.trim_end_matches(" (proc-macro)").to_owned();
        found.entry(package).or_default().insert(features.trim_end_matches(" (*)").to_owned());
    }
    found
}

#[test]
fn what_is_built_apart_shares_what_is_compiled() {
    let all = features("normal,build,dev", "");
    let mut differing = Vec::new();
    for (edges, selection) in [
        ("normal,build,dev", "-p foretop-mpi -p ace -p comb --features ace/mpi,comb/mpi"),
        ("normal,build", "-p foretop-sim -p mpi-coll -p mpi-sim-component -p mpi-sim-mpich -p mpi-tracer -p mpi-wait"),
        ("normal,build,dev", "-p foretop-kernel -p kernel --features kernel/bpf"),
        ("normal,build", "-p foretop-python"),
        ("normal,build", "-p foretop"),
        ("normal,build", "-p foretop-tools -p foretop-play -p foretop-sched -p foretop-sim -p foretop-tunnel"),
    ] {
        for (package, features) in features(edges, selection) {
            let name = package.split(' ').next().unwrap_or_default();
            let Some(usual) = all.get(&package).filter(|_| !NOT_SHARED.contains(&name)) else { continue };
            differing.extend(
                features
                    .difference(usual)
                    .map(|other| format!("{package} has {other:?} in `{selection}`, and in all the rest {usual:?}")),
            );
        }
    }
    assert!(differing.is_empty(), "name these features in crates/unify/Cargo.toml:\n{}", differing.join("\n"));
}
