//! `foretop mpi tree`.

use std::fs;
use std::path::Path;

use mpi_job::{Folder, Process};
use mpi_trace::{Reading, RingHeader, RingKind};
use tempfile::TempDir;

use crate::command::{Ended, run};

const HOSTS: &str = "a:0-3,b:4-7";

fn tree(words: &[&str]) -> Ended {
    run(&[&["mpi", "tree"], words].concat())
}

/// A file made with these words, as its path.
fn made(folder: &TempDir, name: &str, words: &[&str]) -> String {
    let path = folder.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(tree(&[&["make", "--out", &path], words].concat()).output(), "");
    path
}

#[test]
fn a_file_is_made_checked_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--hosts", HOSTS, "--shape", "flat", "--operation", "allreduce", "--bytes-max", "1KiB"];
    let file = made(&folder, "tree.toml", &words);
    let told = tree(&["check", &file, "--hosts", HOSTS]).output();
    assert!(told.starts_with("8 ranks on 2 hosts, epoch 0, fingerprint "), "{told}");
    assert!(told.ends_with("allreduce up to 1KiB: tree tree\n"), "{told}");
    let drawn = tree(&["draw", &file]).output();
    assert!(drawn.contains("├─ a on a\n│  └─ ranks 0-3 on a\n└─ b on b, by message\n"), "{drawn}");
    for name in ["tree.svg", "tree.png"] {
        let picture = folder.path().join(name);
        tree(&["draw", &file, "--plot", picture.to_str().unwrap()]).output();
        assert!(fs::metadata(picture).unwrap().len() > 500);
    }
}

#[test]
fn a_file_that_cannot_be_used_is_one_error_of_usage() {
    let folder = tempfile::tempdir().unwrap();
    let file = made(&folder, "tree.toml", &["--hosts", HOSTS]);
    let check = |words: &[&str], told| {
        let ended = tree(&[&["check", &file], words].concat());
        ended.check_failed(2, told);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    };
    check(&["--ranks", "4"], "the trees are for 8 ranks, but the job has 4");
    check(&["--hosts", "a,b", "--ranks", "8", "--cyclic"], "rank 1 on host `a`, but it runs on `b`");
    let good = fs::read_to_string(&file).unwrap();
    let faults = [
        (good.replace("[\"4-7\"]", "[\"4-6\"]"), "tree `tree`: rank 7 contributes to no node"),
        (good.replace("[\"0-3\"]", "[\"0-3\", \"root\"]"), "contributes to itself"),
        (good.replace("host = \"b\"", "host = \"c\""), "there is no host `c`"),
        ("\u{1b}[2J".to_owned(), "line 1: "),
    ];
    for (text, told) in faults {
        fs::write(&file, text).unwrap();
        check(&[], told);
        tree(&["draw", &file]).check_failed(2, told);
    }
    tree(&["check", "/nowhere.toml"]).check_failed(2, "cannot read `/nowhere.toml`");
    tree(&["make"]).check_failed(2, "--ranks N or --hosts");
    tree(&["make", "--hosts", "a:0,b:0"]).check_failed(2, "rank 0");
    tree(&["make", "--ranks", "4", "--move", "root:b"]).check_failed(2, "there is no node `root`");
    tree(&["make", "--ranks", "4", "--shape", "1-way"]).check_failed(2, "`1-way` is not a shape");
}

#[test]
fn a_moved_node_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let before = made(&folder, "before.toml", &["--hosts", HOSTS]);
    let after = made(&folder, "after.toml", &["--hosts", HOSTS, "--move", "root:b", "--epoch", "2"]);
    assert_eq!(tree(&["diff", &before, &before]).output(), "no difference\n");
    assert_eq!(tree(&["diff", &before, &after]).output(), "tree tree: node root moved from host a to b\n");
}

/// The folder of a job whose only process is this one.
fn job(path: &Path) -> Folder {
    let this = Process::this();
    let header = RingHeader {
        kind: RingKind::Stages,
        rank: 0,
        n_ranks: 8,
        pid: this.pid,
        pid_started: this.started,
        thread: 0,
        is_counter: false,
        reading: Reading::default(),
        tree: 0,
        host: "a".into(),
    };
    let folder = Folder::create(path).unwrap();
    folder.create_ring(1, &header).unwrap();
    folder
}

#[test]
fn a_running_job_gets_other_trees_with_a_higher_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(&folder.path().join("job"));
    let path = job.path().to_str().unwrap();
    let file = made(&folder, "tree.toml", &["--hosts", HOSTS, "--shape", "flat"]);
    tree(&["apply", &file, path]).check_failed(1, "takes no trees");
    let current = made(&folder, "current.toml", &["--hosts", HOSTS, "--epoch", "7"]);
    job.set_tree(&fs::read_to_string(&current).unwrap()).unwrap();
    for epoch in [8, 9] {
        assert!(tree(&["apply", &file, path]).output().starts_with(&format!("epoch {epoch}: ")));
        let needed = fs::read_to_string(&file).unwrap().replace("epoch = 0", &format!("epoch = {epoch}"));
        assert_eq!(job.tree().unwrap().unwrap(), needed);
    }
    let other = made(&folder, "other.toml", &["--hosts", "a:0-3,c:4-7"]);
    tree(&["apply", &other, path]).check_failed(2, "rank 4 on host `c`, but it runs on `b`");
    tree(&["apply", &file, "no-such-job"]).check_failed(2, "there is no job `no-such-job`");
}
