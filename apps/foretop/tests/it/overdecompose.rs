//! `foretop mpi overdecompose` under a launcher that runs a shell script once, in the place of all ranks: what ranks
//! would report is written by the script, so that times are known.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::command::{Ended, end_of, foretop};

/// A launcher like Open MPI's, for its options that Foretop uses.
const LAUNCHER: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "mpiexec (OpenRTE) 4.1.4"; exit; }
while :; do
    case "$1" in
        -n) ranks=$2; shift 2 ;;
        -x) case "$2" in LD_PRELOAD=*) ;; *) export "$2" ;; esac; shift 2 ;;
        --bind-to) shift 2 ;;
        --*) shift ;;
        *) break ;;
    esac
done
export ranks
exec "$@"
"#;

/// A program on one processor that computes for 6 s and waits for 4 s of 10 s at 1:1. With two ranks it takes 7 s, with
/// more of them system time takes the gain. Its messages are few and small.
const PROGRAM: &str = r#"#!/bin/sh
case "$ranks" in
    1) run=10 user=5.9 system=0.1 blocked=4 tlp=4,6 ;;
    2) run=7 user=2.95 system=0.15 blocked=3.75 tlp=0.8,6,0.2 ;;
    *) run=12 user=1.5 system=1.45 blocked=8 tlp=0.2,11,0.8 ;;
esac
rank=0
while [ $rank -lt $ranks ]; do
    cat >"$FORETOP_MPI_WAIT_FOLDER/wait-$rank.jsonl" <<END
{"format":"foretop-wait","version":1,"rank":$rank,"ranks":$ranks,"host":"a","mode":"$FORETOP_MPI_WAIT","processor":0}
{"call":"MPI_Recv","calls":10,"bytes":800,"seconds":$blocked,"blocked_seconds":$blocked}
{"call":"MPI_Send","calls":10,"bytes":800,"seconds":0.01,"blocked_seconds":0.0}
{"level":7,"run_seconds":2,"blocked_seconds":0,"user_seconds":1.5,"system_seconds":0.05,"ready_seconds":0,"stolen_seconds":0,"voluntary_switches":9,"involuntary_switches":2,"minor_faults":100,"major_faults":0,"tlp_seconds":null}
{"run_seconds":$run,"ready_seconds":0.5,"stolen_seconds":0,"blocked_seconds":$blocked,"user_seconds":$user,"system_seconds":$system,"voluntary_switches":9,"involuntary_switches":2,"minor_faults":100,"major_faults":0,"tlp_seconds":[$tlp]}
END
    rank=$((rank + 1))
done
echo "answer 41 at first"
echo "answer 42 at last"
"#;

/// A folder with a launcher, a library that is not loaded, and a program.
struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Sets everything up; the program runs `first` before all else.
    fn with(first: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stage = Self { folder };
        stage.script("mpiexec", LAUNCHER);
        stage.script("program", &PROGRAM.replacen('\n', &format!("\n{first}\n"), 1));
        std::fs::write(stage.path("libmpi_wait.so"), "").unwrap();
        stage
    }

    /// Has another process write a script: a process that a test starts meanwhile would hold a file of this one open,
    /// and such a file cannot be started.
    fn script(&self, name: &str, text: &str) {
        let mut writer = Command::new("install");
        let mut writer = writer.args(["-m", "755", "/dev/stdin"]).arg(self.path(name)).stdin(Stdio::piped()).spawn();
        let writer = writer.as_mut().unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = foretop();
        command.args(["mpi", "overdecompose"]).args(arguments).args(["--", "./program"]).current_dir(&self.folder);
        command.env("FORETOP_MPIEXEC", self.path("mpiexec")).env("FORETOP_MPI_PROGRAMS", self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        end_of(&mut self.command(arguments))
    }
}

/// Cells of the line that begins with these words.
#[track_caller]
fn row<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no line begins with `{start}`: {text}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

const SWEEP: [&str; 4] = ["--processors", "1", "--repeat", "3"];

