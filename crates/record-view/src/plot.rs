//! Fields of records against any other, one line for each value of a third, over bands that say what a program did.

use std::collections::BTreeMap;

use picture::{Axis, Chart, Colour, Mark, Panel, Scale};
use record::{Item, Items, RecordType, Value};

use crate::Error;
use crate::structure::{find, position};

/// Plot to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Types with the field that goes upward; one chart for all of them.
    pub lines: Vec<Line>,
    /// The field to the right, which all of these types have.
    pub x: String,
    /// The field that tells lines of a type apart.
    pub by: Option<String>,
    /// Bands for what a program did meanwhile.
    pub bands: Option<Bands>,
    /// Divide what goes upward by the time that its record is of.
    pub is_share: bool,
    /// The upper end of the axis; what lies above is marked there.
    pub most: Option<f64>,
    /// Names of the files, for the caption.
    pub files: String,
}

/// A field of a type; an array counts as the sum of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The type.
    pub record: String,
    /// The field.
    pub y: String,
}

/// Records whose time begins a band, which the next of them ends; the last one only ends the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bands {
    /// The type.
    pub record: String,
    /// The field that says when.
    pub time: String,
    /// The field that says what begins; bands of the same have one colour.
    pub name: String,
    /// A field and its value, of which alone records count.
    pub of: Option<(String, String)>,
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

/// Share of white in a band's colour, so that lines can be seen on it.
const PALE: f64 = 0.75;

/// Attributes of files that belong above a plot.
const HEADINGS: [&str; 6] = ["Site", "HostName", "System", "Instrument", "BeginDate", "Title"];

/// The ends of the time that a record of the kernel is of.
const SPAN: [&str; 2] = ["start_ns", "end_ns"];

/// Times farther from zero than so many times what they span are counted from the first.
const FAR: f64 = 10.0;
const NS_PER_SEC: f64 = 1e9;

type Points = Vec<(f64, f64)>;

/// Positions of a line's figures in its records.
struct Places {
    x: usize,
    y: usize,
    by: Option<usize>,
    span: Option<[usize; 2]>,
    name: String,
}

/// Positions of a band's figures in its records.
struct BandPlaces {
    of: usize,
    time: usize,
    name: usize,
    filter: Option<usize>,
}

/// Draws it. Values below zero stand for what is not known in counts and times, and have no place.
///
/// # Errors
/// Where a type or a field is not there or holds no numbers, or the file is damaged.
pub fn plot(items: Items<'_>, what: &Plot) -> Result<Panel, Error> {
    let mut found = Found::default();
    for item in items {
        match item? {
            Item::Attribute(name, text) => found.attribute(&name, text),
            Item::Type(of) => found.describe(of, what)?,
            Item::Record { of, values } => found.record(of, &values, what)?,
        }
    }
    for name in what.lines.iter().map(|line| &line.record).chain(what.bands.as_ref().map(|bands| &bands.record)) {
        find(&found.types, name)?;
    }
    Ok(found.panel(what))
}

#[derive(Default)]
struct Found {
    types: Vec<RecordType>,
    /// Places by the number of the type; one type may have several lines.
    places: Vec<(usize, Places)>,
    band_places: Option<BandPlaces>,
    headings: Vec<String>,
    lines: BTreeMap<String, Points>,
    bands: Vec<(f64, String)>,
}

impl Found {
    fn attribute(&mut self, name: &str, text: String) {
        if HEADINGS.contains(&name.rsplit('.').next().unwrap_or(name)) && !self.headings.contains(&text) {
            self.headings.push(text);
        }
    }

    fn describe(&mut self, of: RecordType, what: &Plot) -> Result<(), Error> {
        let number = self.types.len();
        for line in what.lines.iter().filter(|line| line.record == of.name) {
            let by = what.by.as_deref().map(|by| position(&of, by)).transpose()?;
            let span = match what.is_share {
                true => Some([position(&of, SPAN[0])?, position(&of, SPAN[1])?]),
                false => None,
            };
            let name = if what.lines.len() > 1 { format!("{}: {}", line.record, line.y) } else { String::new() };
            let places = Places { x: position(&of, &what.x)?, y: position(&of, &line.y)?, by, span, name };
            self.places.push((number, places));
        }
        if let Some(bands) = what.bands.as_ref().filter(|bands| bands.record == of.name) {
            let filter = bands.of.as_ref().map(|(field, _)| position(&of, field)).transpose()?;
            let (time, name) = (position(&of, &bands.time)?, position(&of, &bands.name)?);
            self.band_places = Some(BandPlaces { of: number, time, name, filter });
        }
        self.types.push(of);
        Ok(())
    }

