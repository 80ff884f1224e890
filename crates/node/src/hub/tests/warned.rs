//! Looking ahead by a clock that the test moves.

use testkit::{PATIENCE, wait_until};
use units::Timestamp;

use super::*;
use crate::warnings::{RulesFile, Warden, WarnSettings};

const MINUTE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_secs(300);

/// A node with a disk that filled by 1 % in each of so many steps of five minutes until now.
fn filling(folder: &Path, n: u32) -> World {
    with_course(folder, n, f64::from)
}

fn with_course(folder: &Path, n: u32, course: impl Fn(u32) -> f64) -> World {
    let mut world = World::start(Some(folder));
    world.tick();
    world.create("mine", "300s").unwrap();
    let now = world.hub.now().floor_to(STEP);
    let sample = |i: u32| PushedSample { time: Some(now - STEP * (n - 1 - i)), value: Some(course(i)) };
    world.hub.push("mine", &(0..n).map(sample).collect::<Vec<_>>()).unwrap();
    world
}

fn warden(world: &World, folder: &Path, rules: &str) -> Warden {
    warden_of(world, folder, rules, WarnSettings::default())
}

fn warden_of(world: &World, folder: &Path, rules: &str, settings: WarnSettings) -> Warden {
    let path = folder.join("rules.toml");
    fs::write(&path, rules).unwrap();
    let settings = WarnSettings { rules: Some(RulesFile::open(&path).unwrap()), ..settings };
    let page = "http://host/".to_owned();
    Warden::new(&settings, Arc::clone(&world.hub), Some(folder), page, &world.config.watch).unwrap()
}

fn rule(name: &str, when: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nwhen = \"{when}\"\nwithin = \"2h\"\n")
}

#[test]
fn a_rule_warns_before_it_comes_true_and_stands_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = filling(folder.path(), 60);
    let rules = rule("full", "mine > 70") + &rule("empty", "mine < -50") + &rule("slip", "mine > 5 GB");
    let mut first = warden(&world, folder.path(), &rules);
    first.look();
    let told = world.hub.warnings();
    assert_eq!(told.rules.iter().map(|rule| rule.stands).collect::<Vec<_>>(), [true, false, false]);
    assert!(told.rules[0].probability.unwrap() > 0.8, "{told:?}");
    let after = told.rules[0].after.unwrap().p50_seconds.unwrap();
    assert!((1800.0..=5400.0).contains(&after), "in about 55 minutes, and not in {after} s");
    assert!(told.rules[2].problem.as_ref().unwrap().contains("unit"), "{told:?}");
    let since = told.rules[0].since;
    drop(first);

    world.clock.pass(MINUTE);
    world = world.restart();
    let mut second = warden(&world, folder.path(), &rules);
    second.look();
    assert_eq!(world.hub.warnings().rules[0].since, since, "it stands since it was raised");
}

#[test]
fn a_warning_that_stands_is_told_again_when_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    let told = folder.path().join("told");
    let arguments = ["-c", "cat >> $0; echo >> $0", told.to_str().unwrap()].map(str::to_owned).to_vec();
    let ways = vec![alert::Way::Command(alert::Command { program: "/bin/sh".to_owned(), arguments })];
    let settings = WarnSettings { ways, repeat: Some(2 * MINUTE), ..WarnSettings::default() };
    let mut warden = warden_of(&world, folder.path(), &rule("full", "mine > 70"), settings);
    for _ in 0..5 {
        warden.look();
        world.clock.pass(MINUTE);
    }
    let repeated = wait_until("it is told three times", PATIENCE, || {
        let told = fs::read_to_string(&told).ok()?;
        let changes = told.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let changes = changes.flat_map(|message| message["warnings"].as_array().unwrap().clone());
        let repeated: Vec<bool> = changes.map(|change| change["repeated"] == true).collect();
        (repeated.len() >= 3).then_some(repeated)
    });
    assert_eq!(repeated, [false, true, true]);
}

#[test]
fn what_goes_on_says_what_a_fresh_look_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = filling(folder.path(), 60);
    let rules = rule("full", "mine > 70");
    let mut going_on = warden(&world, folder.path(), &rules);
    for value in 60..64 {
        going_on.look();
        world.clock.pass(STEP);
        world.tick();
        let time: Timestamp = world.hub.now().floor_to(STEP);
        world.hub.push("mine", &[PushedSample { time: Some(time), value: Some(f64::from(value)) }]).unwrap();
    }
    going_on.look();
    let said = world.hub.warnings().rules[0].clone();
    warden(&world, folder.path(), &rules).look();
    let fresh = world.hub.warnings().rules[0].clone();
    assert_eq!((said.probability, said.after, said.origin), (fresh.probability, fresh.after, fresh.origin));
}

#[test]
fn a_signal_that_will_leave_its_usual_range_is_told() {
    // It was at 430 once, and rises to there.
    let course = |i: u32| if i < 10 { 430.0 } else { f64::from(i) };
    for (n, expected) in [(60, None), (330, None), (400, Some(true))] {
        let folder = tempfile::tempdir().unwrap();
        let world = with_course(folder.path(), n, course);
        warden(&world, folder.path(), &rule("full", "mine > 1000")).look();
        let told = world.hub.warnings();
        let rises = told.excursions.iter().find(|one| one.id == "mine").map(|one| one.rises);
        assert_eq!(rises, expected, "{n} steps: {told:?}");
        // The three of the load have one sample each.
        assert_eq!(told.n_too_young, if n < 100 { 4 } else { 3 }, "{told:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_moved_out_of_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    fs::write(folder.path().join("warnings.json"), "{ half").unwrap();
    warden(&world, folder.path(), &rule("full", "mine > 70")).look();
    assert!(world.hub.warnings().rules[0].stands);
    assert_eq!(fs::read_to_string(folder.path().join("warnings.json.damaged")).unwrap(), "{ half");
}
