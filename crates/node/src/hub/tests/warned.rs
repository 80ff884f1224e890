//! Looking ahead by a clock that the test moves.

use std::path::PathBuf;

use testkit::{PATIENCE, wait_until};
use units::Timestamp;

use super::processes::write_process;
use super::*;
use crate::error::StartError;
use crate::exposition::Families;
use crate::hub::Asked;
use crate::warnings::{RulesFile, Warden, WarnChannel, WarnSettings};

const MINUTE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_secs(300);

/// A node with a disk that filled by 1 % in each of so many steps of five minutes until now.
fn filling(folder: &Path, n: u32) -> World {
    with_course(folder, n, f64::from)
}

fn with_course(folder: &Path, n: u32, course: impl Fn(u32) -> f64) -> World {
    with_steps(folder, STEP, n, course)
}

fn with_steps(folder: &Path, step: Duration, n: u32, course: impl Fn(u32) -> f64) -> World {
    let mut world = World::start(Some(folder));
    world.tick();
    world.create("mine", &units::span::format(step)).unwrap();
    let now = world.hub.now().floor_to(step);
    let sample = |i: u32| PushedSample { time: Some(now - step * (n - 1 - i)), value: Some(course(i)) };
    world.hub.push("mine", &(0..n).map(sample).collect::<Vec<_>>()).unwrap();
    world.hub.store.flush().unwrap();
    world
}

fn warden(world: &World, folder: &Path, rules: &str) -> Warden {
    warden_of(world, folder, rules, WarnSettings::default())
}

fn warden_of(world: &World, folder: &Path, rules: &str, settings: WarnSettings) -> Warden {
    let path = folder.join("of_file.toml");
    fs::write(&path, rules).unwrap();
    let settings = WarnSettings { rules: Some(RulesFile::open(&path).unwrap()), ..settings };
    let page = "http://host/".to_owned();
    Warden::new(&settings, Arc::clone(&world.hub), Some(folder), page, &world.config.watch).unwrap()
}

/// A warden without a file of rules.
fn warden_of_page(world: &World, folder: &Path) -> Warden {
    let page = "http://host/".to_owned();
    Warden::new(&WarnSettings::default(), Arc::clone(&world.hub), Some(folder), page, &world.config.watch).unwrap()
}

fn made(name: &str, when: &str) -> warn::Rule {
    rule(name, when).parse::<warn::Rules>().unwrap().rules()[0].clone()
}

fn metrics(world: &World) -> String {
    let mut families = Families::default();
    world.hub.gauges(&GAUGE_HORIZONS).iter().for_each(|gauge| families.add_signal(gauge));
    families.add_warnings(&world.hub.warnings());
    prometheus::TextEncoder::new().encode_to_string(&families.finish()).unwrap()
}

fn names_watched(world: &World) -> Vec<String> {
    world.hub.warnings().rules.into_iter().map(|rule| rule.name).collect()
}

fn rule(name: &str, when: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nwhen = \"{when}\"\nwithin = \"2h\"\n")
}

