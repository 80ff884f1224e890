//! `foretop models`: what can be asked for with `--model`.

use std::io::Write;

use clap::Args;
use serde::Serialize;
use text::{Align, Table};

use command_line::argument::TableOrJson;
use command_line::terminal::write_json;
use text::help::examples;

/// List the models that `--model` takes
#[derive(Args)]
#[command(after_help = examples(&["foretop models", "foretop models --format json"]))]
pub struct Models {
    /// The format of the list
    #[arg(long, value_enum, default_value = "table")]
    format: TableOrJson,
}

#[derive(Serialize)]
struct Row {
    model: &'static str,
    sentence: &'static str,
}

impl Models {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let rows = predict::Spec::catalogue().iter().map(|&(model, sentence)| Row { model, sentence });
        match self.format {
            TableOrJson::Json => write_json(out, &rows.collect::<Vec<_>>())?,
            TableOrJson::Table => {
                let mut table = Table::new(&[("MODEL", Align::Left), ("WHAT IT SAYS IS TO COME", Align::Left)]);
                rows.for_each(|row| table.row([row.model.to_owned(), row.sentence.to_owned()]));
                write!(out, "{table}")?;
            }
        }
        Ok(())
    }
}