#[test]
fn a_sweep_ends_in_the_best_ratio_with_its_reason_and_is_made_once_and_then_only_shown() {
    let stage = Stage::with("");
    let first = stage.run(&SWEEP);
    assert_eq!(first.status, 0, "{}", first.stderr);
    let text = &first.stdout;
    assert_eq!(row(text, "2:1")[..4], ["2:1", "2", "3", "7.00 s"]);
    assert_eq!(row(text, "best ratio"), ["best ratio", "2:1, 1.43 times as fast as 1:1 (95 %: 1.43 to 1.43)"]);
    // Idle falls from 4 s to 0.8 s, system time grows by 0.2 s, and computing stays.
    assert_eq!(row(text, "idle")[1..], ["-3.20 s +- 0 ns", "-3.80 s +- 0 ns"]);
    assert_eq!(row(text, "estimated gain")[1], "3.00 s");
    assert_eq!(row(text, "residual")[1], "0 ns");
    assert_eq!(row(text, "memory wait")[1], "not measurable: no counters");
    assert!(text.contains("processor idle: processors are idle for 11.4 % of the time, 40.0 % at 1:1"), "{text}");
    assert!(text.contains("lack of TLP: more ranks than processors can compute for 2.86 % of the time"), "{text}");

    // The phase before the mark takes 2 s at all ratios.
    assert_eq!(row(text, "before the first")[1], "2.00 s");
    assert_eq!(row(text, "7 ")[..2], ["7", "8.00 s"]);

    let again = stage.run(&SWEEP);
    assert!(again.stderr.contains("0 runs are left, 9 are done"), "{}", again.stderr);
    assert_eq!(again.stdout, first.stdout);
    let show = |what: &str| {
        let mut command = foretop();
        end_of(command.args(["mpi", what, "overdecomposition.jsonl"]).current_dir(&stage.folder)).output()
    };
    assert_eq!(show("show"), first.stdout);
    assert_eq!(show("plot"), "overdecomposition-speed-up.svg\n");
    stage.run(&["--processors", "1", "--repeat", "4"]).check_failed(2, "other settings");
}

#[test]
fn a_ratio_that_fails_hangs_or_answers_differently_is_reported_and_the_others_count() {
    for (at_4, reason) in [
        ("echo no memory >&2; exit 3", "it failed with status 3"),
        ("exec sleep 1000", "it reached --limit and was killed"),
        ("echo answer 7; exit", "its answer is `7`"),
        ("echo nothing; exit", "it printed no answer"),
    ] {
        let stage = Stage::with(&format!("if [ $ranks = 4 ]; then {at_4}; fi"));
        let ended = stage.run(&[&SWEEP[..], &["--limit", "1s", "--answer", r"answer (\d+)"]].concat());
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let text = &ended.stdout;
        assert!(text.contains("have the answer `42`"), "{text}");
        assert_eq!(row(text, "4:1, 4 ranks, round 3")[1], reason);
        assert_eq!(row(text, "best ratio")[1], "2:1, 1.43 times as fast as 1:1 (95 %: 1.43 to 1.43)");
    }
}

#[test]
fn advice_of_one_run_stands_beside_the_sweep_that_follows() {
    let stage = Stage::with("");
    let advised = stage.run(&[&SWEEP[..], &["--advise"]].concat());
    assert_eq!(advised.status, 0, "{}", advised.stderr);
    // 4.01 s of 10 s are communication.
    let found = row(&advised.stdout, "the papers found")[1];
    assert!(found.starts_with("not known: few small messages, as in EP, but only 40.1 %"), "{found}");
    assert!(row(&advised.stdout, "bound of the speed-up")[1].starts_with("2:1 1.43, 4:1 1.67"), "{}", advised.stdout);
    assert!(!advised.stdout.contains("best ratio"));
    let swept = stage.run(&SWEEP);
    assert!(swept.stderr.contains("9 runs are left"), "{}", swept.stderr);
    assert_eq!(row(&swept.stdout, "the papers found")[1], found);
    row(&swept.stdout, "best ratio");
}

