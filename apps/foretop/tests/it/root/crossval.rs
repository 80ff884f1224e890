//! A campaign on a disk that is full: it stops with nothing half-written, and goes on when there is room.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::SmallDisk;
use crate::command::{end_of, foretop};

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/nab/ec2_cpu_utilization_5f5533.csv");

/// Six parts of some 150 kB each.
const TEMPLATE: &str = "models = [\"LAST\", \"NWS\"]\nfit = 600\ntest = 1000\nleads = 1";
const N_CASES: &str = "3000";

fn cases(template: &Path, out: &Path) -> Command {
    let mut command = foretop();
    command.args(["crossval", "run"]).arg(template).args(["--traces", TRACE, "--cases", N_CASES, "--out"]).arg(out);
    command
}

#[test]
#[ignore = "needs root; run by make test"]
fn a_campaign_on_a_full_disk_is_taken_up_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let (template, elsewhere) = (folder.path().join("t.toml"), folder.path().join("cases.parquet"));
    fs::write(&template, TEMPLATE).unwrap();
    assert_eq!(end_of(&mut cases(&template, &elsewhere)).status, 0);

    let disk = SmallDisk::mount();
    let out = disk.path().join("cases.parquet");
    let parts = disk.path().join("cases.parquet.parts");
    let run = cases(&template, &out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    testkit::wait_until("a part is there", testkit::PATIENCE, || {
        let names = fs::read_dir(&parts).ok()?.flatten();
        names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("results-")).then_some(())
    });
    disk.fill();
    let ended = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("No space left on device"), "{said}");
    assert!(said.contains("cannot write `"), "the file is named: {said}");
    assert!(!out.exists(), "nothing is there that could be taken for results");

    disk.free();
    let resumed = end_of(&mut cases(&template, &out));
    assert!(resumed.status == 0 && resumed.stderr.contains("cases are there from an earlier run"), "{resumed:?}");
    assert!(!resumed.stderr.contains("is not what was written"), "no part was left half-written: {resumed:?}");
    assert!(fs::read(&out).unwrap() == fs::read(&elsewhere).unwrap());
    assert!(!parts.exists());
}
