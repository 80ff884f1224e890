//! One file as several, the inverse of a merge: each record goes to one part, as it was, with what its file said of
//! itself.

use std::collections::BTreeMap;
use std::io::{self, Write};

use record::{Format, Item, Items, Output, RecordType, Value};

use crate::merge::ORIGIN;
use crate::{Error, Structure};

/// Criterion that separates the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// The file that a merged record is from.
    File,
    /// The text of the record in a field, else that of its file in an attribute.
    About {
        /// A field, such as `host`.
        field: String,
        /// An attribute, such as `HostName`.
        attribute: String,
    },
    /// The type.
    Record,
    /// The time, in spans that begin with the first record's. A record without a time goes with the one before it.
    Time {
        /// The first of these that a type has is its time.
        fields: Vec<String>,
        /// The length of a span.
        span_ns: u64,
    },
}

/// A part that is written.
#[derive(Debug)]
pub struct Part<W> {
    /// Value that its records have in common; empty if the file has none.
    pub name: String,
    /// Contents of the part.
    pub structure: Structure,
    /// Output to which the part was written.
    pub out: W,
}

/// All parts, and why there is no more in the file where it is damaged.
pub type Parts<W> = (Vec<Part<W>>, Result<(), Error>);

/// More parts than a process may have files open are a mistake.
pub const PARTS_MAX: usize = 512;

/// Writes each record to the part that it belongs to, in the order of the file; `open` gives what a part is written to.
/// A part has the types that it has records of. Parts are finished before an error of the file comes back, so that they
/// hold what is whole in it.
///
/// # Errors
/// Where the file is damaged, a time has no unit that spans can be measured in, there are more than [`PARTS_MAX`]
/// parts, or one of them cannot be written.
pub fn split<W: Write>(
    items: Items<'_>,
    by: &By,
    format: Format,
    mut open: impl FnMut(&str) -> io::Result<W>,
) -> Result<Parts<W>, Error> {
    let mut open = |part: &str| -> Result<_, Error> { Ok(Output::new(format, open(part).map_err(Error::Open)?)?) };
    let mut splitter = Splitter::new(by);
    let mut read = Ok(());
    for item in items {
        match item {
            Ok(Item::Attribute(name, text)) => splitter.attribute(name, text),
            Ok(Item::Type(of)) => splitter.types.push(of),
            Ok(Item::Record { of, values }) => splitter.record(of, &values, &mut open)?,
            Err(error) => read = Err(error.into()),
        }
    }
    let finished =
        |(name, part): (String, Open<W>)| Ok(Part { name, structure: part.structure, out: part.out.finish()? });
    let parts = splitter.parts.into_iter().map(finished).collect::<Result<_, Error>>()?;
    Ok((parts, read))
}

struct Splitter<'a, W: Write> {
    by: &'a By,
    types: Vec<RecordType>,
    /// The file that what comes next is from; empty where nothing was merged.
    origin: String,
    about: Vec<About>,
    first_ns: Option<f64>,
    span: i64,
    parts: BTreeMap<String, Open<W>>,
}

/// Statement of a file about itself.
struct About {
    origin: String,
    name: String,
    text: String,
}

struct Open<W: Write> {
    out: Output<W>,
    structure: Structure,
    /// The number that each type of the file has here.
    types: BTreeMap<usize, usize>,
    /// Numbers of statements about each file that stand here already.
    told: BTreeMap<String, usize>,
    origin: String,
}

impl<'a, W: Write> Splitter<'a, W> {
    fn new(by: &'a By) -> Self {
        let (types, about, parts) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { by, types, origin: String::new(), about, first_ns: None, span: 0, parts }
    }

    fn attribute(&mut self, name: String, text: String) {
        if name == ORIGIN {
            self.origin = text;
            return;
        }
        let own = name.strip_prefix(&self.origin).and_then(|name| name.strip_prefix('.'));
        let (origin, name) = match own {
            Some(own) if !self.origin.is_empty() => (self.origin.clone(), own.to_owned()),
            _ => (String::new(), name),
        };
        self.about.push(About { origin, name, text });
    }

    fn record(
        &mut self,
        of: usize,
        values: &[Value],
        open: &mut impl FnMut(&str) -> Result<Output<W>, Error>,
    ) -> Result<(), Error> {
        let name = self.name(of, values)?;
        if !self.parts.contains_key(&name) {
            if self.parts.len() == PARTS_MAX {
                return Err(Error::TooManyParts { most: PARTS_MAX });
            }
            self.parts.insert(name.clone(), Open::new(open(&name)?));
        }
        let part = self.parts.get_mut(&name).expect("it is there now");
        part.tell("", &self.about, self.by)?;
        part.tell(&self.origin, &self.about, self.by)?;
        part.record(of, &self.types[of], values)
    }

