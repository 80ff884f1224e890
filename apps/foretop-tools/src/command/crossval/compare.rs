//! `foretop crossval compare`: how two campaigns differ.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use crossval::{ComparedResiduals, Comparison, Results};
use text::{Align, Table};

use super::MetricName;
use command_line::terminal::write_json;
use text::help::examples;

/// Compare the cases that two campaigns have in common
///
/// Cases match if the same model was judged on the same window of the same samples, for example with two versions of
/// Foretop, or with two templates that have the same seed and lengths. A ratio below 1 means that the second campaign
/// has the smaller errors.
#[derive(Args)]
#[command(after_help = examples(&["foretop crossval compare before.parquet after.parquet --metric mae"]))]
pub struct CompareCases {
    /// Results of `foretop crossval run`
    first: PathBuf,

    /// Results to compare with them
    second: PathBuf,

    /// The metric that ranks models
    #[arg(long, value_enum, default_value = "mse")]
    metric: MetricName,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Builds the table of how often the errors of each model pass for noise, before and after.
fn residuals(rows: &[ComparedResiduals]) -> Table {
    let mut table = Table::of_figures(&["model", "no memory", "turning points", "rises", "normal"]);
    for ComparedResiduals { family, first, second } in rows {
        let cells = [
            (first.ljung_box, second.ljung_box),
            (first.turning_points, second.turning_points),
            (first.rises, second.rises),
            (first.normality, second.normality),
        ]
        .map(|(first, second)| format!("{}, {}", share(first), share(second)));
        table.row(std::iter::once(family.clone()).chain(cells));
    }
    table
}

fn share(share: f64) -> String {
    if share.is_nan() { "-".to_owned() } else { format!("{:.0} %", 100.0 * share) }
}

impl CompareCases {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let read = |path| Results::read(path, self.metric.metric());
        let comparison = Comparison::new(&read(&self.first)?, &read(&self.second)?)?;
        if self.json {
            return Ok(write_json(out, &comparison)?);
        }
        writeln!(out, "{} cases in common, {} of them identical", comparison.n_common, comparison.n_identical)?;
        let right = |name| (name, Align::Right);
        let mut table = Table::new(&[
            ("model", Align::Left),
            right("lead"),
            right("cases"),
            right("error ratio"),
            right("windows tested"),
            right("p"),
        ]);
        for row in &comparison.rows {
            table.row([
                row.family.clone(),
                row.lead.to_string(),
                row.n.to_string(),
                format!("{:.4}", row.ratio),
                row.n_tested.to_string(),
                format!("{:.3}", row.p_value),
            ]);
        }
        write!(out, "{table}\n{}", residuals(&comparison.residuals))?;
        Ok(writeln!(out, "shares of cases whose errors one step ahead pass for noise, in the first and in the second")?)
    }
}
