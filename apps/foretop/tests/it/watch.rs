//! `up --watch`: programs and units as signals.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};

use testkit::{PATIENCE, wait_until};

use crate::command::{foretop, run};
use crate::node::{Running, folder};

/// A process that is ended with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the newest sample of a signal is such a value.
#[track_caller]
fn wait_for(node: &Running, id: &str, is_right: impl Fn(f64) -> bool) {
    wait_until(id, PATIENCE, || {
        node.get(&format!("/api/v1/series/{id}"))["last"]["value"].as_f64().filter(|value| is_right(*value))
    });
}

#[test]
fn a_program_and_a_unit_are_signals_like_all_others() {
    let folder = folder();
    // No other process has this name, which is at most 15 bytes.
    let name = format!("watched{}", std::process::id());
    let unit = format!("unit:{name}.service");
    let program = folder.path().join(&name);
    symlink(foretop().get_program(), &program).unwrap();
    let args = ["--in-memory", "--every", "50ms", "--only", "process.*.cpu", "--only", "process.*s"];
    let node = Running::start(&[&args[..], &["--watch", &name, "--watch", &unit]].concat());
    let [cpu, processes, of_unit] =
        [format!("process.{name}.cpu"), format!("process.{name}.processes"), format!("process.{unit}.cpu")];
    wait_for(&node, &processes, |value| value == 0.0);
    let spinning = Ending(Command::new(&program).args(["internal", "spin", "--cpu", "1h"]).spawn().unwrap());
    wait_for(&node, &processes, |value| value == 1.0);
    wait_for(&node, &cpu, |value| value > 0.0);
    drop(spinning);
    wait_for(&node, &processes, |value| value == 0.0);
    wait_for(&node, &cpu, |value| value == 0.0);
    let listed = node.run(&["signals"]).output();
    assert!(listed.contains(&of_unit) && !listed.contains(&format!("process.{name}.memory")), "{listed}");
    node.wait_for_forecast(&of_unit);
    let line = node.run(&["ask", &of_unit, "--horizon", "1s"]).output();
    assert!(line.starts_with(&format!("{of_unit} in 1s: ")), "{line}");
    let answer = node.run(&["ask", &format!("{of_unit} > 1"), "--within", "1s"]).output();
    assert!(answer.contains(&of_unit), "{answer}");
}

#[test]
fn what_cannot_be_watched_is_refused_with_its_name() {
    let folder = folder();
    let path = folder.path().join("foretop.toml");
    let twice = "[node]\nwatch = ['postgres', 'unit:nginx.service', 'postgres']\n";
    fs::write(&path, twice).unwrap();
    for (args, message) in [
        (["--watch", ""], "`` names nothing to watch: write postgres, unit:nginx.service or container:web"),
        (["--watch", "container:"], "`container:` names nothing to watch"),
        (["--watch", "uint:nginx.service"], "begins with the unknown `uint:`: write unit:NAME.service"),
        (["--watch", "unit:nginx"], "`unit:nginx` is no service: write the whole name, such as unit:nginx.service"),
        (["--config", path.to_str().unwrap()], "`postgres` is to be watched twice"),
    ] {
        run(&[&["up", "--in-memory", "--log", "off"], &args[..]].concat()).check_failed(2, message);
    }
    let shown = run(&["up", "--show-config", "--watch", "a,unit:b.service"]).output();
    assert!(shown.contains(r#"watch = ["a", "unit:b.service"]"#), "{shown}");
}