#[test]
fn a_grid_is_tuned_once_at_1_to_1_and_all_ratios_relax_the_same() {
    let result = r#"{"kind":"header","program":"miniapp","version":"0.2.0","started":"2026-01-01T00:00:00Z","mpi":"none","arguments":[],"seed":1,"ranks":[],"assumptions":[]}
{"kind":"miniapp.sor","data":"frosty","side":640,"relaxation":1.9,"epsilon":0.01,"test":"none","n_iterations":5,"changed":null,"is_converged":false,"checksum":"1a"}"#;
    let keep =
        format!("echo \"$ranks $*\" >>words\ncase \"$*\" in *--out*) cat >\"${{5}}\" <<END\n{result}\nEND\nesac");
    let stage = Stage::with(&keep);
    let mut command = stage.command(&SWEEP);
    command.args(["sor", "--blocked-share", "50%"]);
    for (begin, n_runs) in [("tuning at 1:1", 10), ("all runs have a grid of 640 points", 10)] {
        let ended = end_of(&mut command);
        assert!(ended.status == 0 && ended.stderr.starts_with(begin), "{}", ended.stderr);
        let words = std::fs::read_to_string(stage.path("words")).unwrap();
        let mut lines = words.lines();
        assert!(lines.next().unwrap().starts_with("1 sor --blocked-share 50% --out "), "{words}");
        assert!(lines.all(|line| line.ends_with(" sor --points 640")), "{words}");
        assert_eq!(words.lines().count(), n_runs);
    }
}

#[test]
fn a_sweep_that_is_interrupted_keeps_its_runs_and_is_resumed() {
    // The first run at 4:1 waits until the file is there, and shows that it has begun by another.
    let stage = Stage::with("[ $ranks = 4 ] && { : >begun; while [ ! -e go ]; do sleep 0.01; done; }");
    let mut child = stage.command(&SWEEP).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !stage.path("begun").exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && error.contains("run the same command to resume"), "{error}");
    let n_done = runs_in(&stage.path("overdecomposition.jsonl"));
    assert!(n_done < 9);
    std::fs::write(stage.path("go"), "").unwrap();
    let resumed = stage.run(&SWEEP);
    assert!(resumed.stderr.contains(&format!("{} runs are left, {n_done} are done", 9 - n_done)), "{}", resumed.stderr);
    assert_eq!(row(&resumed.stdout, "4:1")[2], "3");
}

fn runs_in(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap().matches(r#""kind":"overdecomposition.run""#).count()
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_the_remedy() {
    let stage = Stage::with("");
    for (arguments, told) in [
        (&["--ratios", "0,1"][..], "a ratio is 0: use 1 or more"),
        (&["--ratios", "2,4"], "as in 1,2,4"),
        (&["--processors", "0"], "0 is not in 1.."),
        (&["--processors", "100000"], "--processors 100000 is more than"),
        (&["--processors", "1", "--ranks", "4,16"], "add 1 to --ranks, or use --processors 4"),
        (&["--ranks", "4", "--ratios", "1"], "cannot be used with"),
        (&["--repeat", "0"], "0 is not in 1.."),
        (&["--limit", "0s"], "--limit"),
        (&["--smt", "off", "--hosts", "a,b"], "leave out --hosts"),
        (&["--weights", "forecast"], "name several with --hosts"),
        (&["--weights", "forecast", "--hosts", "a,b", "--placing", "cyclic"], "place ranks blocked"),
        (&["--wait", "spin"], "`spin` is not a way of waiting: use library, yield or block"),
        (&["--answer", "("], "--answer"),
    ] {
        stage.run(arguments).check_failed(2, told);
    }
    let unknown = ["--weights", "forecast", "--hosts", "a.invalid,b.invalid"];
    stage.run(&unknown).check_failed(1, "cannot weigh `a.invalid`: its node must forecast cpu.availability");
    assert!(!stage.path("overdecomposition.jsonl").exists(), "nothing was measured");
}
