//! Any bytes are a file of records up to where they are damaged, and what was read is written and read as the same, in
//! both formats.

use record::{Error, Format, Item, MAGIC, Output};
use record_view::{By, Clock, Input, Structure, merge, split};

const KINDS: &[u8; 4] = b"ATRE";
const VERSION_AND_NEWLINE: &[u8; 3] = b"\x01\r\n";

/// The first byte says how the rest is to be taken: as a file as it is (0), as blocks of the own format (1), or as SDDF
/// behind its first word (2). Blocks are framed with the right checksums, which would keep what is interesting out;
/// each begins with its kind and length.
///
/// Returns whether there was a record in it.
///
/// # Panics
/// When items read back as others, or a split or merge loses some.
pub fn record_file(bytes: &[u8]) -> bool {
    let Some((choice, rest)) = bytes.split_first() else {
        return false;
    };
    let file = match choice {
        1 => framed(rest),
        2 => [b"SDDFA\n", rest].concat(),
        _ => rest.to_vec(),
    };
    let (items, error) = read(&file);
    assert!(error.is_none_or(|error| !error.to_string().is_empty()), "refused without a reason");
    for format in [Format::Own, Format::Sddf] {
        let mut output = Output::new(format, Vec::new()).expect("memory takes everything");
        items.iter().try_for_each(|item| output.item(item)).expect("what was read can be written");
        let written = output.finish().expect("memory takes everything");
        let (again, error) = read(&written);
        assert!(error.is_none(), "what was written is damaged: {error:?}");
        // As text, so that what is not a number is equal to itself.
        assert_eq!(format!("{again:?}"), format!("{items:?}"), "items read back as others in {format:?}");
    }
    let is_record = |item: &&Item| matches!(item, Item::Record { .. });
    let n_records = items.iter().filter(is_record).count() as u64;
    let input =
        |label: &str, clock| Input { label: label.into(), clock, items: Box::new(items.clone().into_iter().map(Ok)) };
    let mut output = Output::new(Format::Own, Vec::new()).expect("memory takes everything");
    let times = ["start_ns".to_owned(), "at_ns".to_owned()];
    let both = vec![input("known", clock(false, rest)), input("received", clock(true, rest))];
    let merged = merge(both, &times, &mut output).expect("the clocks compare");
    assert_eq!(merged.n_records, 2 * n_records, "records were lost on the way into one file");
    let whole = Box::new(items.into_iter().map(Ok));
    let (parts, _) = split(whole, &By::Record, Format::Own, |_| Ok(Vec::new())).expect("memory takes everything");
    let n_split: u64 = parts.iter().flat_map(|part| &part.structure.types).map(|(_, n)| n).sum();
    assert_eq!(n_split, n_records, "records were lost on the way into parts");
    n_records > 0
}

/// The clock of a receiver, or of a file that it received, with any figures.
fn clock(is_received: bool, bytes: &[u8]) -> Clock {
    let figure = |at: usize| {
        let mut figure = [0; 8];
        figure.iter_mut().zip(bytes.iter().skip(8 * at)).for_each(|(to, from)| *to = *from);
        figure
    };
    let said = [
        ("BootId", if is_received { "other" } else { "receiver" }.to_owned()),
        ("ReceiverBootId", "receiver".to_owned()),
        ("ReceiverOffset_ns", i64::from_le_bytes(figure(0)).to_string()),
        ("ReceiverOffsetAt_ns", i64::from_le_bytes(figure(1)).to_string()),
        ("ReceiverOffsetBound_ns", "1".to_owned()),
        ("ReceiverDrift_ppb", f64::from(i32::from_le_bytes([2, 3, 4, 5].map(|at| figure(2)[at]))).to_string()),
        ("ReceiverDriftBound_ppb", "1".to_owned()),
    ];
    let attributes = said.map(|(name, text)| (name.to_owned(), text)).to_vec();
    Clock::of(&Structure { attributes, types: Vec::new() })
}

/// Returns the items that can be read, and the error that ended the reading, if any.
fn read(file: &[u8]) -> (Vec<Item>, Option<Error>) {
    let mut items = Vec::new();
    match record::read(file) {
        Err(error) => (items, Some(error)),
        Ok(mut found) => {
            let result = found.try_for_each(|item| item.map(|item| items.push(item)));
            (items, result.err())
        }
    }
}

fn framed(mut payloads: &[u8]) -> Vec<u8> {
    let mut file = [&MAGIC[..], VERSION_AND_NEWLINE].concat();
    while let Some((&[kind, length], rest)) = payloads.split_first_chunk() {
        let (payload, rest) = rest.split_at(usize::from(length).min(rest.len()));
        let start = file.len();
        file.push(KINDS[usize::from(kind) % KINDS.len()]);
        file.extend((payload.len() as u32).to_le_bytes());
        file.extend(payload);
        let sum = crc32fast::hash(&file[start..]);
        file.extend(sum.to_le_bytes());
        payloads = rest;
    }
    file
}
