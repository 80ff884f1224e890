//! `foretop rules prometheus`: for who would rather alert there.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use units::span;
use warn::Rule;

use command_line::terminal::write_json;
use text::help::examples;

/// Print alerting rules for a Prometheus server that scrapes a node with these rules
///
/// The node decides when a warning fires; the server alerts as long as it fires, in quiet hours too. The output is
/// JSON, and therefore YAML.
#[derive(Args)]
#[command(after_help = examples(&["foretop rules prometheus rules.toml > foretop-rules.yml", "promtool check rules foretop-rules.yml"]))]
pub struct Prometheus {
    /// The file of rules
    file: PathBuf,
}

#[derive(Serialize)]
struct Groups {
    groups: [Group; 1],
}

#[derive(Serialize)]
struct Group {
    name: &'static str,
    rules: Vec<Alerting>,
}

#[derive(Serialize)]
struct Alerting {
    alert: String,
    expr: String,
    annotations: Annotations,
}

#[derive(Serialize)]
struct Annotations {
    summary: String,
}

impl Prometheus {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rules = super::read(&self.file)?;
        super::say_quiet_is_ignored(&rules, "Prometheus alerts at these hours too; mute them in Alertmanager");
        let rules = rules.rules().iter().map(alerting).collect();
        Ok(write_json(out, &Groups { groups: [Group { name: "foretop", rules }] })?)
    }
}

fn alerting(rule: &Rule) -> Alerting {
    let name = serde_json::Value::from(rule.name.as_str());
    let (probability, warns) =
        (format!("foretop_probability{{rule={name}}}"), format!("foretop_warning{{rule={name}}} == 1"));
    // The left side is the value, the right side decides. A rule whose series is silent has no probability, but its
    // warning may stand.
    let expr = format!("{probability} and {warns} or ({warns}) + 1");
    let (when, within) = (rule.when.to_string(), span::format(rule.within));
    let value = "{{ if gt $value 1.0 }}no sample of late{{ else }}{{ $value | humanizePercentage }}{{ end }}";
    let summary = format!("{} within {within}: {value}", literal(&when));
    Alerting { alert: rule.name.clone(), expr, annotations: Annotations { summary } }
}

/// Text that a template of Prometheus shows as it is.
fn literal(text: &str) -> String {
    text.replace("{{", "{{\"{{\"}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_that_stands_alerts_even_if_nothing_is_probable() {
        let rules: warn::Rules = "[[rule]]\nname = \"a\"\nwhen = \"x > 3\"\nwithin = \"1h\"\n".parse().unwrap();
        let Alerting { expr, annotations, .. } = alerting(&rules.rules()[0]);
        let (probability, warns) = (r#"foretop_probability{rule="a"}"#, r#"foretop_warning{rule="a"} == 1"#);
        assert_eq!(expr, format!("{probability} and {warns} or ({warns}) + 1"));
        assert!(annotations.summary.starts_with("x > 3 within 1h: {{ if gt $value 1.0 }}no sample of late{{ else }}"));
    }
}