#[test]
fn rules_for_which_there_is_no_room_are_asked_in_turns() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    let within = |name: &str, within: &str| rule(name, "mine > 90").replace("2h", within);
    let rules = [within("first", "1h"), within("second", "2h"), within("third", "3h"), within("fourth", "2h")].concat();
    // Steps for a single one at each look.
    let mut warden = warden(&world, folder.path(), &rules).limited_to(1, 1);
    let origins = |world: &World| world.hub.warnings().rules.into_iter().map(|rule| rule.origin).collect::<Vec<_>>();
    let mut look = |world: &World| {
        warden.look();
        origins(world).iter().map(Option::is_some).collect::<Vec<_>>()
    };
    assert_eq!(look(&world), [true, false, false, false]);
    assert_eq!(look(&world), [true, true, false, true], "both have the same outlook");
    assert_eq!(look(&world), [true; 4]);

    let before = origins(&world)[0];
    world.clock.pass(STEP);
    let end = world.hub.now().floor_to(STEP);
    world.hub.push("mine", &[PushedSample { time: Some(end), value: Some(60.0) }]).unwrap();
    look(&world);
    let is_new: Vec<bool> = origins(&world).iter().map(|origin| *origin > before).collect();
    assert_eq!(
        is_new,
        [true, true, false, true],
        "one goes on, and the others come in the order in which they were asked"
    );
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
fn a_warning_names_the_program_that_made_it_stand() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::start_with("LAST", Some(folder.path()));
    let rules = rule(LOAD, "load.1m > 9").replace("2h", "30min") + &rule("less", "load.1m < 0.01");
    let mut warden = warden(&world, folder.path(), &rules);
    // Every second of forty minutes the load rises, by a program that uses more in each of them.
    let (n_seconds, mut used_ticks) = (2400, 0);
    for second in 0..n_seconds {
        if second % 60 == 0 {
            used_ticks += second / 60 * 100;
            write_process(world.root.path(), 10, "leak", used_ticks);
            write_process(world.root.path(), 11, "idle", 5);
            world.hub.scan_processes();
        }
        world.tick_with_load(f64::from(second as u32) / 300.0);
    }
    world.hub.store.flush().unwrap();
    warden.look();
    let told = world.hub.warnings();
    assert_eq!(told.rules.iter().map(|rule| rule.stands).collect::<Vec<_>>(), [true, false], "{told:?}");
    let cause = told.rules[0].cause.as_ref().unwrap();
    let culprit = cause.culprit.as_ref().unwrap();
    assert_eq!((&*culprit.name, culprit.pid, culprit.ratio), ("leak", Some(10), 1.0), "{cause:?}");
    assert_eq!(told.rules[1].cause, None);
    let log = fs::read_to_string(folder.path().join("warnings.json")).unwrap();
    assert!(log.contains("is of leak (pid 10)") && log.contains(r#""culprit":"leak""#), "{log}");
}

#[test]
fn a_warning_that_stands_is_told_again_when_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    let (channels, told) = channel_to_file(folder.path());
    let settings = WarnSettings { channels, repeat: Some(2 * MINUTE), ..WarnSettings::default() };
    let mut warden = warden_of(&world, folder.path(), &rule("full", "mine > 70"), settings);
    for _ in 0..5 {
        warden.look();
        world.clock.pass(MINUTE);
    }
    let changes = changes_in(&told, 3);
    let repeated: Vec<bool> = changes.iter().map(|change| change["repeated"] == true).collect();
    assert_eq!(repeated, [false, true, true]);
}

/// A channel that writes what it is given into a file, and that file.
fn channel_to_file(folder: &Path) -> (Vec<WarnChannel>, PathBuf) {
    let told = folder.join("told");
    let arguments = ["-c", "cat >> $0; echo >> $0", told.to_str().unwrap()].map(str::to_owned).to_vec();
    let way = alert::Way::Command(alert::Command { program: "/bin/sh".to_owned(), arguments });
    (vec![WarnChannel { way, after: Duration::ZERO }], told)
}

/// The first `n` changes in a file of [`channel_to_file`].
fn changes_in(told: &Path, n: usize) -> Vec<serde_json::Value> {
    wait_until("all is told", PATIENCE, || {
        let told = fs::read_to_string(told).ok()?;
        let messages = told.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let changes: Vec<_> = messages.flat_map(|message| message["warnings"].as_array().unwrap().clone()).collect();
        (changes.len() >= n).then_some(changes)
    })
}

/// Text of the hours of today's and tomorrow's clock, in UTC, from so many minutes after now on.
fn hours_from(world: &World, minutes: [u32; 2]) -> String {
    let clock = |after: u32| world.hub.now() + MINUTE * after;
    minutes.map(|after| clock(after).to_string()[11..16].to_owned()).join("-")
}

