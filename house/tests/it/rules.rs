//! Each rule, broken by made-up packages.

use house::{Breach, Dependency, Kind, Package, Place, Room, Source, breaches, path_heads, read_rooms};

fn package(name: &str, floor: u32) -> Package {
    Package {
        name: name.into(),
        place: Place::OnAFloor,
        floor: Some(floor),
        dependencies: Vec::new(),
        sources: Vec::new(),
    }
}

fn naming(mut package: Package, dependency: &str, kind: Kind) -> Package {
    let code_name = dependency.replace('-', "_");
    package.dependencies.push(Dependency { package: dependency.into(), code_name, kind });
    package
}

fn with_source(mut package: Package, kind: Kind, text: &str) -> Package {
    package.sources.push(Source { kind, text: text.into() });
    package
}

/// A package that names the dependency and has a file that uses it.
fn using(package: Package, dependency: &str, kind: Kind) -> Package {
    let text = format!("use {}::Thing;", dependency.replace('-', "_"));
    with_source(naming(package, dependency, kind), kind, &text)
}

/// What is found when the list of rooms agrees with the manifests.
fn breaches_of(packages: &[Package]) -> Vec<Breach> {
    let rooms: Vec<Room> =
        packages.iter().map(|package| Room { name: package.name.clone(), floor: package.floor }).collect();
    breaches(packages, &rooms)
}

fn unused(package: &str, dependency: &str) -> Breach {
    Breach::Unused { package: package.into(), dependency: dependency.into() }
}

#[test]
fn lower_floors_may_be_used_by_all_kinds_of_code() {
    for kind in [Kind::Normal, Kind::Build, Kind::Development] {
        assert_eq!(breaches_of(&[package("units", 0), using(package("series", 1), "units", kind)]), []);
    }
}

#[test]
fn an_edge_may_neither_climb_nor_stay_on_its_floor() {
    for used_floor in [1, 3] {
        for kind in [Kind::Normal, Kind::Build] {
            let packages = [using(package("series", 1), "gauge", kind), package("gauge", used_floor)];
            let climb = Breach::Climb { user: "series".into(), user_floor: 1, used: "gauge".into(), used_floor };
            assert_eq!(breaches_of(&packages), [climb]);
        }
    }
}

#[test]
fn tests_may_use_any_floor() {
    let packages = [using(package("series", 1), "kit", Kind::Development), package("kit", 6)];
    assert_eq!(breaches_of(&packages), []);
}

#[test]
fn a_breach_says_what_would_be_right() {
    let packages = [using(package("series", 1), "node", Kind::Normal), package("node", 5)];
    assert_eq!(
        breaches_of(&packages)[0].to_string(),
        "series on floor 1 uses node on floor 5: a package uses lower floors only; move what both need down, or one \
         of them to another floor"
    );
}

#[test]
fn what_one_low_package_may_name_no_other_may() {
    for (name, n_breaches) in [("secret", 0), ("statistics", 1)] {
        let found = breaches_of(&[using(package(name, 1), "rustix", Kind::Normal)]);
        assert_eq!(found.len(), n_breaches, "{found:?}");
    }
}

#[test]
fn every_package_in_crates_and_apps_says_its_floor() {
    let without = Package { floor: None, ..package("attic", 0) };
    assert_eq!(breaches_of(std::slice::from_ref(&without)), [Breach::NoFloor { package: "attic".into() }]);

    let beside = Package { place: Place::Beside("attic".into()), ..without };
    assert_eq!(breaches_of(&[beside]), []);
}

#[test]
fn low_floors_do_no_io() {
    for dependency in ["tokio", "rusqlite", "mpi", "procfs", "ureq"] {
        for floor in 0..=2 {
            let found = breaches_of(&[using(package("series", floor), dependency, Kind::Normal)]);
            let [Breach::Forbidden { dependency: named, floor: on, .. }] = &found[..] else {
                panic!("{dependency} on floor {floor}: {found:?}");
            };
            assert_eq!((named.as_str(), *on), (dependency, floor));
        }
        assert_eq!(breaches_of(&[using(package("sensor", 3), dependency, Kind::Normal)]), []);
        assert_eq!(breaches_of(&[using(package("series", 1), dependency, Kind::Development)]), []);
    }
}

#[test]
fn libraries_leave_arguments_to_programs() {
    let found = breaches_of(&[using(package("node", 5), "clap", Kind::Normal)]);
    assert!(matches!(&found[..], [Breach::Forbidden { .. }]), "{found:?}");
    assert_eq!(breaches_of(&[using(package("program", 6), "clap", Kind::Normal)]), []);
}

#[test]
fn a_dependency_has_a_use() {
    let idle = naming(package("series", 1), "serde-json", Kind::Normal);
    assert_eq!(breaches_of(std::slice::from_ref(&idle)), [unused("series", "serde-json")]);

    let mentions_it =
        with_source(idle.clone(), Kind::Normal, "// serde_json::Value would do as well.\nlet serde_json = 1;");
    assert_eq!(breaches_of(&[mentions_it]), [unused("series", "serde-json")]);

    let uses_it = with_source(idle, Kind::Normal, "fn value() -> serde_json::Value {");
    assert_eq!(breaches_of(&[uses_it]), []);
}

