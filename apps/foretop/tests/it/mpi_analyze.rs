//! `foretop mpi analyze` on runs that were made up: one rank is late in each call.

use mpi_job::Folder;
use testkit::mpi::Program;

use crate::command::{end_of, foretop};

#[test]
fn the_late_rank_is_named_and_two_runs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [before, after] = ["before", "after"].map(|name| folder.path().join(name));
    for (path, late_ns) in [(&before, 1_000_000), (&after, 50_000)] {
        Program::start(&Folder::create(path).unwrap()).run_late(0..50, late_ns);
    }
    let analyze =
        |arguments: &[&str]| end_of(foretop().current_dir(folder.path()).args(["mpi", "analyze"]).args(arguments));

    let told = analyze(&["before", "--draw", "pictures"]).output();
    for said in [
        "tree flat: 50 calls analyzed",
        "rank 2             50  100 %            1.00 ms",
        "try: give the late rank less work",
        "MPI_Allreduce     2     50      100 %",
    ] {
        assert!(told.contains(said), "{said} in\n{told}");
    }
    for picture in ["tree-0-pathmap", "tree-0-pathmap-waits", "tree-0-last-arrival", "tree-0-serialization", "timeline"]
    {
        assert!(folder.path().join(format!("pictures/{picture}.svg")).exists(), "{picture}");
    }
    let told = analyze(&["before", "--compare", "after"]).output();
    assert!(told.contains("flat compared with flat") && told.contains("no difference beyond chance"), "{told}");

    let json: serde_json::Value = serde_json::from_str(&analyze(&["before", "--json"]).output()).unwrap();
    assert_eq!(json["trees"][0]["n_calls"], 50);
    assert_eq!(json["trees"][0]["costs"][2]["hosts_ns"]["a"], json["trees"][0]["paths"][2]["cost"]["mean_ns"]);
    assert_eq!(json["arrivals"]["MPI_Allreduce"]["2"]["arrived"], serde_json::json!([0, 0, 50]));
    assert_eq!(analyze(&["before", "--csv"]).output().lines().count(), 1 + 3 + 3 * 5);

    let ended = analyze(&["nowhere"]);
    ended.check_failed(2, "cannot read the trace `nowhere`");
}