#[test]
fn a_rule_notifies_nobody_in_quiet_hours_and_catches_up_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    let (channels, told) = channel_to_file(folder.path());
    let quiet =
        |name: &str, minutes| rule(name, "mine > 70") + &format!("quiet = [\"{}\"]\n", hours_from(&world, minutes));
    let rules = quiet("now", [0, 2]) + &quiet("later", [1, 3]) + &rule("always", "mine > 70");
    let settings = WarnSettings { channels, repeat: Some(MINUTE), ..WarnSettings::default() };
    let mut warden = warden_of(&world, folder.path(), &rules, settings);
    let mut silent = Vec::new();
    for _ in 0..4 {
        warden.look();
        let rules = world.hub.warnings().rules;
        assert!(rules.iter().all(|rule| rule.stands), "{rules:?}");
        silent.push(rules.iter().map(|rule| rule.silent_until.is_some()).collect::<Vec<_>>());
        world.clock.pass(MINUTE);
    }
    assert_eq!(silent, [[true, false, false], [true, true, false], [false, true, false], [false; 3]]);
    let changes = changes_in(&told, 8);
    let told: Vec<_> = changes.iter().map(|one| (one["rule"].as_str().unwrap(), one["repeated"] == true)).collect();
    let expected = [
        ("later", false),
        ("always", false),
        ("always", true),
        ("now", false),
        ("always", true),
        ("now", true),
        ("later", true),
        ("always", true),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_silence_goes_on_into_quiet_hours_and_ends_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    let hours = hours_from(&world, [10, 20]);
    let mut warden = warden(&world, folder.path(), &(rule("full", "mine > 70") + &format!("quiet = [\"{hours}\"]\n")));
    warden.look();
    let end = (world.hub.now() + 20 * MINUTE).floor_to(MINUTE);
    let now = world.hub.now();
    let silenced = |length: Duration| world.hub.silence_rule("full", length).unwrap().silent_until;
    assert_eq!(silenced(5 * MINUTE), Some(now + 5 * MINUTE));
    assert_eq!(silenced(15 * MINUTE), Some(end));
    assert_eq!(silenced(25 * MINUTE), Some(now + 25 * MINUTE));
    world.clock.pass(15 * MINUTE);
    assert_eq!(silenced(Duration::ZERO), Some(end));
}

#[test]
fn an_acknowledgement_is_of_one_warning_and_lasts_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = filling(folder.path(), 60);
    let (channels, told) = channel_to_file(folder.path());
    let settings = WarnSettings { channels, repeat: Some(MINUTE), ..WarnSettings::default() };
    let rules = rule("full", "mine > 70") + &rule("empty", "mine < -1000000");
    let mut first = warden_of(&world, folder.path(), &rules, settings.clone());
    // A look later, nothing waits that the next life of the node would send again.
    wait_until("the warning is sent", PATIENCE, || {
        first.look();
        (world.hub.warnings().ways[0].n_told == 1).then_some(())
    });
    let since = world.hub.warnings().rules[0].since;
    let acknowledge = |world: &World, rule, since| world.hub.acknowledge(rule, since, Some("ana".to_owned()));
    for (rule, since) in [("empty", None), ("full", Some(Timestamp::from_nanos(0)))] {
        let refused = acknowledge(&world, rule, since).unwrap_err();
        assert!(matches!(refused, QueryError::NothingFires { .. }), "{refused}");
    }
    assert!(matches!(acknowledge(&world, "fall", None), Err(QueryError::UnknownRule { .. })));
    let acknowledged = acknowledge(&world, "full", since).unwrap().acknowledged;
    assert_eq!(acknowledged.as_ref().unwrap().by.as_deref(), Some("ana"));
    world.clock.pass(MINUTE);
    first.look();
    assert_eq!(world.hub.warnings().rules[0].acknowledged, acknowledged);
    drop(first);

    world.clock.pass(MINUTE);
    world = world.restart();
    let mut second = warden_of(&world, folder.path(), &rules, settings);
    second.look();
    assert_eq!(world.hub.warnings().rules[0].acknowledged, acknowledged);
    // It empties at once, and fills again.
    let mut push = |value: f64| {
        world.clock.pass(STEP);
        let time = Some(world.hub.now().floor_to(STEP));
        world.hub.push("mine", &[PushedSample { time, value: Some(value) }]).unwrap();
        second.look();
        world.hub.warnings().rules.swap_remove(0)
    };
    let over = std::iter::repeat_with(|| push(-10_000.0)).take(60).find(|warning| !warning.stands).unwrap();
    assert_eq!(over.acknowledged, None);
    let again = std::iter::repeat_with(|| push(100.0)).take(60).find(|warning| warning.stands).unwrap();
    assert_eq!(again.acknowledged, None, "{again:?}");
    let changes = changes_in(&told, 3);
    let sent: Vec<_> = changes.iter().map(|one| (one["stands"] == true, one["repeated"] == true)).collect();
    assert_eq!(sent, [(true, false), (false, false), (true, false)], "what is acknowledged is not repeated");
}

