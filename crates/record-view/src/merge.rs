//! Several files as one, their records in the order of time: a system's measurements and a program's own, of the same
//! run.

use std::io::Write;

use record::{Item, Items, Output, RecordType, Value};

use crate::clock::{Shift, moments};
use crate::{Clock, Error, Structure};

/// Says which file what follows is from, until it is said again.
pub(crate) const ORIGIN: &str = "MergedFrom";

/// Result of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Structure of the merged file.
    pub structure: Structure,
    /// Records in all.
    pub n_records: u64,
    /// Records before the first that had a time; they keep their place.
    pub n_without_time: u64,
}

/// A file to be merged.
pub struct Input<'a> {
    /// Name of the file in the merged file.
    pub label: String,
    /// Clock of the file. Statements about it may stand at the end of the file, so that they are read before.
    pub clock: Clock,
    /// Contents of the file.
    pub items: Items<'a>,
}

struct Source<'a> {
    items: Items<'a>,
    label: String,
    /// Shift to the clock of the first file, if that is another.
    shift: Option<Shift>,
    /// The label, and within a file that was merged itself, that of the file there.
    origin: String,
    /// The number of each of its types in the merged file, where its time stands, and all its moments.
    types: Vec<(usize, Option<usize>, Vec<usize>)>,
    ahead: Option<(f64, usize, Vec<Value>)>,
    time: f64,
}

/// Writes the records of all inputs, each with a label, in the order of the first field of `times` that their type has.
/// A type without any of them keeps its place behind what came before it. What files say of themselves is kept under
/// `LABEL.NAME`, and where records come from another file than the one before, `MergedFrom` says from which.
///
/// All times are on the clock of the first input that says of which boot it is. Moments of files of other boots are
/// moved to that clock, where a receiver has compared the two: fields in nanoseconds among `times`, or called
/// `start_ns`, `end_ns` or `at_ns`, whatever stands before an underscore. `LABEL.MovedToBootId` and
/// `LABEL.MovedBound_ns` say so, and by how much a time that was moved may be wrong.
///
/// # Errors
/// Where types of one name differ, clocks do not compare, a file is damaged, or nothing can be written.
pub fn merge<W: Write>(inputs: Vec<Input<'_>>, times: &[String], out: &mut Output<W>) -> Result<Merged, Error> {
    let first = inputs.iter().find(|input| input.clock.boot.is_some());
    let first = first.map(|first| (first.clock.clone(), first.label.clone())).unwrap_or_default();
    let mut merger = Merger { times, origin: String::new(), merged: Merged::default(), out };
    let source = |Input { label, clock, items }| {
        let shift = clock.shift(&label, &first.0, &first.1)?;
        let origin = label.clone();
        Ok(Source { items, label, shift, origin, types: Vec::new(), ahead: None, time: f64::NEG_INFINITY })
    };
    let mut inputs = inputs.into_iter().map(source).collect::<Result<Vec<_>, Error>>()?;
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
    for Source { label, shift, .. } in inputs {
        if let Some(shift) = shift {
            merger.say(format!("{label}.MovedBound_ns"), format!("{:.0}", shift.worst_ns()))?;
            merger.say(format!("{label}.MovedToBootId"), shift.to)?;
        }
    }
    Ok(merger.merged)
}

struct Merger<'a, W: Write> {
    times: &'a [String],
    origin: String,
    merged: Merged,
    out: &'a mut Output<W>,
}

impl<W: Write> Merger<'_, W> {
    /// Reads on to the next record of an input.
    fn advance(&mut self, input: &mut Source<'_>) -> Result<(), Error> {
        for item in &mut input.items {
            match item? {
                Item::Attribute(name, text) if name == ORIGIN => input.origin = format!("{}.{text}", input.label),
                Item::Attribute(name, text) => {
                    self.say_origin(&input.origin)?;
                    self.say(format!("{}.{name}", input.label), text)?;
                }
                Item::Type(of) => {
                    let time = self.times.iter().find_map(|time| of.position(time));
                    let moments = moments(&of, self.times);
                    input.types.push((self.define(of)?, time, moments));
                }
                Item::Record { of, mut values } => {
                    let (of, place, moments) = &input.types[of];
                    if let Some(shift) = &mut input.shift {
                        shift.apply(moments, &mut values);
                    }
                    match place.and_then(|place| values[place].number()) {
                        Some(time) => input.time = time,
                        None => self.merged.n_without_time += u64::from(input.time == f64::NEG_INFINITY),
                    }
                    input.ahead = Some((input.time, *of, values));
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
        received(name, boot, times, &[])
    }

    /// And this it says at its end.
    fn received(name: &str, boot: &str, times: &[i64], said: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.attribute("BootId", boot).unwrap();
        let fields = vec![Field::new("start_ns", Kind::Integer, "ns", "")];
        let of = writer.define(RecordType { name: name.into(), attributes: vec![], fields }).unwrap();
        for time in times {
            writer.record(of, &[Value::Integer(*time)]).unwrap();
        }
        for (name, text) in said {
            writer.attribute(name, text).unwrap();
        }
        writer.finish().unwrap()
    }

    impl<'a> Input<'a> {
        pub(crate) fn of(label: &str, file: &'a [u8]) -> Self {
            let clock = Clock::of(&crate::structure(record::read(file).unwrap()).0);
            Self { label: label.into(), clock, items: record::read(file).unwrap() }
        }
    }

    fn merged_file(files: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
        let inputs = files.iter().enumerate().map(|(i, file)| Input::of(&i.to_string(), file)).collect();
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
    fn files_of_two_hosts_are_in_order_on_the_clock_of_the_first_with_a_bound() {
        let said = [
            ("ReceiverBootId", "x"),
            ("ReceiverOffset_ns", "-1000"),
            ("ReceiverOffsetBound_ns", "20"),
            ("ReceiverOffsetAt_ns", "1005"),
            ("ReceiverDrift_ppb", "0"),
            ("ReceiverDriftBound_ppb", "0"),
        ];
        let other = received("B", "y", &[1002, 1008], &said);
        let both = merged_file(&[file("A", "x", &[1, 5, 9]), other]).unwrap();
        let items: Vec<Item> = record::read(&both[..]).unwrap().collect::<Result<_, _>>().unwrap();
        let times = items.iter().filter_map(|item| match item {
            Item::Record { values, .. } => values[0].number(),
            _ => None,
        });
        assert_eq!(times.collect::<Vec<_>>(), [1.0, 2.0, 5.0, 8.0, 9.0]);
        for (name, text) in [("1.MovedToBootId", "x"), ("1.MovedBound_ns", "20")] {
            assert!(items.contains(&Item::Attribute(name.into(), text.into())), "{name}");
        }
        // The clock of a merged file is that of its first.
        assert!(merged(&[both.clone(), file("C", "x", &[3])]).is_ok());
        assert!(merged(&[both, file("C", "y", &[3])]).is_err());
    }

    #[test]
    fn files_whose_times_do_not_compare_are_refused() {
        let error = merged(&[file("A", "x", &[1]), file("B", "y", &[2])]).unwrap_err().to_string();
        assert!(error.starts_with("`1` is of boot y and `0` of x"), "{error}");
        let both = merged_file(&[file("A", "x", &[1]), file("B", "x", &[2])]).unwrap();
        assert!(merged(&[both, file("C", "y", &[3])]).is_err(), "the boot of a merged file was not seen");
    }
}
