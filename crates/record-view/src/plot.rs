//! Any field of a type against any other, one line for each value of a third.

use std::collections::BTreeMap;

use picture::{Axis, Chart, Colour, Mark, Panel, Scale};
use record::{Item, Items, RecordType, Value};

use crate::Error;
use crate::structure::{find, position};

/// What to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plot {
    /// The type.
    pub record: String,
    /// The field to the right.
    pub x: String,
    /// The field upward.
    pub y: String,
    /// The field that tells lines apart.
    pub by: Option<String>,
    /// What files are called, for the caption.
    pub files: String,
}

/// Lines that can be told apart.
const LINES_MAX: usize = 8;
const COLOURS: [Colour; LINES_MAX] = [
    Colour(31, 119, 180),
    Colour(214, 39, 40),
    Colour(44, 160, 44),
    Colour(148, 103, 189),
    Colour(255, 127, 14),
    Colour(140, 86, 75),
    Colour(227, 119, 194),
    Colour(90, 90, 90),
];

/// What files say of themselves that belongs above a plot.
const HEADINGS: [&str; 6] = ["Site", "HostName", "System", "Instrument", "BeginDate", "Title"];

/// Draws it. Values below zero stand for what is not known in counts and times, and have no place.
///
/// # Errors
/// Where the type or a field is not there or holds no numbers, or the file is damaged.
pub fn plot(items: Items<'_>, what: &Plot) -> Result<Panel, Error> {
    let mut types: Vec<RecordType> = Vec::new();
    let mut places: Option<(usize, [usize; 2], Option<usize>)> = None;
    let mut headings = Vec::new();
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for item in items {
        match item? {
            Item::Attribute(name, text) => {
                if HEADINGS.contains(&name.rsplit('.').next().unwrap_or(&name)) {
                    headings.push(text);
                }
            }
            Item::Type(of) => {
                if of.name == what.record {
                    let by = what.by.as_deref().map(|by| position(&of, by)).transpose()?;
                    places = Some((types.len(), [position(&of, &what.x)?, position(&of, &what.y)?], by));
                }
                types.push(of);
            }
            Item::Record { of, values } => {
                if let Some((chosen, [x, y], by)) = places
                    && chosen == of
                {
                    let number = |place: usize, name: &str| {
                        values[place].number().ok_or_else(|| Error::NotANumber { name: name.into() })
                    };
                    let point = (number(x, &what.x)?, number(y, &what.y)?);
                    let line = by.map(|by| label(&values[by])).unwrap_or_default();
                    if point.1 >= 0.0 {
                        lines.entry(line).or_default().push(point);
                    }
                }
            }
        }
    }
    let (_, of) = find(&types, &what.record)?;
    Ok(panel(what, of, &headings, lines))
}

fn label(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Integers(_) | Value::Reals(_) => "array".into(),
    }
}

fn panel(what: &Plot, of: &RecordType, headings: &[String], lines: BTreeMap<String, Vec<(f64, f64)>>) -> Panel {
    let axis = |name: &str| {
        let unit = of.position(name).map(|place| of.fields[place].unit.as_str()).unwrap_or_default();
        if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
    };
    let all = || lines.values().flatten();
    let n_left_out = lines.len().saturating_sub(LINES_MAX);
    let left_out = if n_left_out > 0 { format!("; {n_left_out} more lines are not drawn") } else { String::new() };
    let caption =
        format!("{}{}{left_out}", what.files, headings.iter().map(|text| format!(", {text}")).collect::<String>());
    let mut chart = Chart {
        title: format!("{}: {} against {}", what.record, what.y, what.x),
        caption,
        x: Axis::over(axis(&what.x), Scale::Linear, all().map(|point| point.0)),
        y: Axis::over(axis(&what.y), Scale::Linear, all().map(|point| point.1).chain([0.0])),
        marks: Vec::new(),
    };
    let mut legend = Vec::new();
    for ((name, points), colour) in lines.into_iter().zip(COLOURS) {
        chart.marks.push(Mark::Track(points, colour));
        if !name.is_empty() {
            legend.push((name, colour));
        }
    }
    Panel { chart, legend }
}

#[cfg(test)]
mod tests {
    use record::{Field, Kind, Writer};

    use super::*;

    #[test]
    fn lines_are_told_apart_and_what_is_unknown_has_no_place() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let fields =
            [("t", "ns"), ("n", ""), ("node", "")].map(|(name, unit)| Field::new(name, Kind::Integer, unit, ""));
        let of = RecordType { name: "A".into(), attributes: vec![], fields: fields.to_vec() };
        let of = writer.define(of).unwrap();
        for values in [[1, 5, 0], [1, -1, 3], [2, 6, 3]] {
            writer.record(of, &values.map(Value::Integer)).unwrap();
        }
        let file = writer.finish().unwrap();
        let what =
            Plot { record: "A".into(), x: "t".into(), y: "n".into(), by: Some("node".into()), files: "f".into() };
        let panel = plot(record::read(&file[..]).unwrap(), &what).unwrap();
        assert_eq!(
            panel.chart.marks,
            [Mark::Track(vec![(1.0, 5.0)], COLOURS[0]), Mark::Track(vec![(2.0, 6.0)], COLOURS[1])]
        );
        assert_eq!((panel.chart.x.label.as_str(), panel.legend.len()), ("t, ns", 2));
    }
}