#[test]
fn a_warning_that_nobody_acknowledges_goes_to_further_channels() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = filling(folder.path(), 60);
    let [(mut channels, first), (further, second)] = ["first", "second"].map(|name| {
        let place = folder.path().join(name);
        fs::create_dir(&place).unwrap();
        channel_to_file(&place)
    });
    channels.extend(further.into_iter().map(|channel| WarnChannel { after: 2 * MINUTE, ..channel }));
    let settings = WarnSettings { channels, ..WarnSettings::default() };
    let rules = ["ours", "left"].map(|name| rule(name, "mine > 70")).concat();
    let mut warden = warden_of(&world, folder.path(), &rules, settings.clone());
    wait_until("the warnings are sent", PATIENCE, || {
        warden.look();
        (world.hub.warnings().ways[0].n_told == 2).then_some(())
    });
    let sent_at = world.hub.now().floor_to(Duration::from_secs(1));
    world.hub.acknowledge("ours", None, None).unwrap();
    for _ in 0..2 {
        world.clock.pass(MINUTE);
        warden.look();
    }
    wait_until("one warning is escalated", PATIENCE, || {
        warden.look();
        (world.hub.warnings().ways[1].n_told == 1).then_some(())
    });
    drop(warden);

    world = world.restart();
    let mut warden = warden_of(&world, folder.path(), &rules, settings);
    std::iter::repeat_with(|| {
        world.clock.pass(STEP);
        let time = Some(world.hub.now().floor_to(STEP));
        world.hub.push("mine", &[PushedSample { time, value: Some(-10_000.0) }]).unwrap();
        warden.look();
        world.hub.warnings().rules
    })
    .take(60)
    .find(|rules| rules.iter().all(|rule| !rule.stands))
    .unwrap();
    let sent = |to: &Path, n| {
        let sent = |one: &serde_json::Value| {
            let [stands, escalated] = ["stands", "escalated"].map(|key| one[key] == true);
            (one["rule"].as_str().unwrap().to_owned(), stands, escalated)
        };
        changes_in(to, n).iter().map(sent).collect::<Vec<_>>()
    };
    let of = |rule: &str, stands, escalated| (rule.to_owned(), stands, escalated);
    assert_eq!(sent(&second, 2), [of("left", true, true), of("left", false, false)]);
    assert_eq!(changes_in(&second, 2)[0]["at"], (sent_at + 2 * MINUTE).to_string());
    let [ours, left] = ["ours", "left"].map(|rule| [of(rule, true, false), of(rule, false, false)]);
    assert_eq!(sent(&first, 4), [&ours[0], &left[0], &ours[1], &left[1]].map(Clone::clone));
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
    assert_eq!((said.after, said.origin), (fresh.after, fresh.origin));
    // What answers are worth is looked at again when a look begins anew, and once a day.
    assert!((said.probability.unwrap() - fresh.probability.unwrap()).abs() < 0.01, "{said:?} {fresh:?}");
}

#[test]
fn a_rule_and_whoever_asks_its_question_have_one_answer() {
    let folder = tempfile::tempdir().unwrap();
    let world = with_course(folder.path(), 300, |i| f64::from((i * i * 37 + i * 11) % 101));
    let mut warden = warden(&world, folder.path(), &rule("high", "mine > 98"));
    for value in [3.0, 50.0, 97.0] {
        warden.look();
        let of_rule = world.hub.warnings().rules[0].clone();
        let statement = "mine > 98".parse().unwrap();
        let asked = Asked { statement, within: 24 * STEP, lasting: None, seasons: api::Seasons::Learned };
        let asked = world.hub.probability(&asked).unwrap();
        assert_eq!((Some(asked.probability), Some(asked.after)), (of_rule.probability, of_rule.after));
        assert_eq!(Some(asked.origin), of_rule.origin);
        world.clock.pass(STEP);
        let time = world.hub.now().floor_to(STEP);
        world.hub.push("mine", &[PushedSample { time: Some(time), value: Some(value) }]).unwrap();
    }
}

