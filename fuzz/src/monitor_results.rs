//! Results from monitors of other hosts.

use bytes::BytesMut;
use event_space::{Counts, Spent, StageFigures, Tuple, Wire};

/// The bytes are results of one kind, one after the other; each that can be read is written so that it reads the same.
///
/// Returns whether they could be results of each kind.
///
/// # Panics
/// When a result is written otherwise than it was read.
pub fn monitor_results(bytes: &[u8]) -> bool {
    let n_read = [check::<Tuple>(bytes), check::<Counts>(bytes), check::<StageFigures>(bytes), check::<Spent>(bytes)];
    n_read.iter().all(|n| *n > 0)
}

/// Gives how many there were.
fn check<T: Wire>(mut bytes: &[u8]) -> usize {
    let mut n = 0;
    while let Some(item) = T::take(&mut bytes) {
        let (mut written, mut again) = (BytesMut::new(), BytesMut::new());
        item.put(&mut written);
        let mut rest = &written[..];
        T::take(&mut rest).expect("what was written can be read").put(&mut again);
        assert!(rest.is_empty() && written == again, "a result reads otherwise than it was written");
        n += 1;
    }
    n
}