    /// The part that a record belongs to.
    fn name(&mut self, of: usize, values: &[Value]) -> Result<String, Error> {
        Ok(match self.by {
            By::File => self.origin.clone(),
            By::Record => self.types[of].name.clone(),
            By::About { field, attribute } => match self.types[of].position(field).map(|place| &values[place]) {
                Some(Value::Text(text)) => text.clone(),
                _ => self.said(attribute).unwrap_or_default().to_owned(),
            },
            By::Time { fields, span_ns } => {
                if let Some(at_ns) = time_ns(&self.types[of], values, fields)? {
                    let first_ns = *self.first_ns.get_or_insert(at_ns);
                    self.span = ((at_ns - first_ns) / (*span_ns).max(1) as f64).floor() as i64;
                }
                format!("{:04}", self.span)
            }
        })
    }

    /// Returns the attribute of the record's file, else that of the whole.
    fn said(&self, attribute: &str) -> Option<&str> {
        let of = |origin: &str| self.about.iter().rev().find(|about| about.origin == origin && about.name == attribute);
        of(&self.origin).or_else(|| of("")).map(|about| about.text.as_str())
    }
}

/// Returns the time of a record in nanoseconds, if the type has a time and the record a number for it.
fn time_ns(of: &RecordType, values: &[Value], fields: &[String]) -> Result<Option<f64>, Error> {
    let Some(place) = fields.iter().find_map(|field| of.position(field)) else { return Ok(None) };
    let field = &of.fields[place];
    let unit_ns = match field.unit.as_str() {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" | "seconds" => 1e9,
        unit => return Err(Error::NoUnitOfTime { name: field.name.clone(), unit: unit.into() }),
    };
    Ok(values[place].number().map(|number| number * unit_ns))
}

impl<W: Write> Open<W> {
    fn new(out: Output<W>) -> Self {
        let (structure, types, told) = (Structure::default(), BTreeMap::new(), BTreeMap::new());
        Self { out, structure, types, told, origin: String::new() }
    }

    /// Writes what is not yet said here of a file, and that what follows is from it. A file that is a part again says
    /// it as it once did.
    fn tell(&mut self, origin: &str, about: &[About], by: &By) -> Result<(), Error> {
        let is_merged = *by != By::File && !origin.is_empty();
        if is_merged && self.origin != origin {
            self.out.attribute(ORIGIN, origin)?;
            self.origin = origin.into();
        }
        let n_told = self.told.entry(origin.into()).or_default();
        for about in &about[*n_told..] {
            if about.origin == origin {
                let name = if is_merged { format!("{origin}.{}", about.name) } else { about.name.clone() };
                self.out.attribute(&name, &about.text)?;
                self.structure.attributes.push((name, about.text.clone()));
            }
        }
        *n_told = about.len();
        Ok(())
    }

    fn record(&mut self, of: usize, described: &RecordType, values: &[Value]) -> Result<(), Error> {
        let number = match self.types.get(&of) {
            Some(number) => *number,
            None => {
                let number = self.out.define(described.clone())?;
                self.structure.types.push((described.clone(), 0));
                self.types.insert(of, number);
                number
            }
        };
        self.structure.types[number].1 += 1;
        Ok(self.out.record(number, values)?)
    }
}

#[cfg(test)]
mod tests {
    use record::{Field, Kind, Writer};

    use super::*;
    use crate::{Input, merge};

    const TIMES: [&str; 2] = ["start_ns", "at_ns"];

    /// A file of a host, with records of two types, the second with a name.
    fn file(host: &str, times: &[i64]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.attribute("HostName", host).unwrap();
        writer.attribute("Instrument", "kernel").unwrap();
        let time = |name| Field::new(name, Kind::Integer, "ns", "");
        let types = [vec![time("start_ns")], vec![time("at_ns"), Field::new("who", Kind::Text, "", "")]];
        let types = ["Summary", "Event"]
            .into_iter()
            .zip(types)
            .map(|(name, fields)| writer.define(RecordType { name: name.into(), attributes: vec![], fields }).unwrap());
        let types: Vec<usize> = types.collect();
        for time in times {
            writer.record(types[0], &[Value::Integer(*time)]).unwrap();
            writer.record(types[1], &[Value::Integer(*time), Value::Text(host.into())]).unwrap();
        }
        writer.finish().unwrap()
    }