    fn record(&mut self, of: usize, values: &[Value], what: &Plot) -> Result<(), Error> {
        let fields = &self.types[of].fields;
        let number =
            |place: usize| sum(&values[place]).ok_or_else(|| Error::NotANumber { name: fields[place].name.clone() });
        for (_, places) in self.places.iter().filter(|(number, _)| *number == of) {
            let mut point = (number(places.x)?, number(places.y)?);
            if let Some([start, end]) = places.span {
                point.1 /= (number(end)? - number(start)?).max(1.0);
            }
            let parts = [Some(places.name.clone()), places.by.map(|by| label(&values[by]))];
            let line = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            if point.1 >= 0.0 {
                self.lines.entry(line).or_default().push(point);
            }
        }
        if let Some(places) = self.band_places.as_ref().filter(|places| places.of == of) {
            let wanted = what.bands.as_ref().and_then(|bands| bands.of.as_ref());
            let is_wanted = places.filter.zip(wanted).is_none_or(|(place, (_, value))| label(&values[place]) == *value);
            if is_wanted {
                self.bands.push((number(places.time)?, label(&values[places.name])));
            }
        }
        Ok(())
    }

    fn unit(&self, what: &Plot, name: &str) -> String {
        let types = what.lines.iter().filter_map(|line| self.types.iter().find(|of| of.name == line.record));
        let units = types.filter_map(|of| Some(of.fields[of.position(name)?].unit.as_str()));
        units.into_iter().next().unwrap_or_default().to_owned()
    }

    fn panel(mut self, what: &Plot) -> Panel {
        let x = self.since_the_first(what);
        let y_names: Vec<&str> = what.lines.iter().map(|line| line.y.as_str()).collect();
        let y = match what.is_share {
            true => format!("{} in a unit of time", y_names.join(", ")),
            false => with_unit(&y_names.join(", "), &self.unit(what, y_names.first().unwrap_or(&""))),
        };
        let all = || self.lines.values().flatten();
        let ends = self.bands.iter().map(|(at, _)| *at);
        let x_axis = Axis::over(x, Scale::Linear, all().map(|point| point.0).chain(ends));
        let mut y_axis = Axis::over(y, Scale::Linear, all().map(|point| point.1).chain([0.0]));
        if let Some(most) = what.most {
            y_axis.range = (0.0, most);
        }
        let n_left_out = self.lines.len().saturating_sub(LINES_MAX);
        let left_out = if n_left_out > 0 { format!("; {n_left_out} more lines are not drawn") } else { String::new() };
        let headings: String = self.headings.iter().map(|text| format!(", {text}")).collect();
        let title = what.lines.iter().map(|line| format!("{}: {}", line.record, line.y)).collect::<Vec<_>>();
        let top = y_axis.range.1;
        let mut legend = Vec::new();
        let mut marks = bands(&self.bands, &mut legend);
        for ((name, points), colour) in self.lines.into_iter().zip(COLOURS) {
            marks.extend(points.iter().filter(|point| point.1 > top).map(|point| Mark::Above(point.0, colour)));
            marks.push(Mark::Track(points, colour));
            if !name.is_empty() {
                legend.push((name, colour));
            }
        }
        let chart = Chart {
            title: format!("{} against {}", title.join(", "), what.x),
            caption: format!("{}{headings}{left_out}", what.files),
            x: x_axis,
            y: y_axis,
            marks,
        };
        Panel { chart, legend }
    }

    /// The label of the axis to the right. Times of a clock that has run for long become seconds since the first.
    fn since_the_first(&mut self, what: &Plot) -> String {
        let unit = self.unit(what, &what.x);
        let all = || self.lines.values().flatten().map(|point| point.0).chain(self.bands.iter().map(|(at, _)| *at));
        let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        if unit != "ns" || low.is_nan() || low <= FAR * (high - low) {
            return with_unit(&what.x, &unit);
        }
        let shifted = |at: &mut f64| *at = (*at - low) / NS_PER_SEC;
        self.lines.values_mut().flatten().for_each(|point| shifted(&mut point.0));
        self.bands.iter_mut().for_each(|(at, _)| shifted(at));
        format!("{}, s since {:.6} s", what.x, low / NS_PER_SEC)
    }
}

fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}

/// Bands in the order of time, each to the next record, the last of which begins none; the same things in the same
/// colour.
fn bands(found: &[(f64, String)], legend: &mut Vec<(String, Colour)>) -> Vec<Mark> {
    let mut found = found.to_vec();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut marks = Vec::new();
    for pair in found.windows(2) {
        let [(from, name), (to, _)] = pair else { continue };
        let colour = match legend.iter().find(|(known, _)| known == name) {
            Some((_, colour)) => *colour,
            None => {
                let colour = pale(Colour::APART[legend.len() % Colour::APART.len()]);
                legend.push((name.clone(), colour));
                colour
            }
        };
        marks.push(Mark::Band { from: *from, to: *to, colour });
    }
    marks
}

fn pale(Colour(red, green, blue): Colour) -> Colour {
    let mixed = |part: u8| (f64::from(part) * (1.0 - PALE) + 255.0 * PALE).round() as u8;
    Colour(mixed(red), mixed(green), mixed(blue))
}

