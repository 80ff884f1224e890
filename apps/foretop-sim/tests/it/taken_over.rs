//! `foretop sim machine from-ace` and `from-nodes`.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::{done, refused};

const GRID: &str = "format = 1\n[[site]]\nname = \"a\"\nnodes = 1\ncores = 1\n[[site]]\nname = \"b\"\nnodes = 1\ncores = 1\n\
                    [[link]]\nbetween = [\"a\", \"b\"]\n[level.wan]\nlatency = \"1ms\"\n";

/// What ACE wrote of messages that take 1 us, and 16 ns for each KiB.
const ACE: &str = r#"{"kind":"header","program":"ace","version":"0.1.0","started":"2026-01-01T00:00:00Z","mpi":"none","arguments":[],"seed":1,"ranks":[],"assumptions":[]}
{"kind":"ace.model","application":"a","what":"ping-pong","n_ranks":2,"model":{"segments":[{"from_bytes":0,"to_bytes":65536,"n_sizes":9,"alpha_ns":1000.0,"alpha":{"lower":990.0,"upper":1010.0},"beta_ns_per_byte":0.015625,"beta":{"lower":0.01,"upper":0.02},"scatter_ratio":0.01}],"n_sizes":9,"n_points":900,"confidence":0.95}}
"#;

/// A node that has this mean forecast for whatever series, twice.
fn node(mean: f64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.unwrap();
            let head = BufReader::new(&stream).lines();
            head.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
            let body = format!(
                "{{\"id\":\"x\",\"unit\":\"ratio\",\"origin\":\"2026-01-01T00:00:00Z\",\"step_seconds\":1.0,\
                 \"confidence\":0.95,\"model\":\"AR(1)\",\"mean\":[{mean},{mean}],\"standard_error\":[0.1,0.3],\
                 \"lower\":[0,0],\"upper\":[1,1]}}"
            );
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    url
}

#[test]
fn forecasts_of_live_nodes_become_speeds_and_bandwidths() {
    let folder = tempfile::tempdir().unwrap();
    let grid = folder.path().join("grid.toml");
    std::fs::write(&grid, GRID).unwrap();
    let grid = grid.to_str().unwrap();
    let (speed, flow) = (format!("a={}", node(0.5)), format!("b,a=flow.b@{}", node(1e6)));
    let tonight = done(&["machine", "from-nodes", grid, "--speed", &speed, "--flow", &flow]);
    assert!(tonight.contains("speed = 0.5\nspeed-deviation = 0.2\n"), "{tonight}");
    assert!(tonight.contains("bandwidth = \"8Mbit/s\""), "{tonight}");
    let told = refused(2, &["machine", "from-nodes", grid, "--speed", &format!("c={}", node(0.5))]);
    assert!(told.contains("no site `c`: it has a, b"), "{told}");
    let told = refused(2, &["machine", "from-nodes", grid, "--speed", "a"]);
    assert!(told.contains("write SITE=URL"), "{told}");
}

#[test]
fn costs_that_ace_measured_become_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("ace.jsonl");
    std::fs::write(&result, ACE).unwrap();
    let result = result.to_str().unwrap();
    let file = folder.path().join("machine.toml");
    let machine = done(&["machine", "from-ace", result, "--nodes", "1", "--cores", "4"]);
    std::fs::write(&file, &machine).unwrap();
    let shown = done(&["machine", "show", file.to_str().unwrap()]);
    assert!(shown.starts_with("from ACE, 4 ranks") && shown.contains("1.02 us"), "{machine}{shown}");
    std::fs::write(folder.path().join("none.jsonl"), ACE.lines().next().unwrap().to_owned() + "\n").unwrap();
    let told = refused(2, &["machine", "from-ace", folder.path().join("none.jsonl").to_str().unwrap()]);
    assert!(told.contains("no costs of a ping-pong"), "{told}");
}

#[test]
fn a_machine_has_the_rules_of_the_library_and_the_limit_of_the_transport_that_were_measured() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |name: &str, library: &str, more: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, ACE.replace(r#""mpi":"none","#, &format!(r#""mpi":"{library}",{more}"#))).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let open = measured("open", "Open MPI v4.1.4, package: Debian OpenMPI", "");
    let tcp = measured("tcp", "Open MPI v4.1.4", r#""transport":"tcp","#);
    let mpich = measured("mpich", "MPICH Version: 4.0.2", "");
    let no_library = measured("none", "none", "");
    for (result, rules, limit) in [
        (&open, "open-mpi", "4KiB"),
        (&tcp, "open-mpi", "64KiB"),
        (&mpich, "mpich", "4KiB"),
        (&no_library, "mpich", "4KiB"),
    ] {
        let machine = done(&["machine", "from-ace", result]);
        assert!(machine.contains(&format!("collectives = \"{rules}\"\n")), "{machine}");
        assert!(machine.contains(&format!("eager-limit = \"{limit}\"\n")), "{machine}");
    }
    let told = refused(2, &["machine", "from-ace", &open, &mpich]);
    assert!(
        told.contains("open` is of open-mpi and") && told.contains("measure all levels with one library"),
        "{told}"
    );
}
