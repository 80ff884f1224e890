//! A report for programs: the tables as they are printed, with numbers in place of text.

use serde_json::{Map, Value, json};

use super::{Report, source_name};
use crate::table::{Cell, Row, Table};

/// The whole report, as `docs/formats/cli.md` has it.
pub(super) fn value(report: &Report) -> Value {
    let about: Map<String, Value> =
        report.about.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let tables: Vec<Value> = report.tables.iter().map(table).collect();
    json!({ "about": about, "warnings": report.warnings, "tables": tables })
}

fn table(table: &Table) -> Value {
    let rows: Vec<Value> = table.rows.iter().map(|one| row(table, one)).collect();
    json!({ "number": table.number, "title": table.title, "rows": rows, "notes": table.notes })
}

fn row(table: &Table, row: &Row) -> Value {
    let cells = table.columns.iter().cloned().zip(row.cells.iter().map(|one| cell(*one)));
    let cells: Map<String, Value> = cells.collect();
    json!({ "source": source_name(row.source), "row": row.heads[0], "kind": row.heads.get(1), "cells": cells })
}

fn cell(cell: Cell) -> Value {
    match cell {
        Cell::Percent { share: value, n } | Cell::Number { value, n, .. } => json!({ "value": value, "n": n }),
        Cell::TooFew { need, have } => json!({ "value": null, "n": have, "need": need }),
        Cell::Constant { n } => json!({ "value": null, "n": n }),
        Cell::Blank => Value::Null,
    }
}
