//! Summaries of the events between two readings, and since the first.

use std::collections::{BTreeMap, VecDeque};

use crate::{Counters, Error, N_RANGES, Reading, Subsystem, Timing};

/// Length of the sliding averages, which are over the intervals that began within it.
const SLIDING_NS: u64 = 60_000_000_000;

/// Events of an interval in figures; `None` if the arm does not have the figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Events that ended in it.
    pub count: Option<u64>,
    /// Number of these events that were looked at.
    pub sampled: u64,
    /// Time of the events that ended in it, also the time before it began.
    pub time_ns: Option<u64>,
    /// Bytes asked for.
    pub asked: Option<u64>,
    /// Bytes returned.
    pub returned: Option<u64>,
    /// The shortest event.
    pub min_ns: Option<u64>,
    /// The longest event.
    pub max_ns: Option<u64>,
    /// Number of events that took from 2^i ns to twice as long.
    pub ranges: Option<[u32; N_RANGES]>,
    /// Events for each second over the last minute.
    pub sliding_per_sec: Option<f64>,
    /// Their mean length of time over the last minute.
    pub sliding_mean_ns: Option<f64>,
    /// Events since the account began.
    pub life_count: Option<u64>,
    /// Their mean length of time.
    pub life_mean_ns: Option<f64>,
}

/// A point in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointSummary {
    /// Its number in the subsystem.
    pub point: usize,
    /// Figures of all size groups together.
    pub all: Figures,
    /// Figures by size group, or processor.
    pub groups: BTreeMap<usize, Figures>,
    /// Time that its operations took within the interval: what reaches beyond either end is left out.
    pub within_ns: Option<u64>,
    /// Time for which at least one operation was on its way.
    pub busy_ns: Option<u64>,
    /// Mean number of operations on their way.
    pub concurrency: Option<f64>,
}

/// A subsystem in an interval.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The subsystem.
    pub subsystem: &'static Subsystem,
    /// Begin of the interval, on the monotonic clock.
    pub start_ns: u64,
    /// End of the interval, on the monotonic clock.
    pub end_ns: u64,
    /// All points, in order.
    pub points: Vec<PointSummary>,
    /// Times that each program ran.
    pub hits: Vec<u64>,
    /// Events looked at.
    pub n_sampled: u64,
    /// Records of traced points that were made, since the first reading.
    pub records_made: u64,
    /// Records that found no room in the ring, in the interval.
    pub records_dropped: u64,
    /// Records that found no room in the ring, since the first reading.
    pub life_dropped: u64,
    /// Number of things that were not seen, by name.
    pub lost: BTreeMap<&'static str, u64>,
    /// Totals that came out below their parts, in words.
    pub contradictions: Vec<String>,
}

/// Turns readings of a subsystem into summaries.
#[derive(Debug)]
pub struct Account {
    subsystem: &'static Subsystem,
    first: Reading,
    last: Reading,
    sliding: VecDeque<Reading>,
}

impl Account {
    /// Begins with this reading.
    #[must_use]
    pub fn begin(subsystem: &'static Subsystem, reading: Reading) -> Self {
        Self { subsystem, sliding: [reading.clone()].into(), last: reading.clone(), first: reading }
    }

    /// Summarizes the events from the previous reading to this one.
    ///
    /// # Errors
    /// None so far; arms that lose readings will have some.
    pub fn advance(&mut self, reading: Reading) -> Result<Summary, Error> {
        while self.sliding.len() > 1 && reading.at_ns.saturating_sub(self.sliding[0].at_ns) > SLIDING_NS {
            self.sliding.pop_front();
        }
        let points = (0..self.subsystem.points.len()).map(|point| self.point(point, &reading)).collect();
        let mut summary = Summary {
            subsystem: self.subsystem,
            start_ns: self.last.at_ns,
            end_ns: reading.at_ns,
            points,
            hits: differences(&self.last.hits, &reading.hits),
            n_sampled: reading.n_sampled().saturating_sub(self.last.n_sampled()),
            records_made: reading.records_made - self.first.records_made,
            records_dropped: reading.records_dropped - self.last.records_dropped,
            life_dropped: reading.records_dropped - self.first.records_dropped,
            lost: reading
                .lost
                .iter()
                .map(|(name, n)| (*name, n.saturating_sub(*self.last.lost.get(name).unwrap_or(&0))))
                .collect(),
            contradictions: Vec::new(),
        };
        summary.contradictions = contradictions(self.subsystem, &reading);
        self.sliding.push_back(reading.clone());
        self.last = reading;
        Ok(summary)
    }