#[test]
fn a_signal_that_will_leave_its_usual_range_is_told() {
    // It was at 430 once, and rises to there.
    let course = |i: u32| if i < 10 { 430.0 } else { f64::from(i) };
    for (n, expected) in [(60, None), (330, None), (420, Some(true))] {
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
fn a_series_that_ended_leaves_no_range() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = with_course(folder.path(), 420, |i| if i < 10 { 430.0 } else { f64::from(i) });
    world.clock.pass(60 * MINUTE);
    world.tick();
    warden(&world, folder.path(), &rule("full", "mine > 1000")).look();
    let told = world.hub.warnings();
    assert!(told.excursions.iter().all(|one| one.id != "mine"), "{told:?}");
    assert!(told.rules[0].no_sample_since.is_some(), "{told:?}");
}

#[test]
fn silence_is_judged_by_the_series_own_step_however_far_is_looked_ahead() {
    let folder = tempfile::tempdir().unwrap();
    // A day ahead is looked at in steps of five minutes, and a week in those of an hour.
    let world = with_steps(folder.path(), MINUTE, 1400, |i| f64::from(i % 7));
    let last = world.hub.now().floor_to(MINUTE);
    let rules = rule("day", "mine > 3").replace("2h", "24h") + &rule("week", "mine / mine > 0").replace("2h", "7d");
    let mut fresh = warden(&world, folder.path(), &rules);
    fresh.look();
    let told = world.hub.warnings().rules;
    assert!(told.iter().all(|rule| rule.stands && rule.no_sample_since.is_none()), "{told:?}");
    assert_eq!(world.hub.detail("mine").unwrap().series.no_sample_since, None);
    assert!(metrics(&world).contains("foretop_pushed_value") && metrics(&world).contains("foretop_probability"));
    drop(fresh);

    world.clock.pass(10 * MINUTE);
    fs::remove_file(folder.path().join("warnings.json")).unwrap();
    warden(&world, folder.path(), &rules).look();
    let told = world.hub.warnings().rules;
    assert!(told.iter().all(|rule| !rule.stands && rule.no_sample_since == Some(last)), "{told:?}");
    let metrics = metrics(&world);
    assert!(!metrics.contains("foretop_pushed_value") && !metrics.contains("foretop_probability"), "{metrics}");
    assert!(metrics.contains(r#"foretop_warning{rule="day",series="mine",within="86400s"} 0"#), "{metrics}");
    let (within, seasons) = (7 * 86_400 * Duration::from_secs(1), api::Seasons::Learned);
    let asked = Asked { statement: "mine > 3".parse().unwrap(), within, lasting: None, seasons };
    assert_eq!(world.hub.probability(&asked).unwrap().no_sample_since, Some(last));
    assert_eq!(world.hub.outlook("mine", within, Confidence::P95, seasons).unwrap().no_sample_since, Some(last));
    assert_eq!(world.hub.detail("mine").unwrap().series.no_sample_since, Some(last));
}

#[test]
fn a_young_series_is_not_looked_far_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 2);
    warden(&world, folder.path(), &rule("full", "mine > 70")).look();
    let told = &world.hub.warnings().rules[0];
    assert_eq!(told.problem.as_deref(), Some("`mine` is known for 10m: too young to look 2h ahead"));
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

#[test]
fn a_rule_of_the_page_warns_from_the_next_look_on_and_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = filling(folder.path(), 60);
    let mut first = warden_of_page(&world, folder.path());
    first.look();
    assert_eq!(names_watched(&world), [""; 0]);
    world.hub.put_rule(made("empty", "mine < -50")).unwrap();
    world.hub.put_rule(made("full", "mine > 700")).unwrap();
    world.hub.put_rule(made("full", "mine > 70")).unwrap();
    first.look();
    let told = world.hub.warnings().rules;
    assert_eq!(
        told.iter().map(|rule| (&*rule.name, rule.stands)).collect::<Vec<_>>(),
        [("empty", false), ("full", true)]
    );
    drop(first);

    world = world.restart();
    let mut second = warden_of_page(&world, folder.path());
    second.look();
    assert_eq!(world.hub.warnings().rules[1].since, told[1].since, "it stands since it was raised");
    let rules = world.hub.rules();
    assert!(rules.is_kept && rules.toml.parse::<warn::Rules>().unwrap().rules().len() == 2, "{rules:?}");
    world.hub.remove_rule("full").unwrap();
    world.hub.remove_rule("empty").unwrap();
    let gone = world.hub.remove_rule("full");
    assert!(matches!(gone, Err(QueryError::UnknownRule { .. })), "{gone:?}");
    second.look();
    assert_eq!(names_watched(&world), [""; 0]);
    assert_eq!(fs::read_to_string(folder.path().join("rules.toml")).unwrap(), "");
    warden_of_page(&world, folder.path());
    assert!(!folder.path().join("rules.toml.damaged").exists(), "a page without rules is no damage");
}

#[test]
fn a_name_is_that_of_the_file_s_rule_as_long_as_the_file_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 60);
    let mut warden = warden(&world, folder.path(), &rule("full", "mine > 70"));
    let refused = [world.hub.put_rule(made("full", "mine > 80")).err(), world.hub.remove_rule("full").err()];
    assert!(
        matches!(refused, [Some(QueryError::RuleOfFile { .. }), Some(QueryError::RuleOfFile { .. })]),
        "{refused:?}"
    );
    world.hub.put_rule(made("later", "mine > 80")).unwrap();
    let whens = |warden: &mut Warden, rules: &str| {
        fs::write(folder.path().join("of_file.toml"), rules).unwrap();
        warden.look();
        world.hub.warnings().rules.into_iter().map(|rule| rule.statement).collect::<Vec<_>>()
    };
    assert_eq!(whens(&mut warden, &rule("full", "mine > 70")), ["mine > 70", "mine > 80"]);
    assert_eq!(whens(&mut warden, &rule("later", "mine > 90")), ["mine > 90"]);
    assert_eq!(whens(&mut warden, &rule("other", "mine > 60")), ["mine > 60", "mine > 80"]);
}

