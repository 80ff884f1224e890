//! The rules for all packages of this workspace: floors, what low floors may use, the list of rooms, and how doc
//! comments begin.
//!
//! [`breaches`] checks values: packages as [`Package`]s, the list of rooms as [`Room`]s. [`read_packages`] reads the
//! former from this workspace, [`read_rooms`] the latter from `ARCHITECTURE.md`.
#![forbid(unsafe_code)]

mod document;
mod language;
mod paths;
mod workspace;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

pub use document::{Room, read_rooms};
pub use paths::path_heads;
pub use workspace::{ReadError, read_packages};

/// A package of the workspace, as far as the rules ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Name in its manifest.
    pub name: String,
    /// Whether it stands on a floor at all.
    pub place: Place,
    /// Floor in `[package.metadata.house]` of its manifest.
    pub floor: Option<u32>,
    /// Dependencies of all kinds, in the order of the manifest.
    pub dependencies: Vec<Dependency>,
    /// Its Rust files.
    pub sources: Vec<Source>,
}

/// Location of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Folder in `crates/` or `apps/`, where each package stands on a floor.
    OnAFloor,
    /// Folder at the root, beside the floors: benches, fuzzers, the Python package.
    Beside(String),
}

/// A line of a manifest's table of dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The package that it names.
    pub package: String,
    /// Name in Rust sources.
    pub code_name: String,
    /// Kind of the code that may use it.
    pub kind: Kind,
}

/// Part of a package that a dependency or a source belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Libraries and programs, which others get who depend on the package.
    Normal,
    /// The build script.
    Build,
    /// Tests, benches and examples.
    Development,
}

/// A Rust file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Part of the package that it belongs to.
    pub kind: Kind,
    /// All of it.
    pub text: String,
}

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say all")]
pub enum Breach {
    #[error("the manifest of {package} says no floor: add `[package.metadata.house]` with `floor = N`")]
    NoFloor { package: String },
    #[error(
        "{user} on floor {user_floor} uses {used} on floor {used_floor}: a package uses lower floors only; \
         move what both need down, or one of them to another floor"
    )]
    Climb { user: String, user_floor: u32, used: String, used_floor: u32 },
    #[error("{package} on floor {floor} depends on {dependency}: {reason}")]
    Forbidden { package: String, floor: u32, dependency: String, reason: &'static str },
    #[error(
        "{package} names the dependency {dependency} and does not use it: take it out of its manifest, or move it to the \
         dev-dependencies if tests use it"
    )]
    Unused { package: String, dependency: String },
    #[error("{n} {rule} of {package}, where {allowed} are allowed (docs/style.md), for example `{example}`")]
    Language { package: String, rule: &'static str, n: usize, allowed: usize, example: String },
    #[error("{n} {rule} of {package}, where {allowed} are allowed: lower that number in house/src/lib.rs to {n}")]
    Lower { package: String, rule: &'static str, n: usize, allowed: usize },
    #[error(
        "{n} public types share their name with another one, where {N_SHARED_TYPES} did: give a new one a second word, or lower the number"
    )]
    SharedTypes { n: usize },
    #[error("the list of rooms in ARCHITECTURE.md lacks {package}, which its manifest puts on {}", floor_text(*floor))]
    NotListed { package: String, floor: Option<u32> },
    #[error("the list of rooms in ARCHITECTURE.md has {room}, and there is no such package")]
    NoSuchRoom { room: String },
    #[error("the list of rooms in ARCHITECTURE.md has {room} more than once")]
    ListedTwice { room: String },
    #[error("ARCHITECTURE.md puts {room} on {}, its manifest on {}", floor_text(*listed), floor_text(*is))]
    OtherFloor { room: String, listed: Option<u32>, is: Option<u32> },
}

fn floor_text(floor: Option<u32>) -> String {
    floor.map_or_else(|| "no floor".into(), |floor| format!("floor {floor}"))
}

/// The highest floor that takes values and gives values: no I/O, no clock, no async runtime, no database, no MPI.
pub const HIGHEST_PURE_FLOOR: u32 = 2;

/// The floor of the programs.
pub const FLOOR_OF_PROGRAMS: u32 = 6;

const ASYNC: &str = "floors 0 to 2 name no async runtime or anything that runs on one";
const DATABASE: &str = "floors 0 to 2 name no database";
const IO: &str = "floors 0 to 2 do no I/O: they take values that a higher floor has read";
const MPI: &str = "floors 0 to 2 know nothing of MPI";
const NETWORK: &str = "floors 0 to 2 open no connections";
const SYSTEM: &str =
    "floors 0 to 2 ask the system nothing: they take what a higher floor was told, time and seeds among it";
const PROGRAM: &str = "reading arguments, errors without a type and setting up logs are for programs alone";