    /// Summarizes an interval in which probes were off but for its first moment: no figures, because those of a moment
    /// say nothing of the interval. Sliding averages begin again.
    ///
    /// # Errors
    /// As [`Account::advance`].
    pub fn skip(&mut self, reading: Reading) -> Result<Summary, Error> {
        let mut summary = self.advance(reading)?;
        for point in &mut summary.points {
            *point = PointSummary { point: point.point, ..PointSummary::default() };
        }
        self.sliding = [self.last.clone()].into();
        Ok(summary)
    }

    fn point(&self, point: usize, reading: &Reading) -> PointSummary {
        let keys = || reading.cells.range((point, 0)..(point + 1, 0)).map(|(key, _)| *key);
        let groups: BTreeMap<usize, Figures> =
            keys().map(|key| (key.1, self.figures(&[key], reading))).filter(|(_, figures)| has_any(figures)).collect();
        let mut summary = PointSummary {
            point,
            all: self.figures(&keys().collect::<Vec<_>>(), reading),
            groups,
            within_ns: None,
            busy_ns: None,
            concurrency: None,
        };
        if let Some(flight) = reading.flights.get(&point) {
            let before = self.last.flights.get(&point).copied().unwrap_or_default();
            let ended = summary.all.time_ns.unwrap_or(0);
            let within = (ended + flight.accrued_ns(reading.at_ns)).saturating_sub(before.accrued_ns(self.last.at_ns));
            summary.within_ns = Some(within);
            summary.busy_ns = Some(flight.busy_ns.saturating_sub(before.busy_ns));
            summary.concurrency = Some(within as f64 / reading.at_ns.saturating_sub(self.last.at_ns).max(1) as f64);
        }
        summary
    }

    fn figures(&self, keys: &[(usize, usize)], reading: &Reading) -> Figures {
        let (now, last) = (sum(keys, reading), sum(keys, &self.last));
        let (old, first) = (sum(keys, &self.sliding[0]), sum(keys, &self.first));
        let since = |then: &Counters| (less(now.count, then.count), less(now.time_ns, then.time_ns));
        let mean = |(count, time_ns): (Option<u64>, Option<u64>)| match (count, time_ns) {
            (Some(count), Some(time_ns)) if count > 0 => Some(time_ns as f64 / count as f64),
            _ => None,
        };
        let seconds = reading.at_ns.saturating_sub(self.sliding[0].at_ns).max(1) as f64 / 1e9;
        Figures {
            count: less(now.count, last.count),
            sampled: now.sampled.saturating_sub(last.sampled),
            time_ns: less(now.time_ns, last.time_ns),
            asked: less(now.asked, last.asked),
            returned: less(now.returned, last.returned),
            min_ns: now.min_ns,
            max_ns: now.max_ns,
            ranges: now.ranges.map(|ranges| {
                let before = last.ranges.unwrap_or([0; N_RANGES]);
                std::array::from_fn(|i| ranges[i].wrapping_sub(before[i]))
            }),
            sliding_per_sec: since(&old).0.map(|count| count as f64 / seconds),
            sliding_mean_ns: mean(since(&old)),
            life_count: since(&first).0,
            life_mean_ns: mean(since(&first)),
        }
    }
}

fn has_any(figures: &Figures) -> bool {
    figures.life_count.is_some_and(|count| count > 0) || figures.time_ns.is_some_and(|time| time > 0)
}

fn less(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before.unwrap_or(0)))
}

fn differences(before: &[u64], now: &[u64]) -> Vec<u64> {
    now.iter().enumerate().map(|(i, n)| n.saturating_sub(*before.get(i).unwrap_or(&0))).collect()
}

/// Adds up the counters of these cells.
fn sum(keys: &[(usize, usize)], reading: &Reading) -> Counters {
    let mut sum = Counters::default();
    for cell in keys.iter().filter_map(|key| reading.cells.get(key)) {
        let add = |a: Option<u64>, b: Option<u64>| {
            if a.is_none() && b.is_none() { None } else { Some(a.unwrap_or(0) + b.unwrap_or(0)) }
        };
        sum.count = add(sum.count, cell.count);
        sum.sampled += cell.sampled;
        sum.time_ns = add(sum.time_ns, cell.time_ns);
        sum.asked = add(sum.asked, cell.asked);
        sum.returned = add(sum.returned, cell.returned);
        sum.min_ns = sum.min_ns.into_iter().chain(cell.min_ns).min();
        sum.max_ns = sum.max_ns.max(cell.max_ns);
        if let Some(ranges) = cell.ranges {
            let so_far = sum.ranges.get_or_insert([0; N_RANGES]);
            so_far.iter_mut().zip(ranges).for_each(|(a, b)| *a = a.wrapping_add(b));
        }
    }
    sum
}

