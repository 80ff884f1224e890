//! Growth and use of a store, period by period: the traffic, the part of it that was known, and the age of that part.

/// The number of periods that are kept. When there are more, each two become one, so that old periods are coarse.
const N_PERIODS: usize = 512;
/// Classes of ages.
pub const N_AGES: usize = 32;

/// Traffic that passed an end during a period; who keeps the store counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that were given to be sent.
    pub given_bytes: u64,
    /// Bytes among them that were known.
    pub matched_bytes: u64,
    /// Bytes of groups that were sent for them.
    pub sent_bytes: u64,
    /// Bytes that were received.
    pub received_bytes: u64,
    /// Bytes of groups that came for them.
    pub came_bytes: u64,
}

/// A period, and the store at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// When it began, in nanoseconds of wall time (UTC).
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// The traffic.
    pub traffic: Traffic,
    /// Bytes that the store appended.
    pub appended_bytes: u64,
    /// Bytes on disk at its end.
    pub disk_bytes: u64,
    /// The ages of the data that were found: entry `i` counts those with 2^(16+i) to 2^(17+i) bytes written since, and
    /// the first one also those with fewer.
    pub ages: [u64; N_AGES],
}

/// The periods that are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Growth(Vec<Period>);

impl Growth {
    pub fn periods(&self) -> &[Period] {
        &self.0
    }

    pub fn push(&mut self, period: Period) {
        if self.0.len() == N_PERIODS {
            self.0 = self.0.chunks(2).map(merged).collect();
        }
        self.0.push(period);
    }
}

impl Period {
    const N_NUMBERS: usize = 9 + N_AGES;

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let Traffic { given_bytes, matched_bytes, sent_bytes, received_bytes, came_bytes } = self.traffic;
        let times = [self.begin_ns, self.end_ns].map(i64::cast_unsigned);
        let bytes = [given_bytes, matched_bytes, sent_bytes, received_bytes, came_bytes];
        let store = [self.appended_bytes, self.disk_bytes];
        for number in times.iter().chain(&bytes).chain(&store).chain(&self.ages) {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(crate) fn take(rest: &mut &[u8]) -> Option<Self> {
        let (bytes, after) = rest.split_at_checked(Self::N_NUMBERS * 8)?;
        *rest = after;
        let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let &[
            begin,
            end,
            given_bytes,
            matched_bytes,
            sent_bytes,
            received_bytes,
            came_bytes,
            appended_bytes,
            disk_bytes,
            ref ages @ ..,
        ] = &numbers[..]
        else {
            return None;
        };
        Some(Self {
            begin_ns: begin.cast_signed(),
            end_ns: end.cast_signed(),
            traffic: Traffic { given_bytes, matched_bytes, sent_bytes, received_bytes, came_bytes },
            appended_bytes,
            disk_bytes,
            ages: ages.try_into().ok()?,
        })
    }
}

/// One period in place of one or two that follow each other.
fn merged(periods: &[Period]) -> Period {
    let [first, .., last] = periods else { return periods[0] };
    let sum = |one: fn(&Traffic) -> u64| one(&first.traffic).saturating_add(one(&last.traffic));
    Period {
        begin_ns: first.begin_ns,
        end_ns: last.end_ns,
        traffic: Traffic {
            given_bytes: sum(|traffic| traffic.given_bytes),
            matched_bytes: sum(|traffic| traffic.matched_bytes),
            sent_bytes: sum(|traffic| traffic.sent_bytes),
            received_bytes: sum(|traffic| traffic.received_bytes),
            came_bytes: sum(|traffic| traffic.came_bytes),
        },
        appended_bytes: first.appended_bytes.saturating_add(last.appended_bytes),
        disk_bytes: last.disk_bytes,
        ages: std::array::from_fn(|i| first.ages[i].saturating_add(last.ages[i])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_were_a_few_tell_all_of_it() {
        let mut growth = Growth::default();
        for i in 0..5_000 {
            let mut period =
                Period { begin_ns: i, end_ns: i + 1, appended_bytes: 3, disk_bytes: i as u64, ..Period::default() };
            (period.traffic.sent_bytes, period.ages[4]) = (2, 1);
            growth.push(period);
        }
        let periods = growth.periods();
        assert!(periods.len() <= N_PERIODS);
        assert!(periods.windows(2).all(|pair| pair[0].end_ns == pair[1].begin_ns));
        assert_eq!((periods[0].begin_ns, periods[periods.len() - 1].disk_bytes), (0, 4_999));
        let total = |one: fn(&Period) -> u64| periods.iter().map(one).sum::<u64>();
        assert_eq!(total(|period| period.appended_bytes), 15_000);
        assert_eq!((total(|period| period.traffic.sent_bytes), total(|period| period.ages[4])), (10_000, 5_000));
    }

    #[test]
    fn a_period_comes_back_from_bytes() {
        let period = Period { begin_ns: -1, end_ns: 7, appended_bytes: 9, ages: [5; N_AGES], ..Period::default() };
        let mut bytes = Vec::new();
        period.put(&mut bytes);
        assert_eq!(Period::take(&mut &bytes[..]), Some(period));
        assert_eq!(Period::take(&mut &bytes[1..]), None);
    }
}
