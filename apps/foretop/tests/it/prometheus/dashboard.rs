//! The dashboard that is shipped: what it asks for is there, and Prometheus has an answer to all of it.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use testkit::{PATIENCE, wait_until};

use super::server::Prometheus;
use crate::node::Running;

/// The labels that come with being scraped or written.
const OF_THE_TARGET: [&str; 3] = ["__name__", "instance", "job"];

/// What stands for the dashboard's variables. `series` is what the dashboard reads out of the labels of a series.
const VARIABLES: [(&str, &str); 6] = [
    ("${signal}", "foretop_cpu_busy_ratio"),
    ("$signal", "foretop_cpu_busy_ratio"),
    ("$series", r#"instance="here",job="foretop""#),
    ("$instance", "here"),
    ("$horizon", "10s"),
    ("$window", "5m"),
];

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana/foretop.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Titles and expressions of all panels, with variables as [`VARIABLES`] has them.
fn expressions() -> Vec<(String, String)> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row");
    let targets = panels.flat_map(|panel| {
        let title = panel["title"].as_str().unwrap();
        panel["targets"].as_array().unwrap().iter().map(move |one| (title.to_owned(), one["expr"].as_str().unwrap()))
    });
    targets.map(|(title, expression)| (title, substitute(expression))).collect()
}

fn substitute(expression: &str) -> String {
    let text = expression.replace("$__rate_interval", "1m");
    let text = VARIABLES.iter().fold(text, |text, (name, value)| text.replace(name, value));
    assert!(!text.contains('$'), "a variable without a value in {text}");
    text
}

/// The words of an expression that are names: `foretop_…` of metrics, and those before `=`, `!=`, `=~` and `!~` of
/// labels.
fn names(expression: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let is_in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (mut metrics, mut labels) = (BTreeSet::new(), BTreeSet::new());
    for word in expression.split(|letter| !is_in_name(letter)).filter(|word| !word.is_empty()) {
        let after = expression[word.as_ptr() as usize - expression.as_ptr() as usize + word.len()..].trim_start();
        if word.starts_with("foretop_") {
            metrics.insert(word);
        } else if after.starts_with("=\"") || after.starts_with("=~") || after.starts_with("!=\"") {
            labels.insert(word);
        }
    }
    (metrics, labels)
}

fn start(url: &str, folder: &Path) -> Running {
    let config = folder.join("foretop.toml");
    let rules = folder.join("rules.toml");
    std::fs::write(&rules, "[[rule]]\nname = 'there'\nwhen = 'load.1m < 1000'\nwithin = '10s'\n").unwrap();
    let sections = format!(
        "[warn]\nrules = '{}'\nevery = '1s'\n\n\
         [[remote_write]]\nurl = '{url}'\nbatch_every = '200ms'\nforecast_every = '1s'\nlabels = {{ instance = 'here' }}\n",
        rules.display()
    );
    std::fs::write(&config, sections).unwrap();
    Running::start(&["--in-memory", "--every", "100ms", "--config", config.to_str().unwrap()])
}

#[test]
fn all_metrics_and_labels_of_the_dashboard_are_those_of_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let node = start("http://127.0.0.1:1/", folder.path());
    node.wait_for_samples("cpu.busy", 3);
    let page = wait_until("the rule is answered", PATIENCE, || {
        let page = ureq::get(format!("{}/metrics", node.url)).call().unwrap().body_mut().read_to_string().unwrap();
        page.contains("foretop_probability{").then_some(page)
    });
    let lines: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    let has_metric = |name: &str| lines.iter().any(|line| line.split(['{', ' ']).next() == Some(name));
    let has_label = |name: &str| {
        OF_THE_TARGET.contains(&name)
            || lines.iter().any(|line| line.contains(&format!("{{{name}=\"")) || line.contains(&format!(",{name}=\"")))
    };
    let (mut n_metrics, mut n_labels) = (0, 0);
    for (title, expression) in expressions() {
        let (metrics, labels) = names(&expression);
        (n_metrics, n_labels) = (n_metrics + metrics.len(), n_labels + labels.len());
        metrics.iter().for_each(|name| assert!(has_metric(name), "{title}: no {name} in {page}"));
        labels.iter().for_each(|name| assert!(has_label(name), "{title}: no label {name} in {page}"));
    }
    assert!(n_metrics >= 20 && n_labels >= 20, "the expressions were read: {n_metrics} metrics, {n_labels} labels");
    for legend in dashboard().to_string().split("{{").skip(1).filter_map(|rest| rest.split_once("}}")) {
        assert!(has_label(legend.0), "a legend has {}, which is not a label", legend.0);
    }
}

#[test]
#[ignore = "needs prometheus; run by make test"]
fn every_panel_shows_something_of_what_a_node_writes() {
    let (data, server) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let prometheus = Prometheus::start(server.path(), None);
    let _node = start(&prometheus.write_url(), data.path());
    for (title, expression) in expressions() {
        wait_until(&format!("{title} shows {expression}"), PATIENCE, || {
            let points = prometheus.points(&[("query", &expression)]);
            points.iter().any(|point| !point.value.is_nan()).then_some(())
        });
    }
}
