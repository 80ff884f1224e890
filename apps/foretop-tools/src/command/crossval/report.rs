//! `foretop crossval report`: what the results of a campaign show.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use crossval::{Costs, Report, ReportSettings, Results};

use super::MetricName;
use command_line::terminal::write_json;
use text::help::examples;

/// Report which model wins at each lead, by how much, and whether that is beyond chance
///
/// Without --html, --markdown and --json, the report is printed as Markdown.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop crossval report cases.parquet",
    "foretop crossval report cases.parquet --metric crps --html report.html --markdown report.md",
]))]
pub struct WriteReport {
    /// Results of `foretop crossval run`
    results: PathBuf,

    /// The metric that ranks models
    #[arg(long, value_enum, default_value = "mse")]
    metric: MetricName,

    /// Write the report as a self-contained HTML file
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,

    /// Write the report as Markdown
    #[arg(long, value_name = "PATH")]
    markdown: Option<PathBuf>,

    /// Print the report's figures as JSON
    #[arg(long)]
    json: bool,

    /// Title of the report
    #[arg(long, value_name = "TEXT", default_value_t = ReportSettings::default().title)]
    title: String,

    /// Leave out the models' run times, which differ from run to run
    #[arg(long)]
    no_costs: bool,
}

impl WriteReport {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let costs = if self.no_costs { Costs::LeftOut } else { Costs::Shown };
        let settings = ReportSettings { title: self.title, costs };
        let report = Report::new(&Results::read(&self.results, self.metric.metric())?, &settings);
        if self.html.is_none() && self.markdown.is_none() && !self.json {
            return Ok(out.write_all(report.to_markdown().as_bytes())?);
        }
        if let Some(path) = &self.html {
            write(path, &report.to_html())?;
        }
        if let Some(path) = &self.markdown {
            write(path, &report.to_markdown())?;
        }
        if self.json {
            return Ok(write_json(out, report.summary())?);
        }
        match report.recommended() {
            Some(model) => Ok(writeln!(out, "{model}")?),
            None => Ok(()),
        }
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
