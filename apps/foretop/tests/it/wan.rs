//! `foretop wan` as far as it needs no root: relays, traces out of what is known, pictures.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{PATIENCE, wait_until};

use crate::command::{end_of, foretop, run};
use crate::node::Running;

/// A command of `foretop wan` that serves, until this goes.
struct Serving {
    child: Child,
    /// Where.
    address: String,
}

impl Serving {
    fn start(args: &[&str], folder: &Path) -> Self {
        let mut command = foretop();
        let command = command.arg("wan").args(args).env("XDG_RUNTIME_DIR", folder).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split(" at ").nth(1).unwrap_or_else(|| panic!("not up: {line}"));
        Self { address: address.trim_end().split(',').next().unwrap().to_owned(), child }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The description of a stream at `place`, and its first measurement.
fn first_of(place: &str) -> (Value, Value) {
    let read = run(&["stream", "client", "--json", "--count", "1", &format!("source:{place}")]);
    let mut lines = read.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.next().unwrap(), lines.next().unwrap())
}

fn signals(description: &Value) -> Vec<&str> {
    description["signals"].as_array().unwrap().iter().map(|signal| signal["id"].as_str().unwrap()).collect()
}

#[test]
fn what_a_relay_carries_is_a_stream_that_a_node_shows() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let place = format!("unix:{}", folder.path().join("relayed").display());
    let publish = format!("connect:{place}");
    let relay = ["relay", "--listen", "127.0.0.1:0", "--to", &to, "--model", "latency=1ms", "--publish", &publish];
    let _relay = Serving::start(&relay, folder.path());
    let (description, _) = first_of(&place);
    for signal in ["rate", "in_flight", "queue", "dropped", "late_median", "late_95"] {
        for way in ["there", "back"] {
            assert!(signals(&description).contains(&&*format!("wan.{way}.{signal}")), "{description}");
        }
    }
    let node = Running::start(&["--in-memory", "--only", "load.*", "--follow", &format!("source:{place}")]);
    wait_until("the node has the rate of the link", PATIENCE, || {
        let listed = node.run(&["signals", "--format", "json"]).json();
        listed.to_string().contains("wan.there.rate").then_some(())
    });
}

#[test]
fn a_probe_is_a_trace_and_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let answering = Serving::start(&["answer", "--listen", "127.0.0.1:0"], folder.path());
    let (place, out) = (format!("unix:{}", folder.path().join("probed").display()), folder.path().join("link.csv"));
    let mut probe = foretop();
    probe.args(["wan", "probe", &answering.address, "--every", "20ms", "--name", "db2", "--out"]).arg(&out);
    probe.args(["--publish", &format!("connect:{place}")]).env("XDG_RUNTIME_DIR", folder.path());
    let mut probe = probe.spawn().unwrap();
    wait_until("the stream is there", PATIENCE, || Path::new(&place["unix:".len()..]).exists().then_some(()));
    let (description, _) = first_of(&place);
    assert_eq!(signals(&description), ["wan.db2.latency", "wan.db2.bandwidth"]);
    let interrupted = interrupt(&probe);
    assert!(interrupted && probe.wait().unwrap().success());
    netmodel::Trace::read(&fs::read_to_string(out).unwrap()).unwrap();
}

fn interrupt(child: &Child) -> bool {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).is_ok()
}