    fn items(file: &[u8]) -> Items<'_> {
        record::read(file).unwrap()
    }

    fn merged(files: &[(&str, &[u8])]) -> Vec<u8> {
        let inputs = files.iter().map(|(label, file)| Input::of(label, file)).collect();
        let mut out = Output::new(Format::Own, Vec::new()).unwrap();
        merge(inputs, &TIMES.map(str::to_owned), &mut out).unwrap();
        out.finish().unwrap()
    }

    fn parts(file: &[u8], by: &By) -> Vec<(String, Vec<u8>, u64)> {
        let (parts, read) = split(items(file), by, Format::Own, |_| Ok(Vec::new())).unwrap();
        read.unwrap();
        let n_records = |part: &Part<_>| part.structure.types.iter().map(|(_, n)| n).sum();
        parts.into_iter().map(|part| (part.name.clone(), part.out.clone(), n_records(&part))).collect()
    }

    fn about(field: &str, attribute: &str) -> By {
        By::About { field: field.into(), attribute: attribute.into() }
    }

    #[test]
    fn parts_by_file_are_the_files_that_were_merged() {
        let (one, other) = (file("a", &[1, 5, 9]), file("b", &[2, 5, 7]));
        let third = file("c", &[3]);
        let both = merged(&[("one", &one), ("other", &other)]);
        let all = merged(&[("both", &both), ("third", &third)]);
        let found = parts(&all, &By::File);
        let expected = [("both.one", one), ("both.other", other), ("third", third)];
        assert_eq!(found.len(), expected.len());
        // A type comes before its first record, which is later than it did.
        let sorted = |file: &[u8]| {
            let mut items: Vec<Item> = items(file).map(Result::unwrap).collect();
            items.sort_by_key(|item| matches!(item, Item::Record { .. }));
            items
        };
        for ((name, file, _), (expected_name, expected)) in found.iter().zip(&expected) {
            assert_eq!(name, expected_name);
            assert_eq!(sorted(file), sorted(expected), "{name} is not as it was");
        }
    }

    #[test]
    fn every_record_is_in_one_part() {
        let all = merged(&[("one", &file("a", &[1, 5, 9])), ("other", &file("b", &[2, 5, 7]))]);
        let time = |span_ns| By::Time { fields: TIMES.map(str::to_owned).to_vec(), span_ns };
        let cases = [
            (By::File, &[("one", 6), ("other", 6)][..]),
            (about("host", "HostName"), &[("a", 6), ("b", 6)]),
            (about("who", "HostName"), &[("a", 6), ("b", 6)]),
            (about("instrument", "Instrument"), &[("kernel", 12)]),
            (about("instrument", "Site"), &[("", 12)]),
            (By::Record, &[("Event", 6), ("Summary", 6)]),
            (time(4), &[("0000", 4), ("0001", 6), ("0002", 2)]),
        ];
        for (by, expected) in cases {
            let found = parts(&all, &by);
            let found: Vec<(&str, u64)> = found.iter().map(|(name, _, n)| (name.as_str(), *n)).collect();
            assert_eq!(found, expected, "{by:?}");
        }
    }

    #[test]
    fn parts_of_a_merged_file_merge_into_it_again() {
        let all = merged(&[("one", &file("a", &[1, 5, 9])), ("other", &file("b", &[2, 6, 7]))]);
        let [a, b] = &parts(&all, &about("host", "HostName"))[..] else { panic!("two hosts") };
        // What is said of the other host does not stand in a part.
        let said = items(&a.1).filter_map(|item| match item.unwrap() {
            Item::Attribute(name, text) => Some((name, text)),
            _ => None,
        });
        let said: Vec<_> = said.collect();
        let said: Vec<_> = said.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(said, [(ORIGIN, "one"), ("one.HostName", "a"), ("one.Instrument", "kernel")]);
        let again = merged(&[("a", &a.1), ("b", &b.1)]);
        let records = |file: &[u8]| -> Vec<Item> {
            items(file).map(Result::unwrap).filter(|item| matches!(item, Item::Record { .. })).collect()
        };
        assert_eq!(records(&again), records(&all));
    }

    #[test]
    fn of_a_cut_file_parts_hold_what_is_whole() {
        let whole = file("a", &[1, 2, 3]);
        let cut = items(&whole[..whole.len() - 30]);
        let (parts, read) = split(cut, &By::Record, Format::Sddf, |_| Ok(Vec::new())).unwrap();
        assert!(read.unwrap_err().to_string().contains("is cut"));
        assert_eq!(parts.iter().map(|part| part.structure.types[0].1).collect::<Vec<_>>(), [2, 3]);
        assert!(parts.iter().all(|part| items(&part.out).all(|item| item.is_ok())));
    }

    #[test]
    fn spans_of_what_is_no_time_and_parts_without_end_are_refused() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let fields = vec![Field::new("at", Kind::Integer, "bytes", ""), Field::new("who", Kind::Text, "", "")];
        let of = writer.define(RecordType { name: "A".into(), attributes: vec![], fields }).unwrap();
        for i in 0..=PARTS_MAX {
            writer.record(of, &[Value::Integer(1), Value::Text(i.to_string())]).unwrap();
        }
        let file = writer.finish().unwrap();
        let refused = |by| split(items(&file), &by, Format::Own, |_| Ok(Vec::new())).unwrap_err().to_string();
        let told = refused(By::Time { fields: vec!["at".into()], span_ns: 1 });
        assert!(told.contains("`at`") && told.contains("`bytes`"), "{told}");
        assert!(refused(about("who", "")).contains("more than 512 parts"));
    }
}
