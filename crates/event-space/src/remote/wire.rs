//! The form of results on the wire: little-endian, without names.

use bytes::{Buf, BufMut, BytesMut};
use mpi_trace::{Operation, Record};

use crate::{Counts, Quantity, Spent, StageFigures, Tuple};

/// Something that travels between monitors.
pub trait Wire: Sized + Send + 'static {
    /// Appends its bytes.
    fn put(&self, out: &mut BytesMut);

    /// Takes its bytes from the front; none when these are not its bytes.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// 28 bytes: host, rank and the record; an event that takes two records takes twice as many.
impl Wire for Tuple {
    fn put(&self, out: &mut BytesMut) {
        let (extension, record) = self.event.to_records();
        for record in extension.into_iter().chain([record]) {
            out.put_u16_le(self.host);
            // Trees have no ranks beyond 65,535.
            out.put_u16_le(self.rank as u16);
            record.0.into_iter().for_each(|word| out.put_u64_le(word));
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let mut next = || -> Option<(u16, u32, Record)> {
            let (host, rank) = (from.try_get_u16_le().ok()?, from.try_get_u16_le().ok()?);
            let mut record = Record::default();
            for word in &mut record.0 {
                *word = from.try_get_u64_le().ok()?;
            }
            Some((host, rank.into(), record))
        };
        let (host, rank, first) = next()?;
        let event = if first.is_extension() { next()?.2.event(Some(&first)) } else { first.event(None) };
        Some(Self { host, rank, event: event? })
    }
}

/// 12 bytes, and 4 for each contributor, as in the paper.
impl Wire for Counts {
    fn put(&self, out: &mut BytesMut) {
        out.put_u16_le(self.host);
        // The collectors of a tree are numbered by 16 bits.
        out.put_u16_le(self.counts.len() as u16);
        out.put_u64_le(self.number);
        self.counts.iter().for_each(|count| out.put_u32_le(*count));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (host, n) = (from.try_get_u16_le().ok()?, from.try_get_u16_le().ok()?);
        let number = from.try_get_u64_le().ok()?;
        let counts = (0..n).map(|_| from.try_get_u32_le().ok()).collect::<Option<_>>()?;
        Some(Self { host, number, counts })
    }
}

/// 29 bytes.
impl Wire for StageFigures {
    fn put(&self, out: &mut BytesMut) {
        out.put_u8(self.of as u8);
        out.put_u16_le(self.node);
        out.put_u16_le(self.position);
        out.put_u32_le(self.n_calls);
        for figure in [self.mean_ns, self.min_ns, self.max_ns, self.deviation_ns, self.median_last_ns] {
            out.put_f32_le(figure);
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let of = *Quantity::ALL.get(usize::from(from.try_get_u8().ok()?))?;
        let (node, position) = (from.try_get_u16_le().ok()?, from.try_get_u16_le().ok()?);
        let n_calls = from.try_get_u32_le().ok()?;
        let mut figure = || from.try_get_f32_le().ok();
        Some(Self {
            of,
            node,
            position,
            n_calls,
            mean_ns: figure()?,
            min_ns: figure()?,
            max_ns: figure()?,
            deviation_ns: figure()?,
            median_last_ns: figure()?,
        })
    }
}

/// 19 bytes.
impl Wire for Spent {
    fn put(&self, out: &mut BytesMut) {
        out.put_u16_le(self.rank as u16);
        out.put_u8(self.operation.code());
        out.put_u64_le(self.n_calls);
        out.put_u64_le(self.ns);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let rank = from.try_get_u16_le().ok()?.into();
        let operation = Operation::of_code(from.try_get_u8().ok()?)?;
        Some(Self { rank, operation, n_calls: from.try_get_u64_le().ok()?, ns: from.try_get_u64_le().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use mpi_trace::{Event, Peer, Subject};

    use super::*;

    #[track_caller]
    fn check<T: Wire + PartialEq + std::fmt::Debug>(item: T, n_bytes: usize) {
        let mut bytes = BytesMut::new();
        item.put(&mut bytes);
        assert_eq!(bytes.len(), n_bytes);
        for cut in 0..n_bytes {
            assert_eq!(T::take(&mut &bytes[..cut]), None, "{cut} bytes pass for {n_bytes}");
        }
        let mut rest = &bytes[..];
        assert_eq!((T::take(&mut rest), rest.len()), (Some(item), 0));
    }

    #[test]
    fn results_come_back_and_have_the_sizes_of_the_papers() {
        let event = |bytes, subject| Event {
            start: 5,
            end: 9,
            bytes,
            operation: Operation::BARRIER,
            is_failed: false,
            subject,
        };
        let stage = Subject::Stage { collector: 56, sequence: u32::MAX };
        check(Tuple { host: 7, rank: 48, event: event(8, stage) }, 28);
        let call = Subject::Call { communicator: 1, peer: Peer::Rank(3), tag: Some(-1) };
        check(Tuple { host: 7, rank: 0xffff, event: event(1 << 40, call) }, 56);
        check(Counts { host: 7, number: 1 << 40, counts: (0..8).collect() }, 44);
        check(Spent { rank: 3, operation: Operation::ALLREDUCE, n_calls: 1, ns: u64::MAX }, 19);
        for of in Quantity::ALL {
            let figures = StageFigures {
                of,
                node: 1,
                position: 2,
                n_calls: 3,
                mean_ns: 4.5,
                min_ns: 1.0,
                max_ns: 9.0,
                deviation_ns: 0.5,
                median_last_ns: 4.0,
            };
            check(figures, 29);
        }
    }

    #[test]
    fn bytes_of_nothing_are_no_results() {
        assert_eq!(Tuple::take(&mut &[0xff; 28][..]), None, "an operation that does not exist");
        assert_eq!(StageFigures::take(&mut &[7; 29][..]), None);
        assert_eq!(Spent::take(&mut &[0xff; 19][..]), None);
    }
}
