//! What is wrong with a file is told, with its place.

use record::{Error, Format, Output, Value, Writer};

use crate::{file, items, sample, values};

#[test]
fn every_cut_is_told() {
    let whole = file();
    assert!(items(&whole).is_ok());
    for n in 0..whole.len() {
        let error = items(&whole[..n]).unwrap_err();
        let is_told = match n {
            0..8 => matches!(error, Error::Foreign),
            _ => matches!(error, Error::Cut { offset } | Error::Unfinished { offset } if offset == n as u64),
        };
        assert!(is_told, "{n} bytes: {error}");
    }
}

#[test]
fn a_changed_byte_is_told() {
    for place in 8..file().len() {
        let mut changed = file();
        changed[place] ^= 0x20;
        assert!(items(&changed).is_err(), "byte {place}");
    }
}

#[test]
fn another_version_is_told_by_its_number() {
    let mut later = file();
    later[5] = 9;
    assert!(matches!(items(&later), Err(Error::Version { found: 9, known: 1 })));
}

#[test]
fn sddf_in_binary_is_refused_by_name() {
    let Err(error) = items(b"SDDFB\x00\x01") else { panic!("it was read") };
    assert!(error.to_string().contains("SDDF in binary"), "{error}");
}

#[test]
fn values_that_do_not_suit_are_not_written() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let of = writer.define(sample()).unwrap();
    let mut wrong = values(1, 1.0, "");
    wrong[0] = Value::Real(1.0);
    let error = writer.record(of, &wrong).unwrap_err().to_string();
    assert!(error.contains("`n` holds Integer, not Real"), "{error}");
    assert!(writer.record(of, &wrong[..2]).is_err());
}

#[test]
fn names_that_are_there_already_are_refused_in_both_formats() {
    for format in [Format::Own, Format::Sddf] {
        let mut output = Output::new(format, Vec::new()).unwrap();
        output.define(sample()).unwrap();
        let error = output.define(sample()).unwrap_err().to_string();
        assert!(error.contains("the type `VM \"Summary\"` is described twice"), "{error}");
        let mut other = sample();
        other.name = "other".into();
        other.fields[1].name = "n".into();
        let error = output.define(other).unwrap_err().to_string();
        assert!(error.contains("the field `n` is described twice"), "{error}");
    }
    // A writer that does not look would write the type's block again.
    let file = file();
    let of = file.windows(5).position(|bytes| bytes[0] == b'T' && bytes[3..] == [0, 0]).unwrap();
    let length = u32::from_le_bytes(file[of + 1..of + 5].try_into().unwrap()) as usize;
    let block = &file[of..of + 5 + length + 4];
    let error = items(&[&file[..of], block, block].concat()).unwrap_err();
    assert!(matches!(error, Error::Twice { what: "type", .. }), "{error}");
}

#[test]
fn a_record_that_no_reader_would_take_is_not_written() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let of = writer.define(sample()).unwrap();
    let mut long = values(1, 1.0, "");
    long[3] = Value::Integers(vec![0; 2 << 20]);
    let error = writer.record(of, &long).unwrap_err();
    assert!(matches!(error, Error::TooLong { most: 16_777_216, .. }), "{error}");
    // What comes after it is whole.
    writer.record(of, &values(2, 1.0, "")).unwrap();
    assert_eq!(items(&writer.finish().unwrap()).unwrap().len(), 2);
}

#[test]
fn of_a_long_text_in_a_wrong_place_the_beginning_is_told() {
    let text = format!("SDDFA\n#\"{}\"", "ä".repeat(1 << 20));
    let error = items(text.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("line 2: Text(\"ää") && error.len() < 1000, "{error}");
}

#[track_caller]
fn check_sddf(record: &str, part: &str) {
    let text = format!("SDDFA\n#1:\n\"A\" {{\n  int \"n\";\n  int \"m\"[];\n}};;\n{record}");
    let error = items(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn headers_that_lie_are_told_with_their_line() {
    check_sddf("\"A\" { 1, [3] { 1, 2 } };;", "line 7: Mark(\"}\") where `,` belongs");
    check_sddf("\"A\" { 1, [1] { 1, 2 } };;", "where `}` belongs");
    check_sddf("\"A\" { 1, [99999999999] { } };;", "99999999999 items");
    check_sddf("\"B\" { 1 };;", "whose type was not described");
    check_sddf("\"A\" { 1.5, [0] { } };;", "`1.5` where a number of another kind belongs");
    check_sddf("\"A\" { 1, [1] {", "the file is cut");
    check_sddf("#2:\n\"A\" { int \"n\"; };;", "described twice");
}