#[test]
fn a_nodes_flow_is_a_link_and_so_is_its_forecast() {
    let folder = tempfile::tempdir().unwrap();
    let node = Running::in_memory();
    let url = format!("{}/api/v1/series", node.url);
    let post = |url: String, body: Value| drop(ureq::post(url).send_json(body).unwrap());
    let begin = clock::now() - Duration::from_secs(60);
    for (id, unit, value) in [("flow.db2", "bytes/s", 1.25e6), ("flow.db2.round_trip", "s", 0.02)] {
        post(url.clone(), json!({"id": id, "unit": unit, "step": "1s", "model": "LAST"}));
        let sample = |nth: u32| {
            let time = begin + Duration::from_secs(nth.into());
            json!({"time": time.to_string(), "value": value * f64::from(10 + nth) / 10.0})
        };
        post(format!("{url}/{id}/samples"), json!({"samples": [sample(0), sample(1), sample(2)]}));
    }
    let read = |args: &[&str]| {
        let written = node.run(&[&["wan", "record", "flow", "db2"], args].concat()).output();
        let rows: Vec<Vec<String>> =
            written.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect()).collect();
        netmodel::Trace::read(&written).unwrap();
        rows
    };
    let column = |rows: &[Vec<String>], at: usize| -> Vec<String> {
        rows.iter().map(|row| row[at].clone()).filter(|cell| !cell.is_empty()).collect()
    };
    let rising = ["10000000", "11000000", "12000000"];
    wait_until("what was pushed is stored", PATIENCE, || {
        let past = read(&["--from", "-10min"]);
        (column(&past, 1) == rising && column(&past, 2) == rising).then_some(())
    });
    // Drawn with its errors, so that only how many there are is known.
    let ahead = read(&["--ahead", "5s", "--seed", "3"]);
    assert_eq!([column(&ahead, 1).len(), column(&ahead, 2).len()], [5, 5]);
    assert_eq!(column(&read(&["--ahead", "5s", "--latency", "7ms"]), 1), vec!["7000000"; 5]);
    node.run(&["wan", "record", "flow", "db3"]).check_failed(1, "there is no signal `flow.db3`");

    // What was recorded is replayed: until its end, where connections break.
    let trace = folder.path().join("link.csv");
    fs::write(&trace, "t_ns,latency_ns,rate_bits_per_sec\n0,1000000,\n600000000000,2000000,\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let replay = ["replay", trace.to_str().unwrap(), "--listen", "127.0.0.1:0", "--to", &to];
    let replay = Serving::start(&replay, folder.path());
    let mut client = TcpStream::connect(&replay.address).unwrap();
    client.write_all(b"x").unwrap();
    listener.accept().unwrap().0.read_exact(&mut [0]).unwrap();
}

#[test]
fn ping_pongs_and_allreduces_are_compared_by_size() {
    let folder = tempfile::tempdir().unwrap();
    let [real, emulated] = [0, 1].map(|_| Serving::start(&["answer", "--listen", "127.0.0.1:0"], folder.path()));
    let compare = ["wan", "compare", "--real", &real.address, "--emulated", &emulated.address, "--repeats", "1"];
    let told = run(&compare).output();
    let (played, summed) = told.split_once("allreduce of two ranks").unwrap();
    assert!(played.contains("1048576") && summed.contains("1048576") && summed.contains('%'), "{told}");
}

#[test]
fn sites_are_drawn_as_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let (sites, picture) = (folder.path().join("sites.toml"), folder.path().join("sites.svg"));
    let text = "format = 1\n[[site]]\nname = \"left\"\nhosts = [\"l0\"]\n[[site]]\nname = \"right\"\nhosts = [\"r0\"]\n\
                [[link]]\nfrom = \"left\"\nto = \"right\"\nlatency = \"5ms\"\n[[link]]\nfrom = \"right\"\nto = \"left\"\nlatency = \"7ms\"\n";
    fs::write(&sites, text).unwrap();
    run(&["wan", "draw", sites.to_str().unwrap(), "--plot", picture.to_str().unwrap()]).output();
    let drawn = fs::read_to_string(picture).unwrap();
    assert!(["left", "r0", "latency 5ms", "latency 7ms"].iter().all(|word| drawn.contains(word)), "{drawn}");
}

#[test]
fn what_cannot_be_a_link_is_told() {
    let relay = |model: &str| {
        end_of(foretop().args(["wan", "relay", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--model", model]))
    };
    for (model, told) in [
        ("latency=10", "unit"),
        ("latency=10ms,bandwidth=0Mbit/s", "above 0"),
        ("trace=no-such-file", "cannot read the trace `no-such-file`"),
    ] {
        relay(model).check_failed(2, told);
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("link.csv");
    let header = "t_ns,latency_ns,rate_bits_per_sec\n";
    for (rows, told) in [("", "no latency"), ("5,1,\n5,1,\n", "after the one before it"), ("0,1,\n7", "line 3")] {
        fs::write(&trace, format!("{header}{rows}")).unwrap();
        let ended = run(&["wan", "replay", trace.to_str().unwrap(), "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"]);
        ended.check_failed(2, told);
    }
    let nowhere = ["wan", "record", "mpi", folder.path().to_str().unwrap(), "--from", "a", "--to", "b"];
    assert_ne!(run(&nowhere).status, 0);
}
