//! Any bytes are a group of redundancy elimination, or are refused; what is handed on has the hash that came with it.

use dedup::{Decoded, Decoder, Encoder, Flow, MemoryHistory, Packing, RunId, Settings};

/// The first byte says how much of the rest is known to both ends before; all of it is then sent, and read as a group
/// as well.
///
/// Returns whether some of it was sent as a match.
///
/// # Panics
/// When what arrives is not what was sent, or a hash is guessed.
pub fn dedup_group(bytes: &[u8]) -> bool {
    let Some((&choice, rest)) = bytes.split_first() else {
        return false;
    };
    let settings = Settings { anchor_bits: 1 + u32::from(choice % 8), packing: Packing::Plain, ..Settings::default() };
    let run = RunId([1; 16]);
    let [mut sent, mut received] = [(); 2].map(|()| MemoryHistory::new(settings.gear()));
    let mut encoder = Encoder::new(settings, &mut sent, run);
    let mut decoder = Decoder::new(settings, &mut received, run);
    let (mut outbound, mut inbound) = (Flow::default(), Flow::default());
    let n_known = rest.len() * usize::from(choice) / 255;
    for part in [&rest[..n_known], rest, rest] {
        let mut group = Vec::new();
        encoder.encode(&mut sent, &mut outbound, part, &mut group);
        match decoder.decode(&mut received, &mut inbound, &group) {
            Ok(Decoded::Whole(arrived)) => assert!(arrived == part, "other bytes arrived"),
            other => panic!("what was sent did not arrive: {other:?}"),
        }
    }
    match decoder.decode(&mut received, &mut inbound, rest) {
        Ok(Decoded::Whole(arrived)) => panic!("a hash of {} bytes was guessed", arrived.len()),
        Ok(Decoded::Lacking(lacking)) => {
            assert!(lacking.ranges().iter().all(|range| !range.is_empty()) || lacking.is_collision());
        }
        Err(_) => {}
    }
    encoder.tally().n_matches > 0
}
