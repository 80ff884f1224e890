//! Messages of ranks in a conditional allreduce, in words of 8 bytes. All ranks are of one machine type, as for MPI's
//! bytes.

use mpi_tree::{Answer, Fault, Published};

const PUBLISHED_BYTES: usize = 40;
pub(super) const ANSWER_BYTES: usize = 24;

pub(super) fn published(told: &Published) -> [u8; PUBLISHED_BYTES] {
    let words =
        [told.epoch, told.sequence, told.value.to_bits(), told.closing.to_bits(), told.fault.map_or(0, fault_word)];
    bytes(words)
}

/// None for what nobody sends.
pub(super) fn read_published(bytes: &[u8]) -> Option<Published> {
    let [epoch, sequence, value, closing, fault] = words(bytes)?;
    let (value, closing) = (f64::from_bits(value), f64::from_bits(closing));
    let fault = if fault == 0 { None } else { Some(read_fault(fault)?) };
    Some(Published { epoch, sequence, value, closing, fault })
}

/// Returns the message of a cluster's server to its ranks.
pub(super) fn answered(answered: Result<Answer, Fault>) -> [u8; ANSWER_BYTES] {
    bytes(match answered {
        Ok(answer) => [0, u64::from(answer.verdict) | u64::from(answer.is_exact) << 1, answer.value.to_bits()],
        Err(fault) => [fault_word(fault), 0, 0],
    })
}

pub(super) fn read_answered(bytes: &[u8]) -> Option<Result<Answer, Fault>> {
    let [fault, truths, value] = words(bytes)?;
    if fault != 0 {
        return read_fault(fault).map(Err);
    }
    Some(Ok(Answer { verdict: truths & 1 != 0, value: f64::from_bits(value), is_exact: truths & 2 != 0 }))
}

/// The kind in the low byte, then the cluster.
fn fault_word(fault: Fault) -> u64 {
    let (kind, cluster) = match fault {
        Fault::Value { cluster } => (1, cluster),
        Fault::Vanished { cluster } => (2, cluster),
        Fault::Disagreement { cluster } => (3, cluster),
        _ => unreachable!("there are no other faults"),
    };
    kind | (cluster as u64) << 8
}

fn read_fault(word: u64) -> Option<Fault> {
    let cluster = (word >> 8) as usize;
    match word & 0xff {
        1 => Some(Fault::Value { cluster }),
        2 => Some(Fault::Vanished { cluster }),
        3 => Some(Fault::Disagreement { cluster }),
        _ => None,
    }
}

fn bytes<const N: usize, const BYTES: usize>(words: [u64; N]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_ne_bytes());
    bytes
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (words, rest) = bytes.as_chunks();
    let words: &[[u8; 8]; N] = words.try_into().ok().filter(|_| rest.is_empty())?;
    Some(words.map(u64::from_ne_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read() {
        for fault in [None, Some(Fault::Value { cluster: 3 }), Some(Fault::Vanished { cluster: 300 })] {
            let told = Published { epoch: 2, sequence: u64::MAX, value: -0.25, closing: 1e-300, fault };
            assert_eq!(read_published(&published(&told)), Some(told));
        }
        let answer = Answer { verdict: true, value: 0.5, is_exact: false };
        for told in [Ok(answer), Ok(Answer { is_exact: true, ..answer }), Err(Fault::Disagreement { cluster: 0 })] {
            assert_eq!(read_answered(&answered(told)), Some(told));
        }
        assert_eq!((read_published(&[0; 39]), read_answered(&[9; ANSWER_BYTES])), (None, None));
    }
}
