//! Discounted squared error of each member at each lead, and the weights derived from it.

use serde::{Deserialize, Serialize};

use crate::ladder::Ladder;

/// The leads at which members are judged: every lead up to 4, two an octave up to 32, one an octave beyond.
pub(super) const LADDER: Ladder<13> = Ladder::new([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256]);

/// Number of these leads.
const N_LEADS: usize = LADDER.leads.len();

/// Steps after which an error counts for a third, at short leads.
const MEMORY: f64 = 200.0;

/// Memory at long leads, in leads: an error counts for longer there, because neighbouring errors are nearly the same.
const MEMORY_LEADS: f64 = 8.0;

/// The weight of a member goes with this power of one over its mean squared error.
const SHARPNESS: f64 = 12.0;

/// A member that would weigh less is left out.
const WEIGHT_MIN: f64 = 0.02;

/// No squared error counts for more, so that sums of them stay numbers.
const SQUARE_MAX: f64 = 1e300;

/// Forecasts under way and their errors so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    clock: u64,
    n_members: usize,
    /// Means under way, slot after slot: all members, then their combination. NaN where there is none.
    said: Vec<f64>,
    leads: Vec<LeadRecord>,
}

/// One lead of [`LADDER`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LeadRecord {
    /// Discounted mean squared error of each member.
    pub(super) squares: Vec<f64>,
    /// The same of the combination.
    combined_square: f64,
    /// Errors of the combination that count.
    pub(super) n: f64,
    /// Weight of each member; the weights sum to 1, or all are 0 while there is none.
    pub(super) weights: Vec<f64>,
}

impl Record {
    pub(super) fn new(n_members: usize) -> Self {
        let lead =
            LeadRecord { squares: vec![0.0; n_members], combined_square: 0.0, n: 0.0, weights: vec![0.0; n_members] };
        Self {
            clock: 0,
            n_members,
            said: vec![f64::NAN; LADDER.n_slots() * (n_members + 1)],
            leads: vec![lead; N_LEADS],
        }
    }

    /// Returns the weight of the member, for a lead at this place of the ladder.
    pub(super) fn weight(&self, member_idx: usize, (below, share): (usize, f64)) -> f64 {
        self.between(below, share, |lead| lead.weights[member_idx])
    }

    /// Returns the number of leads of the member's forecast that count; beyond these leads the member has no
    /// weight.
    pub(super) fn n_leads_weighed(&self, member_idx: usize) -> usize {
        match self.leads.iter().rposition(|lead| lead.weights[member_idx] > 0.0) {
            None => 0,
            // Its weight goes to 0 on the way to the next watched lead.
            Some(last) => LADDER.leads.get(last + 1).map_or(usize::MAX, |next| next - 1),
        }
    }

    /// One for each lead of the ladder.
    pub(super) fn leads(&self) -> &[LeadRecord] {
        &self.leads
    }

    fn between(&self, below: usize, share: f64, of: impl Fn(&LeadRecord) -> f64) -> f64 {
        let near = of(&self.leads[below]);
        match self.leads.get(below + 1).filter(|_| share > 0.0) {
            Some(above) => near + share * (of(above) - near),
            None => near,
        }
    }

    /// Compares `sample` (NaN in a gap) with what was said of it.
    pub(super) fn score(&mut self, sample: f64) {
        self.clock += 1;
        for due in LADDER.due(self.clock) {
            let width = self.n_members + 1;
            let said = &self.said[due.slot * width..(due.slot + 1) * width];
            let combined = square(sample - said[self.n_members]);
            if combined.is_nan() {
                continue;
            }
            let record = &mut self.leads[due.idx];
            let memory = MEMORY.max(MEMORY_LEADS * due.lead as f64) * due.n_under_way as f64 / due.lead as f64;
            record.n = (record.n + 1.0).min(memory);
            for (mean, said) in record.squares.iter_mut().zip(said) {
                let square = square(sample - said);
                // Who said nothing is taken to have been as wrong as all together, so that joining late is neither a
                // merit nor a fault.
                *mean += (if square.is_nan() { combined } else { square } - *mean) / record.n;
            }
            record.combined_square += (combined - record.combined_square) / record.n;
        }
    }

    /// Weighs the members that have a forecast.
    pub(super) fn weigh(&mut self, is_present: impl Fn(usize) -> bool) {
        self.leads.iter_mut().for_each(|record| record.weigh(&is_present));
    }

    /// Stores the member's forecast made at this step; none if `means` is empty.
    pub(super) fn note(&mut self, member_idx: usize, means: &[f64]) {
        for due in LADDER.due(self.clock) {
            self.said[due.slot * (self.n_members + 1) + member_idx] =
                means.get(due.lead - 1).copied().filter(|mean| mean.is_finite()).unwrap_or(f64::NAN);
        }
    }

    /// Stores the combined forecast of all members, once the forecast of each of them was stored.
    pub(super) fn note_combination(&mut self) {
        let width = self.n_members + 1;
        for due in LADDER.due(self.clock) {
            let weights = &self.leads[due.idx].weights;
            let (said, combined) = self.said[due.slot * width..(due.slot + 1) * width].split_at_mut(self.n_members);
            let speaking = || said.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
            let mean: f64 = speaking().map(|(said, weight)| weight * said).sum();
            combined[0] = if speaking().next().is_some() && mean.is_finite() { mean } else { f64::NAN };
        }
    }

    pub(super) fn n_leads_due(&self) -> usize {
        LADDER.n_leads_due(self.clock)
    }

    /// Whether this is a record of so many members, and could have come about.
    pub(super) fn is_sound(&self, n_members: usize) -> bool {
        self.n_members == n_members
            && self.said.len() == LADDER.n_slots() * (n_members + 1)
            && !self.said.iter().any(|mean| mean.is_infinite())
            && self.leads.len() == N_LEADS
            && self.leads.iter().all(|record| record.is_sound(n_members))
    }
}

impl LeadRecord {
    fn weigh(&mut self, is_present: &impl Fn(usize) -> bool) {
        let present = (0..self.squares.len()).filter(|idx| is_present(*idx));
        let least = present.map(|idx| self.squares[idx]).fold(f64::INFINITY, f64::min);
        // Where the least is 0, only those without an error have any weight.
        let weight = |idx: usize| {
            let square = self.squares[idx];
            if square == least { 1.0 } else { (least / square).powf(SHARPNESS) }
        };
        let mut weights: Vec<f64> =
            (0..self.squares.len()).map(|idx| if is_present(idx) { weight(idx) } else { 0.0 }).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().filter(|weight| **weight < WEIGHT_MIN * sum).for_each(|weight| *weight = 0.0);
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        self.weights = weights;
    }

    fn is_sound(&self, n_members: usize) -> bool {
        let is_square = |square: &f64| (0.0..=SQUARE_MAX).contains(square);
        self.squares.len() == n_members
            && self.weights.len() == n_members
            && self.squares.iter().all(is_square)
            && is_square(&self.combined_square)
            && self.weights.iter().all(|weight| (0.0..=1.0).contains(weight))
            && self.n.is_finite()
            && self.n >= 0.0
    }
}

/// NaN where nothing was said or nothing came.
fn square(error: f64) -> f64 {
    if error.is_nan() { error } else { (error * error).min(SQUARE_MAX) }
}