/// Returns the totals below their parts. Arms read parts first, so that events meanwhile can only make a total greater.
fn contradictions(subsystem: &Subsystem, reading: &Reading) -> Vec<String> {
    let count =
        |point: usize| reading.cells.range((point, 0)..(point + 1, 0)).filter_map(|(_, cell)| cell.count).sum::<u64>();
    let check = |total: &crate::Total| {
        let (whole, parts) = (count(total.point), total.parts.iter().map(|part| count(*part)).sum::<u64>());
        let label = subsystem.points[total.point].label;
        (parts > whole).then(|| format!("{label}: {whole} together, {parts} by kind"))
    };
    subsystem.totals.iter().filter_map(check).collect()
}

impl Summary {
    /// Returns the length of the interval.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Whether this point has events, or spent time, of its own.
    #[must_use]
    pub fn is_quiet(&self, point: &PointSummary) -> bool {
        let has_time = self.subsystem.points[point.point].timing == Timing::Spent;
        !has_time && point.all.count.unwrap_or(0) == 0 && point.within_ns.unwrap_or(0) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flight, find};

    fn reading(at_ns: u64, count: u64, time_ns: u64, flight: Flight) -> Reading {
        let cell = Counters { count: Some(count), sampled: count, time_ns: Some(time_ns), ..Counters::default() };
        Reading { at_ns, cells: [((0, 1), cell)].into(), flights: [(0, flight)].into(), ..Reading::default() }
    }

    #[test]
    fn an_operation_longer_than_the_interval_fills_it_and_no_more() {
        // It begins at 2 s and takes 10 s; readings are 5 s apart.
        let s = 1_000_000_000;
        let flying = |busy_ns| Flight { begun: 1, begun_ns: 2 * s, busy_ns, ..Flight::default() };
        let landed = Flight { ended: 1, ended_ns: 2 * s, ..flying(10 * s) };
        let mut account = Account::begin(find("fs").unwrap(), reading(0, 0, 0, Flight::default()));
        let within: Vec<_> = [(5, 0, 0, flying(3 * s)), (10, 0, 0, flying(8 * s)), (15, 1, 10 * s, landed)]
            .into_iter()
            .map(|(at, count, time, flight)| {
                let summary = account.advance(reading(at * s, count, time, flight)).unwrap();
                let read = &summary.points[0];
                (read.within_ns.unwrap() / s, read.busy_ns.unwrap() / s, read.all.count.unwrap())
            })
            .collect();
        assert_eq!(within, [(3, 3, 0), (5, 5, 0), (2, 2, 1)]);
    }

    #[test]
    fn sliding_averages_forget_and_those_of_a_life_do_not() {
        let s = 1_000_000_000;
        let mut account = Account::begin(find("fs").unwrap(), reading(0, 0, 0, Flight::default()));
        account.advance(reading(50 * s, 10, 1000, Flight::default())).unwrap();
        let summary = account.advance(reading(100 * s, 20, 5000, Flight::default())).unwrap();
        let all = &summary.points[0].all;
        assert_eq!((all.count, all.life_count), (Some(10), Some(20)));
        assert_eq!((all.sliding_mean_ns, all.life_mean_ns), (Some(400.0), Some(250.0)));
        assert_eq!(all.sliding_per_sec, Some(0.2));
    }

    #[test]
    fn a_skipped_interval_has_no_figures_and_is_in_no_average() {
        let s = 1_000_000_000;
        let mut account = Account::begin(find("fs").unwrap(), reading(0, 0, 0, Flight::default()));
        let skipped = account.skip(reading(10 * s, 6, 1000, Flight::default())).unwrap();
        assert_eq!(skipped.points[0], PointSummary::default());
        let summary = account.advance(reading(20 * s, 106, 5000, Flight::default())).unwrap();
        let all = &summary.points[0].all;
        assert_eq!((all.count, all.sliding_per_sec), (Some(100), Some(10.0)));
    }

    #[test]
    fn a_total_below_its_parts_is_told() {
        let vm = find("vm").unwrap();
        let cell = |count| Counters { count: Some(count), ..Counters::default() };
        let cells = [((11, 0), cell(7)), ((18, 0), cell(5))];
        let mut account = Account::begin(vm, Reading::default());
        let summary = account.advance(Reading { at_ns: 1, cells: cells.into(), ..Reading::default() }).unwrap();
        assert_eq!(summary.contradictions, ["all faults: 5 together, 7 by kind"]);
    }
}
