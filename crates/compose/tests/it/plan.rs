//! The commands that a system comes to.

use std::collections::BTreeSet;
use std::path::Path;

use compose::{ComposeError, Plan, System};

use crate::world::kinds;

const SYSTEM: &str = "
[component.load]
run = 'load-server'
step = '1s'

[component.store]
run = 'measure-buffer'
n = 600
sources = ['load']

[component.pred]
run = 'pred-server'
model = 'AR(16)'
history = 'store'
quiet = true
sources = ['load']
endpoints = ['connect:tcp:5009']
args = ['--', 'x']
";

fn commands(text: &str) -> Vec<String> {
    let system = System::parse(text, &kinds()).unwrap();
    let plan = Plan::new(&system, Path::new("/run/f")).unwrap();
    plan.launches.iter().map(|launch| format!("{} {}", launch.run, launch.arguments.join(" "))).collect()
}

#[test]
fn names_become_places_and_keys_become_arguments() {
    assert_eq!(
        commands(SYSTEM),
        [
            "load-server --step 1s connect:unix:/run/f/load.stream server:unix:/run/f/load.server",
            "measure-buffer 600 source:unix:/run/f/load.stream server:unix:/run/f/store.server",
            "pred-server --history source:unix:/run/f/store.server --model AR(16) --quiet \
             source:unix:/run/f/load.stream connect:tcp:5009 server:unix:/run/f/pred.server -- x",
        ]
    );
}

#[test]
fn ports_of_the_loopback_are_all_different() {
    let commands = commands(&format!("transport = 'tcp'\n{SYSTEM}")).join(" ");
    let listening =
        commands.split(' ').filter(|word| word.starts_with("connect:tcp:127") || word.starts_with("server:"));
    let listening: Vec<&str> = listening.collect();
    let places: BTreeSet<&str> = listening.iter().map(|word| word.rsplit_once(':').unwrap().1).collect();
    assert_eq!((listening.len(), places.len()), (4, 4), "{commands}");
}

#[test]
fn components_may_name_each_other_in_a_circle() {
    let text = "[component.a]\nrun = 'steady'\nsources = ['b']\n[component.b]\nrun = 'steady'\nsources = ['a']\n";
    assert_eq!(commands(text).len(), 2);
}

#[test]
fn a_folder_too_deep_for_sockets_is_told_before_anything_is_started() {
    let system = System::parse(SYSTEM, &kinds()).unwrap();
    let error = Plan::new(&system, Path::new(&"/x".repeat(60))).unwrap_err();
    assert!(matches!(error, ComposeError::RunFolder { .. }), "{error}");
}
