//! Cross-validation of what a Prometheus server has.

use std::fs;

use testkit::{PATIENCE, wait_until};

use super::server::Prometheus;
use crate::command::run;
use crate::node::Running;

#[test]
#[ignore = "needs prometheus; run by make test"]
fn crossval_takes_traces_from_a_real_prometheus() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (template, out) = (path("t.toml"), path("out.parquet"));
    fs::write(&template, "models = [\"LAST\"]\nfit = 3\ntest = 2\nleads = 1").unwrap();
    let node = Running::start(&["--in-memory"]);
    let prometheus = Prometheus::start(folder.path(), Some(node.url.trim_start_matches("http://")));
    let ask = |query: &str| {
        let source = ["--prometheus", &prometheus.url, "--query", query, "--from", "-1min", "--step", "1s"];
        run(&[&["crossval", "run", &template, "--cases", "5", "--out", &out][..], &source].concat())
    };
    ask("sum(").check_failed(1, "says: ");
    let ended = wait_until("there are samples enough", PATIENCE, || {
        let ended = ask("foretop_cpu_busy_ratio");
        (ended.status == 0).then_some(ended)
    });
    assert!(ended.stdout.starts_with("5 cases in "), "{ended:?}");
    assert!(run(&["crossval", "report", &out]).output().contains("`foretop_cpu_busy_ratio{"));
}
