//! What root alone can do: mount and fill.

use std::fs;
use std::process::Command;

use sensor::Host;
use signal::Readings;
use tempfile::tempdir;

use crate::scene::{check, read};

#[test]
#[ignore = "needs root; scripts/test.sh root runs it"]
fn a_file_system_is_told_of_while_it_is_mounted() {
    let folder = tempdir().unwrap();
    let point = folder.path().canonicalize().unwrap();
    let mut host = Host::open("/".as_ref()).unwrap();
    let mut readings = Readings::default();
    let used = format!("filesystem.{}.used", point.display());
    assert!(!read(&mut host, &mut readings, 0).contains_key(&used));

    run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&point));
    check(&read(&mut host, &mut readings, 1), &used, 0.0);
    fs::write(point.join("half"), vec![1; 512 << 10]).unwrap();
    check(&read(&mut host, &mut readings, 2), &used, 0.5);

    run(Command::new("umount").arg(&point));
    assert!(!read(&mut host, &mut readings, 3).contains_key(&used));
    assert_eq!(host.n_errors(), 0, "{:?}", host.last_error());
}

#[track_caller]
fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}