/// Packages that floors 0 to [`HIGHEST_PURE_FLOOR`] may not name as a normal or build dependency, and why.
///
/// It holds what the workspace uses and what is likely to come.
const FORBIDDEN_LOW: &[(&str, &str)] = &[
    ("async-nats", ASYNC),
    ("async-snmp", ASYNC),
    ("axum", ASYNC),
    ("futures-util", ASYNC),
    ("getrandom", SYSTEM),
    ("http-body-util", ASYNC),
    ("hyper", ASYNC),
    ("hyper-util", ASYNC),
    ("libc", SYSTEM),
    ("mdns-sd", NETWORK),
    ("mio", ASYNC),
    ("mpi", MPI),
    ("mpi-sys", MPI),
    ("nix", SYSTEM),
    ("object_store", IO),
    ("procfs", IO),
    ("quinn", ASYNC),
    ("ratatui", IO),
    ("reqwest", NETWORK),
    ("rusqlite", DATABASE),
    ("rustix", SYSTEM),
    ("rustls", NETWORK),
    ("rustls-native-certs", IO),
    ("signal-hook", SYSTEM),
    ("socket2", NETWORK),
    ("sqlx", DATABASE),
    ("tempfile", IO),
    ("thread-priority", SYSTEM),
    ("tokio", ASYNC),
    ("tokio-io-timeout", ASYNC),
    ("tokio-postgres", DATABASE),
    ("tokio-rustls", ASYNC),
    ("tower", ASYNC),
    ("ureq", NETWORK),
];

/// Libraries that may name what others there may not, each with what and why.
const EXCEPTED: &[(&str, &str)] = &[
    // The one library that is made of arguments, messages and logs: several programs share it.
    ("command-line", "anyhow"),
    ("command-line", "clap"),
    ("command-line", "tracing-subscriber"),
    // It is the room that asks for the time, also for a moment that all processes of a host share.
    ("clock", "libc"),
    // Whoever opens a file at a known place asks the open file for its kind and owner.
    ("own-file", "rustix"),
    // Programs on several floors end when the system asks them to, all in one way.
    ("program", "signal-hook"),
    // Streams, HTTP clients and feeds share one reader of secrets, which asks the open file for its mode and owner.
    ("secret", "rustix"),
    // Its configurations are values, which streams, HTTP clients and the node share and may not have of each other.
    ("tls", "rustls"),
];

/// The package that is nothing but dependencies: it uses none in its sources, and whoever depends on it does not use it
/// in theirs.
const UNIFY: &str = "unify";

/// Dependencies that only programs, on [`FLOOR_OF_PROGRAMS`], may name.
const FORBIDDEN_IN_LIBRARIES: &[(&str, &str)] =
    &[("anyhow", PROGRAM), ("clap", PROGRAM), ("tracing-subscriber", PROGRAM)];

const HEADLESS: &str = "doc comments that open with a clause or a preposition";
const LONG: &str = "comment lines of more than 120 characters";
const PRIVATE: &str = "public names with a word that the field has another one for";

/// The number of public names with private words, in packages that have any. It only falls.
const PRIVATE_ALLOWED: &[(&str, usize)] = &[
    ("alert", 2),
    ("availability-study", 1),
    ("crossval", 2),
    ("dedup", 1),
    ("feed", 1),
    ("foretop", 1),
    ("foretop-mpi", 1),
    ("foretop-sim", 1),
    ("foretop-tools", 3),
    ("job", 4),
    ("mpi-analysis", 2),
    ("mpi-run", 1),
    ("mpi-sim", 2),
    ("mpi-sim-mpich", 1),
    ("mpi-tree", 2),
    ("node-api", 7),
    ("predict", 4),
    ("segment-store", 1),
    ("sim-study", 1),
    ("tunnel", 2),
    ("warn", 2),
];

/// The number of public types that share their name with another one. It only falls.
const N_SHARED_TYPES: usize = 1429;

/// Every rule that does not hold for these packages and this list of rooms, in the order of the packages, then of
/// the list.
pub fn breaches(packages: &[Package], rooms: &[Room]) -> Vec<Breach> {
    let floors: BTreeMap<&str, u32> =
        packages.iter().filter_map(|package| Some((package.name.as_str(), package.floor?))).collect();
    let mut found = Vec::new();
    for package in packages {
        if package.place == Place::OnAFloor {
            match package.floor {
                None => found.push(Breach::NoFloor { package: package.name.clone() }),
                Some(floor) => {
                    found.extend(climbs(package, floor, &floors));
                    found.extend(forbidden(package, floor));
                }
            }
        }
        found.extend(unused(package));
        found.extend(language(package));
    }
    let n = language::n_shared_types(packages);
    if n > N_SHARED_TYPES {
        found.push(Breach::SharedTypes { n });
    }
    found.extend(disagreements(packages, rooms));
    found
}

