//! What is written is read back.

use proptest::prelude::*;
use record::{Item, Reader, Value, Writer, sddf};

use crate::{file, items, sample, values};

/// The same items in the other format.
fn as_sddf(items: &[Item]) -> Vec<u8> {
    let mut writer = sddf::Writer::new(Vec::new()).unwrap();
    for item in items {
        match item {
            Item::Attribute(name, text) => writer.attribute(name, text).unwrap(),
            Item::Type(of) => assert!(writer.define(of.clone()).is_ok()),
            Item::Record { of, values } => writer.record(*of, values).unwrap(),
        }
    }
    writer.finish().unwrap()
}

#[test]
fn the_own_format_and_sddf_hold_the_same() {
    let own = items(&file()).unwrap();
    assert_eq!(own.len(), 4);
    assert_eq!(own[1], Item::Type(sample()));
    assert_eq!(items(&as_sddf(&own)).unwrap(), own);
}

#[test]
fn sddf_of_other_tools_is_read() {
    let text = "SDDFA\n/*\n * \"creation date\" \"now\"\n */ ;;\n\n#17:\n// \"event\" \"state\"\n\"State\" {\n\
        \t// \"Time\" \"seconds\"\n\tdouble\t\"Seconds\";\n\tint\t\"Node\";\n\tint \"Where\"[];\n\tchar \"Name\"[];\n};;\n\n\
        \"State\" { 1.5e-3, 4, [2] { 7, 8 }, [4] { \"idle\" } };;\n\"State\" { 2, 5, [0] { }, [0] { \"\" } };;\n";
    let items = items(text.as_bytes()).unwrap();
    let expected =
        vec![Value::Real(0.0015), Value::Integer(4), Value::Integers(vec![7, 8]), Value::Text("idle".into())];
    assert_eq!(items[2], Item::Record { of: 0, values: expected });
    let Item::Type(of) = &items[1] else { panic!("{items:?}") };
    assert_eq!((of.name.as_str(), of.fields[0].meaning.as_str()), ("State", "Time: seconds"));
}

proptest! {
    #[test]
    fn any_values_survive_both_formats(n: i64, x in proptest::num::f64::NORMAL | proptest::num::f64::ZERO, who: String, many: Vec<i64>) {
        let mut record = values(n, x, &who);
        record[3] = Value::Integers(many);
        let mut writer = Writer::new(Vec::new()).unwrap();
        let of = writer.define(sample()).unwrap();
        writer.record(of, &record).unwrap();
        let own = items(&writer.finish().unwrap()).unwrap();
        prop_assert_eq!(&own[1], &Item::Record { of: 0, values: record });
        prop_assert_eq!(items(&as_sddf(&own)).unwrap(), own);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, cut in 0usize..400, flip in 0usize..400, with: u8) {
        let mut own = file();
        let mut text = as_sddf(&items(&own).unwrap());
        for file in [&mut own, &mut text] {
            if let Some(byte) = file.get_mut(flip) {
                *byte = with;
            }
            file.truncate(cut.max(8));
            let _ = items(file);
        }
        let _ = items(&bytes);
        let _ = items(&[b"SDDFA\n".to_vec(), bytes.clone()].concat());
        let _ = Reader::new(&[b"FTREC\x01\r\n".to_vec(), bytes].concat()[..]).unwrap().count();
    }
}
