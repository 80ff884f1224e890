//! Files of records, from the measurement to the plot. Counts come from /proc, which needs no root.

use std::path::{Path, PathBuf};

use crate::kernel;

#[track_caller]
fn done(arguments: &[&str]) -> String {
    let output = kernel(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn recorded(folder: &Path, format: &str) -> PathBuf {
    let folder = folder.join(format);
    std::fs::create_dir(&folder).unwrap();
    let out = folder.to_str().unwrap();
    let arguments = ["record", "vm", "cpu", "--source", "proc", "--interval", "20ms", "--for", "70ms", "--out", out];
    let text = done(&[&arguments[..], &["--format", format, "--title", "a test"]].concat());
    text.lines().last().unwrap().into()
}

#[test]
fn a_recorded_file_is_described_and_extracted_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["own", "sddf"] {
        let file = recorded(folder.path(), format);
        let name = file.to_str().unwrap();
        let (stem, ending) = name.rsplit_once('_').unwrap();
        assert!(
            !stem.is_empty() && ending.len() == "20261123180000.kernel".len() && ending.ends_with(".kernel"),
            "{name}"
        );
        let csv = done(&["extract", name, "VM Summary", "start_ns", "end_ns", "source", "FileMap.count"]);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "start_ns,end_ns,source,FileMap.count");
        let info = std::fs::read_to_string(format!("{name}.info")).unwrap();
        let count = format!("Record: VM Summary\nCount: {}\n", lines.len() - 1);
        for part in ["BootId: ", "FileSize: ", "Title: a test", &count, "Field: PageFaults.count integer"] {
            assert!(info.contains(part), "no `{part}` in\n{info}");
        }
        assert!(done(&["show", name]).contains(&count));
        // What /proc does not know is -1. Each interval begins where the one before ended.
        assert!(lines[1..].iter().all(|line| line.ends_with(",proc,-1")), "{csv}");
        let end_of_first = lines[1].split(',').nth(1);
        assert!(lines.len() < 3 || end_of_first == lines[2].split(',').next(), "{csv}");
    }
}

#[test]
fn two_files_of_a_boot_are_merged_and_plotted() {
    let folder = tempfile::tempdir().unwrap();
    let one = recorded(folder.path(), "own");
    let other = recorded(folder.path(), "sddf");
    let merged = folder.path().join("both.sort-merge");
    let merged = merged.to_str().unwrap();
    done(&["merge", one.to_str().unwrap(), other.to_str().unwrap(), "--out", merged]);
    let starts = |file: &str| -> Vec<u64> {
        let csv = done(&["extract", file, "VM Summary", "start_ns"]);
        csv.lines().skip(1).map(|line| line.parse().unwrap()).collect()
    };
    let n_apart = starts(one.to_str().unwrap()).len() + starts(other.to_str().unwrap()).len();
    let starts = starts(merged);
    assert!(starts.len() == n_apart && starts.is_sorted(), "{starts:?}");
    let picture = folder.path().join("faults.svg");
    done(&["plot", merged, "VM Summary", "start_ns", "PageFaults.count", "--out", picture.to_str().unwrap()]);
    assert!(std::fs::read_to_string(picture).unwrap().contains("VM Summary: PageFaults.count against start_ns"));
}