/// The dependencies that others get too: what tests use may stand anywhere.
fn passed_on(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| dependency.kind != Kind::Development)
}

fn climbs(package: &Package, floor: u32, floors: &BTreeMap<&str, u32>) -> Vec<Breach> {
    passed_on(package)
        .filter_map(|dependency| {
            let used_floor = *floors.get(dependency.package.as_str())?;
            (used_floor >= floor).then(|| Breach::Climb {
                user: package.name.clone(),
                user_floor: floor,
                used: dependency.package.clone(),
                used_floor,
            })
        })
        .collect()
}

fn forbidden(package: &Package, floor: u32) -> Vec<Breach> {
    let low = if floor <= HIGHEST_PURE_FLOOR { FORBIDDEN_LOW } else { &[] };
    let library = if floor < FLOOR_OF_PROGRAMS { FORBIDDEN_IN_LIBRARIES } else { &[] };
    let is_excepted = |dependency: &&Dependency| EXCEPTED.contains(&(&*package.name, &*dependency.package));
    passed_on(package)
        .filter(|dependency| !is_excepted(dependency))
        .filter_map(|dependency| {
            let (_, reason) = low.iter().chain(library).find(|(name, _)| *name == dependency.package)?;
            Some(Breach::Forbidden {
                package: package.name.clone(),
                floor,
                dependency: dependency.package.clone(),
                reason,
            })
        })
        .collect()
}

fn unused(package: &Package) -> Vec<Breach> {
    let heads_in = |wanted: &dyn Fn(Kind) -> bool| -> BTreeSet<&str> {
        let sources = package.sources.iter().filter(|source| wanted(source.kind));
        sources.flat_map(|source| path_heads(&source.text)).collect()
    };
    let normal = heads_in(&|kind| kind == Kind::Normal);
    let build = heads_in(&|kind| kind == Kind::Build);
    // Tests of what is private stand in the same files as what they test.
    let development = heads_in(&|kind| kind != Kind::Build);
    let is_used = |dependency: &&Dependency| {
        if package.name == UNIFY || dependency.package == UNIFY {
            return true;
        }
        let heads = match dependency.kind {
            Kind::Normal => &normal,
            Kind::Build => &build,
            Kind::Development => &development,
        };
        heads.contains(dependency.code_name.as_str())
    };
    let unused = package.dependencies.iter().filter(|dependency| !is_used(dependency));
    unused
        .map(|dependency| Breach::Unused { package: package.name.clone(), dependency: dependency.package.clone() })
        .collect()
}

/// The rules of language that a package breaks, or keeps better than its numbers say.
fn language(package: &Package) -> Vec<Breach> {
    let breach = |rule: &'static str, list: &[(&str, usize)], found: Vec<&str>| {
        let allowed = list.iter().find(|(name, _)| *name == package.name).map_or(0, |(_, n)| *n);
        let (package, n) = (package.name.clone(), found.len());
        match n.cmp(&allowed) {
            Ordering::Greater => {
                Some(Breach::Language { package, rule, n, allowed, example: found[0].trim().to_owned() })
            }
            Ordering::Less => Some(Breach::Lower { package, rule, n, allowed }),
            Ordering::Equal => None,
        }
    };
    let breaches = [
        breach(HEADLESS, &[], language::headless(package).collect()),
        breach(LONG, &[], language::long(package).collect()),
        breach(PRIVATE, PRIVATE_ALLOWED, language::private_names(package).collect()),
    ];
    breaches.into_iter().flatten().collect()
}

fn disagreements(packages: &[Package], rooms: &[Room]) -> Vec<Breach> {
    let name_in_list = |package: &Package| match &package.place {
        Place::OnAFloor => package.name.clone(),
        Place::Beside(folder) => folder.clone(),
    };
    let mut found = Vec::new();
    for package in packages {
        if !rooms.iter().any(|room| room.name == name_in_list(package)) {
            found.push(Breach::NotListed { package: package.name.clone(), floor: package.floor });
        }
    }
    for (i, room) in rooms.iter().enumerate() {
        if rooms[..i].iter().any(|before| before.name == room.name) {
            found.push(Breach::ListedTwice { room: room.name.clone() });
        }
        match packages.iter().find(|package| name_in_list(package) == room.name) {
            Some(package) if package.floor != room.floor => {
                found.push(Breach::OtherFloor { room: room.name.clone(), listed: room.floor, is: package.floor })
            }
            Some(_) => {}
            // Beside the floors stand folders without a manifest too.
            None if room.floor.is_none() => {}
            None => found.push(Breach::NoSuchRoom { room: room.name.clone() }),
        }
    }
    found
}