#[test]
fn rules_have_a_limit_with_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 4);
    let of_file: Vec<_> = (1..warn::Rules::N_MAX).map(|i| made(&format!("rule {i}"), "mine > 1")).collect();
    world.hub.tell_file_rules(&of_file);
    world.hub.put_rule(made("last", "mine > 1")).unwrap();
    let refused = world.hub.put_rule(made("more", "mine > 1")).unwrap_err();
    assert!(refused.to_string().starts_with("there are 10000 rules, with those of the file"), "{refused}");
    world.hub.put_rule(made("last", "mine > 2")).unwrap();
}

#[test]
fn a_rule_that_cannot_be_written_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let world = filling(folder.path(), 4);
    let _warden = warden_of_page(&world, folder.path());
    fs::create_dir(folder.path().join("rules.toml.part")).unwrap();
    let refused = world.hub.put_rule(made("full", "mine > 70")).unwrap_err();
    assert!(refused.to_string().contains("the rules cannot be written: "), "{refused}");
    assert_eq!(world.hub.rules().rules, []);
}

#[test]
fn rules_of_the_page_that_cannot_be_read_are_moved_out_of_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::start(Some(folder.path()));
    for damaged in [&b"[[rule]"[..], b"\xff"] {
        fs::write(folder.path().join("rules.toml"), damaged).unwrap();
        let _warden = warden_of_page(&world, folder.path());
        assert_eq!(world.hub.rules().rules, []);
        assert_eq!(fs::read(folder.path().join("rules.toml.damaged")).unwrap(), damaged);
    }
}

#[test]
fn the_page_s_rules_and_the_file_s_are_not_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::start(Some(folder.path()));
    let path = folder.path().join("rules.toml");
    fs::write(&path, rule("full", "mine > 70")).unwrap();
    let settings = WarnSettings { rules: Some(RulesFile::open(&path).unwrap()), ..WarnSettings::default() };
    let page = "http://host/".to_owned();
    let refused = Warden::new(&settings, Arc::clone(&world.hub), Some(folder.path()), page, &world.config.watch).err();
    assert!(matches!(refused, Some(StartError::RulesOfPage { .. })), "{refused:?}");
}
