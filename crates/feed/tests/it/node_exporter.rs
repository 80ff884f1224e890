//! The distribution's node exporter as a source: what it offers beside what the kernel says.
//!
//! The program is the one that `FORETOP_TEST_NODE_EXPORTER` names, or else `prometheus-node-exporter` in `PATH`.

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use feed::{Exporter, ExporterSettings};
use signal::{Readings, Source, Unit};
use testkit::{PATIENCE, wait_until};

use crate::exporter_pages::{Values, values};

/// How often to look for another port when somebody took the one that was free a moment ago.
const N_PORT_ATTEMPTS: usize = 5;

/// The kernel counts CPU time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

struct NodeExporter {
    child: Child,
    url: String,
}

impl NodeExporter {
    fn start() -> NodeExporter {
        for _ in 0..N_PORT_ATTEMPTS {
            let mut exporter = NodeExporter::spawn();
            let address = exporter.url.clone();
            let is_up = wait_until("the node exporter answers", PATIENCE, || {
                if exporter.child.try_wait().unwrap().is_some() {
                    return Some(false);
                }
                ureq::get(&address).call().is_ok().then_some(true)
            });
            if is_up {
                return exporter;
            }
        }
        panic!("the node exporter did not start in {N_PORT_ATTEMPTS} attempts");
    }

    fn spawn() -> NodeExporter {
        let binary =
            std::env::var_os("FORETOP_TEST_NODE_EXPORTER").unwrap_or_else(|| "prometheus-node-exporter".into());
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(&binary)
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", binary.display()));
        NodeExporter { child, url: format!("http://{address}/metrics") }
    }
}

impl Drop for NodeExporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The times of core 0 that only grow, with their places in its line. The kernel may take idle time back.
const MODES: [(&str, usize); 3] = [("user", 1), ("nice", 2), ("system", 3)];

/// These times in seconds, as the kernel counts them.
fn spent_s() -> [f64; 3] {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let line = stat.lines().find(|line| line.starts_with("cpu0 ")).expect("a line of core 0");
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    MODES.map(|(_, place)| words[place].parse::<f64>().unwrap() / TICKS_PER_SECOND)
}

fn load_1m() -> f64 {
    fs::read_to_string("/proc/loadavg").unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs prometheus-node-exporter; run by make test"]
fn the_node_exporter_says_what_the_kernel_says() {
    let node_exporter = NodeExporter::start();
    let mut settings = ExporterSettings::new(&*node_exporter.url);
    settings.patterns =
        ["node_load1", r#"node_cpu_seconds_total{cpu="0"}"#, "node_filesystem_size_bytes", "go_gc_duration_seconds"]
            .map(str::to_owned)
            .to_vec();
    let mut exporter = Exporter::open(&settings).unwrap();
    let mut readings = Readings::default();
    let start = clock::instant();
    let mut read = || -> (Values, Duration) {
        let at = start.elapsed();
        exporter.read(at, &mut readings);
        assert_eq!((exporter.n_errors(), exporter.last_error()), (0, None));
        (values(&readings), at)
    };

    // The load may be written anew between two looks, and then the next round has it.
    wait_until("the exporter has the load of before or after", PATIENCE, || {
        let before = load_1m();
        let (values, _) = read();
        [before, load_1m()].contains(&values["node_load1"]).then_some(())
    });

    // Each side is read some time between these, so growth lies between the least and the most that both ends allow.
    let before = spent_s();
    let (_, first_at) = read();
    let after = spent_s();
    // This very wait makes some of it.
    wait_until("core 0 did something", PATIENCE, || {
        (spent_s().iter().sum::<f64>() > after.iter().sum::<f64>() + 0.1).then_some(())
    });
    let late = spent_s();
    let (values, second_at) = read();
    let last = spent_s();
    for (idx, (mode, _)) in MODES.into_iter().enumerate() {
        let rate = values[&format!("node_cpu_seconds_total{{cpu=\"0\",mode=\"{mode}\"}}")];
        let grown = rate * (second_at - first_at).as_secs_f64();
        let (least, most) = (late[idx] - after[idx], last[idx] - before[idx]);
        // Differences of hundredths in floating point: far less than one of them.
        assert!((least - 1e-6..=most + 1e-6).contains(&grown), "{mode}: {least} <= {grown} <= {most}");
    }

    let filesystems: Vec<_> = readings
        .iter()
        .map(|(signal, _)| signal)
        .filter(|signal| signal.family().pattern == "node_filesystem_size_bytes")
        .collect();
    assert!(!filesystems.is_empty());
    for signal in filesystems {
        let labels: Vec<&str> = signal.labels().iter().map(|(name, _)| &**name).collect();
        assert_eq!((&labels[..], &signal.family().unit), (&["device", "fstype", "mountpoint"][..], &Unit::Bytes));
    }
    assert!(
        values.contains_key(r#"go_gc_duration_seconds{quantile="0.5"}"#)
            && values.contains_key("go_gc_duration_seconds_count")
    );
}
