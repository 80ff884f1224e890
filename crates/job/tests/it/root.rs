//! What only root can bring about: disks that are full.

use std::path::Path;
use std::process::Command;

use job::{Input, News, run};
use stream::Security;

use crate::{done, hire, hire_in, runner};

/// A disk of that size, at the folder. Mounts are those of this process alone: whoever runs this has made a namespace
/// for it.
#[track_caller]
fn mount(at: &Path, options: &str) {
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(at).status().unwrap();
    assert!(mounted.success());
}

const WRITE: &str = "name = \"sh\"\nargs = [\"-c\", \"head -c 40000 /dev/zero | tr '\\\\0' {unit%10}\"]";

fn wanted(n_units: usize) -> String {
    (0..n_units).map(|unit| (unit % 10).to_string().repeat(40_000)).collect()
}

#[test]
#[ignore = "needs root: make test"]
fn a_run_whose_disk_is_full_says_so_and_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    mount(folder.path(), "size=200k");
    let hired = hire(&["sh=/bin/sh -c */*"], Security::default());
    let runner = runner(folder.path(), 8, WRITE, &[&hired]);
    let error = run(&runner, &|| false, &mut |_| {}).map(|_| ()).unwrap_err();
    let told = ::text::with_causes(&error);
    assert!(told.contains("cannot keep or read the run in `") && told.contains("No space left on device"), "{told}");
    assert!(!runner.folder.join("outputs/part").exists(), "nothing half-done stays");
    mount(folder.path(), "remount,size=2m");
    let (finished, told) = done(&runner);
    assert_eq!(told, wanted(8));
    assert!((1..8).contains(&finished.parts[0].n_units), "what was done is not done again: {:?}", finished.parts);
}

#[test]
#[ignore = "needs root: make test"]
fn a_worker_whose_disk_is_full_says_so_and_keeps_nothing_half_done() {
    let [folder, disk] = [0; 2].map(|_| tempfile::tempdir().unwrap());
    mount(disk.path(), "size=64k");
    let place = disk.path().to_owned();
    // This one does not look at whether it could write.
    let hired = hire_in(disk, &["sh=/bin/sh -c */* *"], Security::default());
    let careless = "name = \"sh\"\nargs = [\"-c\", \"head -c 100000 /dev/zero 2>/dev/null; true\"]";
    let ended = run(&runner(folder.path(), 1, careless, &[&hired]), &|| false, &mut |_| {}).map(|_| ());
    let told = ended.unwrap_err().to_string();
    assert!(told.contains("the disk of the worker's folder is full, so that what it wrote may not be all"), "{told}");
    // Nor does an input stay that came in part; the next run brings it anew.
    let input = folder.path().join("input");
    std::fs::write(&input, wanted(3)).unwrap();
    let input = Input::new([input]).unwrap();
    let mut runner =
        runner(folder.path(), 1, &format!("name = \"sh\"\nargs = [\"-c\", \"cat {}\"]", input.mark()), &[&hired]);
    (runner.inputs, runner.folder) = (vec![input], folder.path().join("with input"));
    let mut why = String::new();
    let ended = run(&runner, &|| false, &mut |news| {
        if let News::Lost { why: told, .. } = news {
            told.clone_into(&mut why);
        }
    });
    assert!(ended.is_err() && why.contains("cannot be kept: No space left on device"), "{why}");
    mount(&place, "remount,size=4m");
    assert_eq!(done(&runner).1, wanted(3));
}