fn sum(value: &Value) -> Option<f64> {
    match value {
        Value::Integers(numbers) => Some(numbers.iter().map(|number| *number as f64).sum()),
        Value::Reals(numbers) => Some(numbers.iter().sum()),
        value => value.number(),
    }
}

fn label(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Integers(_) | Value::Reals(_) => "array".into(),
    }
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
        let lines = vec![Line { record: "A".into(), y: "n".into() }];
        let what = Plot { lines, x: "t".into(), by: Some("node".into()), files: "f".into(), ..Plot::default() };
        let panel = plot(record::read(&file[..]).unwrap(), &what).unwrap();
        assert_eq!(
            panel.chart.marks,
            [Mark::Track(vec![(1.0, 5.0)], COLOURS[0]), Mark::Track(vec![(2.0, 6.0)], COLOURS[1])]
        );
        assert_eq!((panel.chart.x.label.as_str(), panel.legend.len()), ("t, ns", 2));
    }

    /// Summaries of two subsystems, and what two ranks did meanwhile.
    fn run() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let whole = |name: &str| Field::new(name, Kind::Integer, "ns", "");
        let define = |writer: &mut Writer<_>, name: &str, fields| {
            writer.define(RecordType { name: name.into(), attributes: vec![], fields }).unwrap()
        };
        let times = Field::new("time", Kind::Integers, "ns", "");
        let cpu = define(&mut writer, "CPU", vec![whole("start_ns"), whole("end_ns"), times]);
        let vm = define(&mut writer, "VM", vec![whole("start_ns"), whole("end_ns"), whole("faults")]);
        let event = Field::new("event", Kind::Text, "", "");
        let trace = define(&mut writer, "trace", vec![whole("at_ns"), whole("rank"), event]);
        const BOOT: i64 = 1_000_000_000_000;
        for (at, busy, faults) in [(0, 600, 100), (1000, 2000, 3000)] {
            let ends = [BOOT + at, BOOT + at + 1000].map(Value::Integer);
            writer.record(cpu, &[&ends[..], &[Value::Integers(vec![busy / 2, busy / 2])]].concat()).unwrap();
            writer.record(vm, &[&ends[..], &[Value::Integer(faults)]].concat()).unwrap();
        }
        for (at, rank, event) in
            [(0, 0, "read"), (100, 1, "read"), (500, 0, "sort"), (1500, 0, "read"), (2000, 0, "end")]
        {
            let values = [Value::Integer(BOOT + at), Value::Integer(rank), Value::Text(event.into())];
            writer.record(trace, &values).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn phases_are_bands_under_shares_of_time_and_what_is_off_the_axis_is_marked() {
        let file = run();
        let line = |record: &str, y: &str| Line { record: record.into(), y: y.into() };
        let what = Plot {
            lines: vec![line("CPU", "time"), line("VM", "faults")],
            x: "end_ns".into(),
            bands: Some(Bands {
                record: "trace".into(),
                time: "at_ns".into(),
                name: "event".into(),
                of: Some(("rank".into(), "0".into())),
            }),
            is_share: true,
            most: Some(2.0),
            ..Plot::default()
        };
        let panel = plot(record::read(&file[..]).unwrap(), &what).unwrap();
        let names: Vec<&str> = panel.legend.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["read", "sort", "CPU: time", "VM: faults"]);
        // Seconds since the first time, as the clock has run for long.
        let micro = |n: f64| n * 1e-6;
        let (read, sort) = (panel.legend[0].1, panel.legend[1].1);
        let band = |from, to, colour| Mark::Band { from, to, colour };
        assert_eq!(
            panel.chart.marks[..3],
            [band(0.0, micro(0.5), read), band(micro(0.5), micro(1.5), sort), band(micro(1.5), micro(2.0), read),]
        );
        let track = |points: [(f64, f64); 2], colour| Mark::Track(points.to_vec(), colour);
        assert_eq!(panel.chart.marks[3], track([(micro(1.0), 0.6), (micro(2.0), 2.0)], COLOURS[0]));
        assert_eq!(panel.chart.marks[4], Mark::Above(micro(2.0), COLOURS[1]));
        assert_eq!(panel.chart.marks[5], track([(micro(1.0), 0.1), (micro(2.0), 3.0)], COLOURS[1]));
        assert_eq!(panel.chart.x.label, "end_ns, s since 1000.000000 s");
    }

    #[test]
    fn what_bands_lack_is_told() {
        let file = run();
        let bands = |record: &str, name: &str| {
            let (record, time, name) = (record.into(), "at_ns".into(), name.into());
            let lines = vec![Line { record: "VM".into(), y: "faults".into() }];
            let bands = Some(Bands { record, time, name, of: None });
            let what = Plot { lines, x: "end_ns".into(), bands, ..Plot::default() };
            plot(record::read(&file[..]).unwrap(), &what).unwrap_err().to_string()
        };
        assert!(bands("sort-trace", "event").contains("`sort-trace`"));
        assert!(bands("trace", "what").contains("at_ns, rank, event"));
    }
}