#[test]
fn a_use_counts_where_the_dependency_is_for() {
    let test = "use csv::Reader;";
    let for_all = with_source(naming(package("series", 1), "csv", Kind::Normal), Kind::Development, test);
    assert_eq!(breaches_of(&[for_all]), [unused("series", "csv")]);

    let for_tests = with_source(naming(package("series", 1), "csv", Kind::Development), Kind::Normal, test);
    assert_eq!(breaches_of(&[for_tests]), []);

    let for_build = with_source(naming(package("series", 1), "csv", Kind::Build), Kind::Normal, test);
    assert_eq!(breaches_of(&[for_build]), [unused("series", "csv")]);
}

#[test]
fn a_path_begins_with_the_crate_that_it_is_from() {
    let heads = |source| path_heads(source).collect::<Vec<_>>();
    assert_eq!(heads("use serde::Serialize;"), ["serde"]);
    assert_eq!(heads("#[derive(clap::Parser)]"), ["clap"]);
    assert_eq!(heads("let x = <node::Node as Default>::default();"), ["node"]);
    assert_eq!(heads("pub use stream; use mpi as library;"), ["stream", "mpi"]);
    assert_eq!(heads("crate::series::Series, ::series::Series"), ["crate", "series"]);
    assert_eq!(heads("node.series(stream) // units::Timestamp"), [""; 0]);
    assert_eq!(heads(r#"get("http://host", units::second)"#), ["units"]);
}

#[test]
fn the_list_of_rooms_and_the_manifests_agree() {
    let room = |name: &str, floor| Room { name: name.into(), floor };
    let units = || package("units", 0);

    let lacking = Breach::NotListed { package: "units".into(), floor: Some(0) };
    assert_eq!(breaches(&[units()], &[]), [lacking]);

    let other = Breach::OtherFloor { room: "units".into(), listed: Some(1), is: Some(0) };
    assert_eq!(breaches(&[units()], &[room("units", Some(1))]), [other]);

    let stale = Breach::NoSuchRoom { room: "attic".into() };
    assert_eq!(breaches(&[units()], &[room("units", Some(0)), room("attic", Some(1))]), [stale]);

    let twice = Breach::ListedTwice { room: "units".into() };
    assert_eq!(breaches(&[units()], &[room("units", Some(0)), room("units", Some(0))]), [twice]);
}

#[test]
fn what_stands_beside_the_floors_is_listed_by_its_folder() {
    let python = Package { place: Place::Beside("python".into()), floor: None, ..package("foretop-python", 0) };
    let room = |name: &str| Room { name: name.into(), floor: None };
    // `web` has no manifest.
    assert_eq!(breaches(std::slice::from_ref(&python), &[room("python"), room("web")]), []);
    let lacking = Breach::NotListed { package: "foretop-python".into(), floor: None };
    assert_eq!(breaches(&[python], &[room("web")]), [lacking]);
}

#[test]
fn the_list_of_rooms_is_the_block_that_begins_with_floor_0() {
    let document = "\
# Architecture

```
elsewhere
```

```
floor 0  units     quantities
floor 1  series    samples
         picture   charts
floor 6  foretop   every command
bench    what is measured
```
after it
";
    let listed: Vec<_> = read_rooms(document).into_iter().map(|room| (room.name, room.floor)).collect();
    let expected =
        [("units", Some(0)), ("series", Some(1)), ("picture", Some(1)), ("foretop", Some(6)), ("bench", None)];
    assert_eq!(listed, expected.map(|(name, floor)| (name.to_owned(), floor)));
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let source = "//! What it is.\n\n/// The sum.\n/// Of all parts.\nfn sum() {}\n    /// In seconds.\n    /// Whether it is.\n\
                  #[cfg(test)]\nmod tests { /// How\n}\n/// Why not.\n";
    let found = |kind| breaches_of(&[with_source(package("series", 1), kind, source)]);
    let Breach::Language { n, allowed, example, .. } = &found(Kind::Normal)[0] else { panic!("no breach") };
    assert_eq!((*n, *allowed, example.as_str()), (2, 0, "What it is."));
    assert_eq!(found(Kind::Development), []);
}

#[test]
fn comment_lines_have_120_characters_and_public_names_the_fields_words() {
    let found = |line: &str| breaches_of(&[with_source(package("series", 1), Kind::Normal, line)]).len();
    assert_eq!((found(&format!("// {}", "word ".repeat(30))), found(&format!("// {}", "x".repeat(130)))), (1, 0));
    for name in
        ["pub fn n_told() {", "pub struct Kept;", "pub said: u32,", "pub const unsafe fn tell() {", "pub mod word;"]
    {
        assert_eq!(found(name), 1, "{name}");
    }
    for name in ["fn told() {", "pub(crate) fn told() {", "pub fn saidly() {", "pub use told;", "pub struct Keyword;"] {
        assert_eq!(found(name), 0, "{name}");
    }
}
