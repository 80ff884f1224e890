//! With programs in the kernel.

use std::time::Duration;

use crate::agent::Agent;
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
    assert!(verdict("What watching costs").starts_with("the account is within"), "{text}");
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
    assert_eq!(kernel::n_loaded(), 0);
    for table in ["/proc/self/mountinfo", "/proc/swaps"] {
        assert!(!std::fs::read_to_string(table).unwrap().contains(name), "something of it is left in {table}");
    }
}
