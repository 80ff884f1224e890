//! Several files as one, their records in the order of time: a system's measurements and a program's own, of the same run.

use std::io::Write;

use record::{Item, Items, Output, RecordType, Value};

use crate::{Error, Structure};

/// What tells the boot of a file's clock.
const BOOT: &str = "BootId";

/// Says which file what follows is from, until it is said again.
pub(crate) const ORIGIN: &str = "MergedFrom";

/// What was merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// What is in the merged file.
    pub structure: Structure,
    /// Records in all.
    pub n_records: u64,
    /// Records before the first that had a time; they keep their place.
    pub n_without_time: u64,
}

struct Input<'a> {
    items: Items<'a>,
    label: String,
    /// The label, and within a file that was merged itself, that of the file there.
    origin: String,
    /// The number of each of its types in the merged file, and where its time stands.
    types: Vec<(usize, Option<usize>)>,
    ahead: Option<(f64, usize, Vec<Value>)>,
    time: f64,
}

/// Writes the records of all inputs, each with a label, in the order of the first field of `times` that their type has. A type without any
/// of them keeps its place behind what came before it. What files say of themselves is kept under `LABEL.NAME`, and where records come
/// from another file than the one before, `MergedFrom` says from which.
///
/// # Errors
/// Where types of one name differ, boots differ, a file is damaged, or nothing can be written.
pub fn merge<W: Write>(
    inputs: Vec<(String, Items<'_>)>,
    times: &[String],
    out: &mut Output<W>,
) -> Result<Merged, Error> {
    let mut merger = Merger { times, boot: None, origin: String::new(), merged: Merged::default(), out };
    let input = |(label, items): (String, _)| {
        let origin = label.clone();
        Input { items, label, origin, types: Vec::new(), ahead: None, time: f64::NEG_INFINITY }
    };
    let mut inputs: Vec<Input<'_>> = inputs.into_iter().map(input).collect();
    for input in &mut inputs {
        merger.advance(input)?;
    }
    loop {
        let waiting = inputs.iter().enumerate().filter_map(|(i, input)| Some((input.ahead.as_ref()?.0, i)));
        // Ties go to the first input, so that the result is the same every time.
        let Some((_, i)) = waiting.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else { break };
        if let Some((_, of, values)) = inputs[i].ahead.take() {
            merger.say_origin(&inputs[i].origin)?;
            merger.out.record(of, &values)?;
            merger.merged.structure.types[of].1 += 1;
            merger.merged.n_records += 1;
        }
        merger.advance(&mut inputs[i])?;
    }
    Ok(merger.merged)
}

struct Merger<'a, W: Write> {
    times: &'a [String],
    boot: Option<String>,
    origin: String,
    merged: Merged,
    out: &'a mut Output<W>,
}

impl<W: Write> Merger<'_, W> {
    /// Reads on to the next record of an input.
    fn advance(&mut self, input: &mut Input<'_>) -> Result<(), Error> {
        for item in &mut input.items {
            match item? {
                Item::Attribute(name, text) if name == ORIGIN => input.origin = format!("{}.{text}", input.label),
                Item::Attribute(name, text) => {
                    self.say_origin(&input.origin)?;
                    self.attribute(&input.label, &name, &text)?;
                }
                Item::Type(of) => {
                    let time = self.times.iter().find_map(|time| of.position(time));
                    input.types.push((self.define(of)?, time));
                }
                Item::Record { of, values } => {
                    let (of, place) = input.types[of];
                    match place.and_then(|place| values[place].number()) {
                        Some(time) => input.time = time,
                        None => self.merged.n_without_time += u64::from(input.time == f64::NEG_INFINITY),
                    }
                    input.ahead = Some((input.time, of, values));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Says where what follows is from, where that is news.
    fn say_origin(&mut self, origin: &str) -> Result<(), Error> {
        if self.origin != origin {
            self.say(ORIGIN.into(), origin.into())?;
            self.origin = origin.into();
        }
        Ok(())
    }

    fn attribute(&mut self, label: &str, name: &str, text: &str) -> Result<(), Error> {
        // In a file that was merged itself it has labels before it.
        if name.rsplit('.').next() == Some(BOOT) {
            match &self.boot {
                Some(boot) if boot != text => return Err(Error::OtherBoot { one: boot.clone(), other: text.into() }),
                _ => self.boot = Some(text.into()),
            }
        }
        self.say(format!("{label}.{name}"), text.into())
    }

    fn say(&mut self, name: String, text: String) -> Result<(), Error> {
        self.out.attribute(&name, &text)?;
        self.merged.structure.say(name, text);
        Ok(())
    }

    fn define(&mut self, of: RecordType) -> Result<usize, Error> {
        let types = &mut self.merged.structure.types;
        match types.iter().position(|(known, _)| known.name == of.name) {
            Some(number) if types[number].0.fields == of.fields => Ok(number),
            Some(_) => Err(Error::Conflict { name: of.name }),
            None => {
                types.push((of.clone(), 0));
                Ok(self.out.define(of)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{Field, Format, Kind, Writer};

    use super::*;

    fn file(name: &str, boot: &str, times: &[i64]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.attribute("BootId", boot).unwrap();
        let fields = vec![Field::new("start_ns", Kind::Integer, "ns", "")];
        let of = writer.define(RecordType { name: name.into(), attributes: vec![], fields }).unwrap();
        for time in times {
            writer.record(of, &[Value::Integer(*time)]).unwrap();
        }
        writer.finish().unwrap()
    }

    fn merged_file(files: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
        let inputs =
            files.iter().enumerate().map(|(i, file)| (i.to_string(), record::read(&file[..]).unwrap())).collect();
        let mut out = Output::new(Format::Own, Vec::new()).unwrap();
        let Merged { structure, .. } = merge(inputs, &["start_ns".into()], &mut out)?;
        let file = out.finish()?;
        assert_eq!(crate::structure(record::read(&file[..])?).0, structure, "what is in the file is told");
        Ok(file)
    }

    fn merged(files: &[Vec<u8>]) -> Result<Vec<Item>, Error> {
        Ok(record::read(&merged_file(files)?[..])?.collect::<Result<_, _>>()?)
    }

    #[test]
    fn records_of_both_come_in_the_order_of_time() {
        let items = merged(&[file("A", "x", &[1, 5, 9]), file("B", "x", &[2, 5, 6])]).unwrap();
        let records = items.iter().filter_map(|item| match item {
            Item::Record { of, values } => Some((*of, values[0].number().unwrap())),
            _ => None,
        });
        assert_eq!(records.collect::<Vec<_>>(), [(0, 1.0), (1, 2.0), (0, 5.0), (1, 5.0), (1, 6.0), (0, 9.0)]);
        assert!(items.contains(&Item::Attribute("1.BootId".into(), "x".into())));
        let origins = items.iter().filter_map(|item| match item {
            Item::Attribute(name, text) if name == ORIGIN => Some(text.as_str()),
            _ => None,
        });
        // Two for what the files say of themselves, then one wherever the records change over.
        assert_eq!(origins.collect::<Vec<_>>(), ["0", "1", "0", "1", "0", "1", "0"]);
    }

    #[test]
    fn files_whose_times_do_not_compare_are_refused() {
        let error = merged(&[file("A", "x", &[1]), file("B", "y", &[2])]).unwrap_err().to_string();
        assert!(error.contains("different boots (x and y)"), "{error}");
        let both = merged_file(&[file("A", "x", &[1]), file("B", "x", &[2])]).unwrap();
        assert!(merged(&[both, file("C", "y", &[3])]).is_err(), "the boot of a merged file was not seen");
    }
}
