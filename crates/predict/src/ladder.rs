//! The lead times at which errors are watched, and the forecasts under way that they need.

/// Lead times that are watched: the forecasts of every step at the short ones, fewer at the long ones, where those of
/// neighbouring steps say nearly the same and cost the most.
#[derive(Debug)]
pub(crate) struct Ladder<const N: usize> {
    /// Ascending from 1.
    pub(crate) leads: [usize; N],
    /// Forecasts of each lead that are under way at once.
    n_under_way: [usize; N],
}

/// Every lead up to 32, because errors of neighbouring leads differ where a series is periodic, and one an octave
/// beyond.
pub(crate) const DENSE: Ladder<35> = Ladder::new([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
    32, 64, 128, 256,
]);

/// Up to this lead, the forecast of every step is watched.
const EVERY_STEP_MAX: usize = 32;

/// Beyond [`EVERY_STEP_MAX`], as many forecasts are under way at once.
const N_UNDER_WAY_LONG: usize = 8;

impl<const N: usize> Ladder<N> {
    pub(crate) const fn new(leads: [usize; N]) -> Self {
        let mut n_under_way = leads;
        let mut idx = 0;
        while idx < N {
            if leads[idx] > EVERY_STEP_MAX {
                assert!(leads[idx].is_multiple_of(N_UNDER_WAY_LONG));
                n_under_way[idx] = N_UNDER_WAY_LONG;
            }
            idx += 1;
        }
        Self { leads, n_under_way }
    }

    /// Forecasts under way at once of the lead at this place.
    pub(crate) fn n_under_way(&self, idx: usize) -> usize {
        self.n_under_way[idx]
    }

    /// Forecasts under way at once, over all leads.
    pub(crate) fn n_slots(&self) -> usize {
        self.n_under_way.iter().sum()
    }

    /// The leads to be watched at step `clock`.
    pub(crate) fn due(&self, clock: u64) -> impl Iterator<Item = Due> {
        let mut first = 0;
        self.leads.into_iter().zip(self.n_under_way).enumerate().filter_map(move |(idx, (lead, n_under_way))| {
            let spacing = (lead / n_under_way) as u64;
            let slot = first + (clock / spacing % n_under_way as u64) as usize;
            first += n_under_way;
            clock.is_multiple_of(spacing).then_some(Due { idx, lead, slot, n_under_way })
        })
    }

    /// Returns the length that a forecast must have at step `clock`, so that all leads that are due are in it.
    pub(crate) fn n_leads_due(&self, clock: u64) -> usize {
        let spacing = |idx: usize| (self.leads[idx] / self.n_under_way[idx]) as u64;
        (0..N).rev().find(|idx| clock.is_multiple_of(spacing(*idx))).map_or(0, |idx| self.leads[idx])
    }

    /// Returns the place of `lead` between watched leads: the index of the one at or below it, and the share of the way
    /// to the next. Beyond the last there is no further way.
    pub(crate) fn place(&self, lead: usize) -> (usize, f64) {
        let below = self.leads.partition_point(|watched| *watched <= lead).saturating_sub(1);
        match self.leads.get(below + 1) {
            Some(above) => (below, (lead - self.leads[below]) as f64 / (above - self.leads[below]) as f64),
            None => (below, 0.0),
        }
    }
}

/// A lead that is watched at a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// Its place on the ladder.
    pub(crate) idx: usize,
    pub(crate) lead: usize,
    /// Slot of the forecast made `lead` steps ago, which the forecast made at this step replaces.
    pub(crate) slot: usize,
    pub(crate) n_under_way: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_a_slot_was_put_there_one_lead_ago() {
        let mut put_at = vec![None; DENSE.n_slots()];
        let mut n_checked = 0;
        for clock in 0..1000_u64 {
            for due in DENSE.due(clock) {
                assert!(due.lead <= DENSE.n_leads_due(clock));
                if let Some(put_at) = put_at[due.slot] {
                    assert_eq!(clock - put_at, due.lead as u64);
                    n_checked += 1;
                }
                put_at[due.slot] = Some(clock);
            }
        }
        assert!(n_checked > 10_000);
    }

    #[test]
    fn a_lead_lies_between_its_neighbours() {
        assert_eq!(
            [1, 5, 32, 48, 256, 9999].map(|lead| DENSE.place(lead)),
            [(0, 0.0), (4, 0.0), (31, 0.0), (31, 0.5), (34, 0.0), (34, 0.0)]
        );
    }
}
