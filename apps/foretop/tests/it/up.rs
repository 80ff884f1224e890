//! `up`: how it starts, what it refuses, how it ends.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::command::{end_of, foretop, run};
use crate::node::{Running, folder};

#[test]
fn it_says_in_one_line_that_it_is_up_and_answers() {
    let folder = folder();
    let node = Running::in_folder(folder.path());
    let n_signals = node.get("/api/v1/series")["series"].as_array().unwrap().len();
    let parts = [format!(", {n_signals} signals, every 50ms, data in {})", folder.path().display())];
    assert!(node.line.starts_with(&format!("foretop is up at {}/ (host ", node.url)), "{}", node.line);
    assert!(parts.iter().all(|part| node.line.trim_end().ends_with(part)), "{}", node.line);
    assert_eq!(node.get("/readyz")["ready"], true);
    let (status, rest) = node.terminate("-INT");
    assert_eq!((status.code(), rest.as_str()), (Some(0), ""));
}

#[test]
fn only_and_without_choose_what_is_measured() {
    let node = Running::start(&["--in-memory", "--only", "load.*", "--without", "*.5m", "--every", "50ms"]);
    let list = node.get("/api/v1/series");
    let ids: Vec<&str> =
        list["series"].as_array().unwrap().iter().map(|series| series["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"load.1m") && !ids.contains(&"load.5m"), "{ids:?}");
    assert!(ids.iter().all(|id| id.starts_with("load.")), "{ids:?}");
    assert!(node.line.contains("data in memory"), "{}", node.line);
}

#[test]
fn a_port_that_is_taken_is_said_to_be_taken_by_whom() {
    let node = Running::in_memory();
    let address = node.url.strip_prefix("http://").unwrap();
    let ended = run(&["up", "--listen", address, "--in-memory", "--log", "off"]);
    ended.check_failed(1, address);
    assert!(ended.stderr.contains("foretop"), "{}", ended.stderr);
}

#[test]
fn beyond_the_loopback_a_token_is_needed() {
    run(&["up", "--listen", "0.0.0.0:0", "--in-memory", "--log", "off"]).check_failed(2, "--token-file");
}

#[test]
fn a_token_is_asked_of_every_client() {
    let folder = folder();
    let path = folder.path().join("token");
    fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
    let token = path.to_str().unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    run(&["up", "--in-memory", "--token-file", token, "--log", "off"]).check_failed(2, "can be read by others");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let node = Running::start(&["--in-memory", "--every", "50ms", "--only", "load.*", "--token-file", token]);
    assert_eq!(node.run(&["signals"]).status, 1);
    assert!(node.run(&["signals", "--token-file", token]).output().contains("load.1m"));
}

#[test]
fn a_token_is_made_once_and_taken_by_node_and_client() {
    let folder = folder();
    let path = folder.path().join("token");
    let token = path.to_str().unwrap();
    let missing = run(&["up", "--in-memory", "--token-file", token, "--log", "off"]);
    missing.check_failed(2, "`foretop token new FILE` makes a token");
    let told = run(&["token", "new", token]).output();
    assert!(
        told.contains(&format!("--flow-token-file {token}")) && !told.contains(&fs::read_to_string(&path).unwrap())
    );
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    run(&["token", "new", token]).check_failed(2, "is there already, and is left as it is");
    let node = Running::start(&["--in-memory", "--every", "50ms", "--only", "load.*", "--token-file", token]);
    assert!(node.run(&["signals", "--token-file", token]).output().contains("load.1m"));
    let other = folder.path().join("other");
    let other = other.to_str().unwrap();
    run(&["token", "new", other]).output();
    assert_eq!(node.run(&["signals", "--token-file", other]).status, 1, "no two tokens are the same");
}

#[test]
fn a_selection_that_leaves_nothing_is_refused() {
    let args = ["up", "--in-memory", "--listen", "127.0.0.1:0", "--log", "off", "--only", "cpu.nonsense"];
    run(&args).check_failed(2, "signals is selected, and nothing else is to be read");
}

#[test]
fn a_configuration_that_makes_no_sense_exits_with_2() {
    let folder = folder();
    let path = folder.path().join("foretop.toml");
    fs::write(&path, "[node]\nevry = '1s'\n").unwrap();
    for (args, message) in [
        (["--every", "5ms"], "a step of 5ms is out of range"),
        (["--retention", "1s"], "a retention of 1s is too short"),
        (["--store-max", "9kB"], "a store of at most 9kB is too small: 1MiB is the least"),
        (["--store-max", "9000"], "`9000` is not an amount of data"),
        (["--every", "1"], "`1` is not a length of time"),
        (["--model", "FOO"], "unknown model `FOO`"),
        (["--listen", "nowhere"], "it must be HOST:PORT"),
        (["--only", ""], "`` selects nothing"),
        (["--log", "node=loud"], "`node=loud` is not a log filter"),
        (["--config", path.to_str().unwrap()], "unknown field `evry`"),
        (["--config", "no-such-file"], "cannot read `no-such-file`"),
    ] {
        run(&[&["up", "--in-memory"], &args[..]].concat()).check_failed(2, message);
    }
}

#[test]
fn probes_that_take_too_much_are_refused() {
    let folder = folder();
    let path = folder.path().join("foretop.toml");
    fs::write(&path, "[hybrid]\nprobe_every = '2s'\n").unwrap();
    let refused =
        run(&["up", "--in-memory", "--hybrid", "--listen", "127.0.0.1:0", "--config", path.to_str().unwrap()]);
    refused.check_failed(2, "a probe every 2s is too often for 1.5s each");
}

#[test]
fn flags_outweigh_the_environment_and_that_the_file() {
    let folder = folder();
    let path = folder.path().join("foretop.toml");
    fs::write(&path, "[node]\nevery = '2s'\nlisten = '127.0.0.1:1'\n[forecast]\nmodel = 'MEAN'\n").unwrap();
    let mut command = foretop();
    command.args(["up", "--show-config", "--every", "4s", "--config", path.to_str().unwrap()]);
    let shown =
        end_of(command.env("FORETOP_EVERY", "3s").env("FORETOP_MODEL", "bm(8)").env("FORETOP_IN_MEMORY", "1")).output();
    for line in [
        "every = \"4s\"",
        "model = \"BM(8)\"",
        "listen = \"127.0.0.1:1\"",
        "in_memory = true",
        "retention = \"7d\"",
        "max = \"2GiB\"",
    ] {
        assert!(shown.contains(line), "`{line}` is not in:\n{shown}");
    }
    fs::write(&path, &shown).unwrap();
    assert_eq!(run(&["up", "--show-config", "--config", path.to_str().unwrap()]).output(), shown);
}

#[test]
fn the_store_is_in_the_users_data_folder_unless_told_otherwise() {
    let shown = end_of(foretop().args(["up", "--show-config"]).env("XDG_DATA_HOME", "/data")).output();
    assert!(shown.contains("data_dir = \"/data/foretop\""), "{shown}");
    let shown =
        end_of(foretop().args(["up", "--show-config"]).env_remove("XDG_DATA_HOME").env("HOME", "/home/u")).output();
    assert!(shown.contains("data_dir = \"/home/u/.local/share/foretop\""), "{shown}");
}

#[test]
fn a_root_without_proc_is_no_host() {
    let folder = folder();
    let ended = run(&["up", "--in-memory", "--log", "off", "--root", folder.path().to_str().unwrap()]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, ""), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("foretop: "), "{}", ended.stderr);
}
