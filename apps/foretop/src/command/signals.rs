//! `foretop signals`: what can be measured, or what a node has.

use std::io::Write;

use clap::Args;
use node_api as api;
use serde::Serialize;
use text::{Align, Table, figure};

use command_line::argument::{NodeArgs, TableOrJson};
use command_line::terminal::write_json;
use text::help::examples;

/// List measurable signals, or with --node those of a node
#[derive(Args)]
#[command(after_help = examples(&["foretop signals", "foretop signals --node http://127.0.0.1:7311 --format json"]))]
pub struct Signals {
    /// The format of the list
    #[arg(long, value_enum, default_value = "table")]
    format: TableOrJson,

    #[command(flatten)]
    node: NodeArgs,
}

#[derive(Serialize)]
struct Family {
    pattern: &'static str,
    alias: Option<&'static str>,
    unit: &'static str,
    kind: &'static str,
    sentence: &'static str,
}

impl Signals {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.node.node.is_none() {
            return self.write_families(out);
        }
        let list = self.node.client()?.list()?;
        match self.format {
            TableOrJson::Json => write_json(out, &list.series)?,
            TableOrJson::Table => write!(out, "{}", table_of(&list.series))?,
        }
        Ok(())
    }

    fn write_families(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let families = signal::FAMILIES.iter().map(|family| Family {
            pattern: &family.pattern,
            alias: family.alias,
            unit: family.unit.as_str(),
            kind: family.kind.as_str(),
            sentence: &family.sentence,
        });
        match self.format {
            TableOrJson::Json => write_json(out, &families.collect::<Vec<_>>())?,
            TableOrJson::Table => {
                let mut table =
                    Table::new(&["SIGNAL", "SHORT", "UNIT", "KIND", "WHAT IT IS"].map(|name| (name, Align::Left)));
                for family in families {
                    let alias = family.alias.unwrap_or_default();
                    table.row([family.pattern, alias, family.unit, family.kind, family.sentence].map(str::to_owned));
                }
                write!(out, "{table}")?;
            }
        }
        Ok(())
    }
}

fn table_of(series: &[api::Series]) -> Table {
    let mut table = Table::new(&[
        ("SIGNAL", Align::Left),
        ("SHORT", Align::Left),
        ("NOW", Align::Right),
        ("STEP", Align::Right),
        ("MODEL", Align::Left),
    ]);
    for series in series {
        let last = series.last.and_then(|sample| sample.value);
        table.row([
            series.id.clone(),
            series.aliases.join(" "),
            last.map_or_else(|| "-".to_owned(), |value| figure::format(value, &series.unit)),
            format!("{} s", series.step_seconds),
            series.model.clone(),
        ]);
    }
    table
}
