//! With programs in the kernel.

use std::time::Duration;

use crate::agent::{self, Agent};
use crate::kernel as run;

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn the_price_of_each_probe_is_measured() {
    let output = run(&["cost", "fs", "vm"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("filesystem.file_call_begins") && text.contains("first touch of a page"), "{text}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_flood_of_traced_events_adds_up() {
    let output = run(&["cost", "--traced", "100000"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find(|line| line.contains("traced events made")).unwrap();
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] >= 100_000 && numbers[0] == numbers[1] + numbers[2], "{text}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_killed_agent_leaves_nothing_attached() {
    let agent = Agent::start(&["--source", "bpf", "--on", "--interval", "20ms", "--budget", "5%"]);
    assert!(kernel::n_loaded() > 0);
    let status = agent.done(&["status"]);
    assert!(status.contains("bpf") && status.starts_with("on, "), "{status}");
    // It is killed, not asked.
    drop(agent);
    testkit::wait_until("no program is left", Duration::from_secs(10), || (kernel::n_loaded() == 0).then_some(()));
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn off_takes_everything_off_while_the_agent_lives() {
    let agent = Agent::start(&["--source", "bpf", "--on"]);
    agent.done(&["off"]);
    testkit::wait_until("no program is left", Duration::from_secs(10), || (kernel::n_loaded() == 0).then_some(()));
    agent.done(&["on", "task"]);
    assert!(kernel::n_loaded() > 0);
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn what_another_user_s_mpi_program_sends_is_in_the_summary() {
    agent::check_sends_of_another_user_are_in_the_summary();
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_rehearsal_of_the_study_has_answers_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    let output = run(&["study", "--quick", "--out", name]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let verdict = |title: &str| {
        let answer = text.split("\n\n").skip_while(|part| !part.starts_with(title));
        let verdict = answer.flat_map(str::lines).find_map(|line| line.strip_prefix("Verdict: "));
        verdict.unwrap_or_else(|| panic!("no answer to `{title}` in\n{text}")).to_owned()
    };
    // In how many rows is up to the machine's other work: that each has its account and interval is not.
    assert!(verdict("What watching costs").contains(" of 3 rows"), "{text}");
    assert!(verdict("A stall that was put in").starts_with("found"), "{text}");
    assert!(verdict("File systems by record size").contains("direct"), "{text}");
    // These need devices in files, swap, control groups, and programs under MPI, which not every host has.
    for (title, part) in [
        ("A write and a read over two devices, one slow", "second is slow in reads"),
        ("Messages of MPI_Init against ranks", "too few runs to tell"),
        ("A sort by size and ranks", "every sort came to its end"),
        ("Phases of a sort", "rank 0 waits for"),
    ] {
        let short = title.split(',').next().unwrap();
        let told = verdict(short);
        assert!(told.contains(part) || told.starts_with("left out: "), "{title}: {told}");
    }
    let page = std::fs::read_to_string(folder.path().join("study.html")).unwrap();
    assert!(page.matches("<svg").count() >= 4 && page.contains("a rehearsal"));
    testkit::wait_until("no program is left", Duration::from_secs(10), || (kernel::n_loaded() == 0).then_some(()));
    for table in ["/proc/self/mountinfo", "/proc/swaps"] {
        assert!(!std::fs::read_to_string(table).unwrap().contains(name), "something of it is left in {table}");
    }
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn controllers_see_the_latest_events_of_a_traced_point_and_what_probes_cost() {
    let agent = Agent::start(&["--source", "bpf", "--interval", "20ms"]);
    assert!(agent.done(&["status", "--traces"]).contains("no point was traced"));
    agent.done(&["set", "--point", "fs.Read=trace"]);
    agent.done(&["on", "fs"]);
    let traces = testkit::wait_until("an event is traced", Duration::from_secs(10), || {
        // The agent and the reader of this file are on the host as well.
        std::fs::read("/proc/self/stat").unwrap();
        Some(agent.done(&["status", "--traces"])).filter(|told| told.contains("processor"))
    });
    assert!(traces.starts_with("filesystem.Read of node 0: ") && traces.contains(" a second, "), "{traces}");
    let probes = agent.done(&["status", "--probes"]);
    assert!(probes.contains("filesystem.file_call_begins") && probes.contains("filesystem.counting"), "{probes}");
    agent.done(&["off"]);
    assert!(agent.done(&["status", "--traces"]).contains("no point was traced"));
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_receiver_accounts_for_each_traced_event() {
    let agent = Agent::start(&["--source", "bpf", "--interval", "20ms"]);
    agent.done(&["set", "--point", "fs.Read=trace"]);
    agent.done(&["on", "fs"]);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let told = agent.done(&["receive", "--for", "1s", "--out", out]);
    let file = told.lines().next().unwrap();
    let table = |record: &str| String::from_utf8(run(&["extract", file, record]).stdout).unwrap();
    let account: Vec<String> = table("Trace Account").lines().map(str::to_owned).collect();
    let [_, account] = &account[..] else { panic!("{account:?}") };
    let n_traced = table("File System Read Trace").lines().count() as u64 - 1;
    let numbers: Vec<u64> = account.split(',').skip(2).map(|number| number.parse().unwrap()).collect();
    assert!(n_traced > 0 && numbers[1] == n_traced && numbers[0] == numbers[1] + numbers[2], "{account}: {n_traced}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn an_agent_takes_points_of_one_s_own_with_their_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points.toml");
    let text = "[[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\nfields = { old_thread = 2 }\n\n\
                [[point]]\nlabel = \"no\"\ntracepoint = \"no_such_tracepoint\"\n";
    std::fs::write(&points, text).unwrap();
    let node = format!("0=tree:{}", std::process::id());
    let arguments = ["--source", "bpf", "--interval", "20ms", "--node", &node, "--points", points.to_str().unwrap()];
    let agent = Agent::start(&arguments);
    let others: Vec<&str> = kernel::all().iter().map(|subsystem| subsystem.name).collect();
    agent.done(&[&["off"], &others[..]].concat());
    agent.done(&["set", "--point", "user.execs=trace"]);
    agent.done(&["on", "user"]);
    assert!(agent.done(&["status"]).contains("missing: user: no"));
    let traces = testkit::wait_until("an event is traced", Duration::from_secs(10), || {
        assert!(std::process::Command::new("true").status().unwrap().success());
        Some(agent.done(&["status", "--traces"])).filter(|told| told.contains("old_thread"))
    });
    // Who executes a program is the same thread before and after.
    let event: Vec<&str> = traces.trim_end().lines().last().unwrap().split_whitespace().collect();
    assert!(
        traces.starts_with("user.execs of node 0: ") && event[event.len() - 3] == event[event.len() - 1],
        "{traces}"
    );
    let probes = agent.done(&["status", "--probes"]);
    assert!(probes.contains("user.execs"), "{probes}");
}

#[test]
#[ignore = "needs root; scripts/kernel.sh test runs it"]
fn a_file_has_points_of_one_s_own_with_their_arguments_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points.toml");
    let text = "[[point]]\nlabel = \"execs\"\ntracepoint = \"sched_process_exec\"\nfields = { old_thread = 2 }\n";
    std::fs::write(&points, text).unwrap();
    let node = format!("tree:{}", std::process::id());
    let [points, out] = [&points, folder.path()].map(|path| path.to_str().unwrap());
    let arguments =
        ["record", "--points", points, "--trace", "user.execs", "--node", &node, "--for", "1s", "--out", out];
    let recorded = std::thread::scope(|scope| {
        let recorded = scope.spawn(|| run(&arguments));
        while !recorded.is_finished() {
            assert!(std::process::Command::new("true").status().unwrap().success());
        }
        recorded.join().unwrap()
    });
    assert!(recorded.status.success(), "{recorded:?}");
    let told = String::from_utf8(recorded.stdout).unwrap();
    let file = told.lines().next().unwrap();
    let table = |arguments: &[&str]| -> Vec<Vec<String>> {
        let text = String::from_utf8(run(&[&["extract", file], arguments].concat()).stdout).unwrap();
        text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let execs = table(&["User execs Trace", "thread", "old_thread"]);
    assert!(!execs.is_empty() && execs.iter().all(|row| row[0] == row[1]), "{execs:?}");
    let counts = table(&["User Summary", "execs.count"]);
    let counted: usize = counts.iter().map(|row| row[0].parse::<usize>().unwrap()).sum();
    let account = table(&["Trace Account", "subsystem", "made", "received", "dropped"]);
    let n = execs.len().to_string();
    assert_eq!(account, [["user", &n, &n, "0"]]);
    // A point is counted for a little longer than it is traced.
    assert!(counted >= execs.len(), "{counted} of {n}");
}