/// A file of a boot with events at these times, that says this at its end.
fn of_boot(path: &Path, boot: &str, times: [i64; 2], said: &[(&str, &str)]) -> String {
    let mut writer = record::Writer::new(std::fs::File::create(path).unwrap()).unwrap();
    writer.attribute("BootId", boot).unwrap();
    let fields = vec![record::Field::integer("at_ns", "ns", "when")];
    let of = writer.define(record::RecordType { name: "Event".into(), attributes: Vec::new(), fields }).unwrap();
    for time in times {
        writer.record(of, &[record::Value::Integer(time)]).unwrap();
    }
    said.iter().for_each(|(name, text)| writer.attribute(name, text).unwrap());
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn files_of_two_hosts_are_merged_where_a_receiver_compared_their_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    let first = of_boot(&path("first"), "a", [100, 300], &[]);
    let said = [
        ("ReceiverBootId", "a"),
        ("ReceiverOffset_ns", "-5000"),
        ("ReceiverOffsetBound_ns", "40"),
        ("ReceiverOffsetAt_ns", "5200"),
        ("ReceiverDrift_ppb", "0"),
        ("ReceiverDriftBound_ppb", "0"),
    ];
    let other = of_boot(&path("other"), "b", [5050, 5200], &said);
    let merged = path("both").to_str().unwrap().to_owned();
    done(&["merge", &first, &other, "--out", &merged]);
    assert_eq!(done(&["extract", &merged, "Event"]), "at_ns\n50\n100\n200\n300\n");
    let info = std::fs::read_to_string(format!("{merged}.info")).unwrap();
    assert!(info.contains("other.MovedToBootId: a\n") && info.contains("other.MovedBound_ns: 40\n"), "{info}");

    let unknown = of_boot(&path("unknown"), "c", [1, 2], &[]);
    let nothing = path("nothing");
    let refused = kernel(&["merge", &first, &unknown, "--out", nothing.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && told.contains("`unknown` is of boot c and `first` of a"), "{told}");
    assert!(!nothing.exists());
}

#[test]
fn extracted_tables_go_to_files_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path(), "own");
    let file = file.to_str().unwrap();
    let [csv, table] = ["vm.csv", "vm.parquet"].map(|name| folder.path().join(name));
    let arguments = ["extract", file, "VM Summary", "start_ns", "FileMap.ranges"];
    done(&[&arguments[..], &["--out", csv.to_str().unwrap()]].concat());
    assert_eq!(std::fs::read_to_string(csv).unwrap(), done(&arguments));
    done(&[&arguments[..], &["--format", "parquet", "--out", table.to_str().unwrap()]].concat());
    let table = std::fs::read(table).unwrap();
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    let output = kernel(&["extract", file, "VM Summary", "--format", "parquet"]);
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("--out"), "{output:?}");
}

/// The counts that a text beside a file states, added up.
fn stated(file: &Path) -> u64 {
    let info = std::fs::read_to_string(format!("{}.info", file.display())).unwrap();
    info.lines().filter_map(|line| line.strip_prefix("Count: ")?.parse::<u64>().ok()).sum()
}

#[test]
fn a_merged_file_is_split_again_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["own", "sddf"].map(|format| recorded(folder.path(), format));
    let merged = folder.path().join("both.sort-merge");
    done(&["merge", files[0].to_str().unwrap(), files[1].to_str().unwrap(), "--out", merged.to_str().unwrap()]);
    let n_all: u64 = files.iter().map(|file| stated(file)).sum();
    assert_eq!(stated(&merged), n_all, "the merged file has a text beside it as well");
    for by in [&["file"][..], &["host"], &["instrument"], &["record"], &["time", "--span", "30ms"]] {
        let out = folder.path().join(by[0]);
        std::fs::create_dir(&out).unwrap();
        let arguments = ["split", merged.to_str().unwrap(), "--out", out.to_str().unwrap(), "--by"];
        let told = done(&[&arguments, by].concat());
        assert!(told.ends_with(&format!("\n{n_all} records in all\n")), "{told}");
        let parts = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let parts: Vec<PathBuf> = parts.filter(|path| path.extension().unwrap() != "info").collect();
        assert_eq!(parts.iter().map(|part| stated(part)).sum::<u64>(), n_all, "by {by:?}");
        for part in parts {
            let shown = done(&["show", part.to_str().unwrap()]);
            let counts = shown.lines().filter_map(|line| line.strip_prefix("Count: ")?.parse::<u64>().ok());
            assert_eq!(counts.sum::<u64>(), stated(&part), "{}", part.display());
        }
    }
    // They differ in their folders alone, where both began within a second.
    let parts = std::fs::read_dir(folder.path().join("file")).unwrap().count();
    assert_eq!(parts, 2 * files.len(), "a part for each file, and a text beside each");
}

#[test]
fn a_split_by_time_needs_a_length() {
    for (arguments, part) in [(&[][..], "--span"), (&["--span", "0s"], "a span of no length")] {
        let output = kernel(&[&["split", "x", "--by", "time"], arguments].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(part), "{told}");
    }
}

#[test]
fn a_cut_file_shows_what_is_whole_and_says_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path(), "own");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 30]).unwrap();
    let output = kernel(&["show", file.to_str().unwrap()]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("cut: it ends at byte"), "{told}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("Record: VM Summary"));
}

#[test]
fn a_full_disk_is_told_with_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path(), "own");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_foretop-kernel"));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.arg("extract").arg(file).arg("VM Summary").stdout(full).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("No space left on device"), "{told}");
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path(), "own");
    let file = file.to_str().unwrap();
    let output = kernel(&["merge", file, file, "--out", file]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("File exists"), "{told}");
}

#[test]
fn an_unknown_record_is_answered_with_those_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(folder.path(), "own");
    let output = kernel(&["extract", file.to_str().unwrap(), "VM Sumary"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("`VM Summary`"), "{told}");
}
