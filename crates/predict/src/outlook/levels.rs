//! Reconciliation of one series in steps of several lengths, until its forecasts agree (temporal hierarchies,
//! Athanasopoulos et al. 2017).

use super::Outlook;
use super::forecast::between;
use super::rung::Rung;
use super::view::OutlookView;

/// The past of a series in steps of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// The outlook at this resolution; it has no sample yet.
    pub outlook: Outlook,
    /// The mean over each step, oldest first, NaN for a gap.
    pub samples: Vec<f64>,
    /// Number of such steps before the first one, counted from a moment that is the same for all resolutions.
    pub n_before: u64,
    /// Number of steps of the next finer resolution that one takes; 1 for the finest.
    pub ratio: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Level {
    resolution: Resolution,
    /// The finest steps that one takes.
    n_finest: u64,
    /// Samples that were taken.
    n: usize,
}

/// Returns the outlooks of a series after its last samples in steps of several lengths, the finest first, so that all
/// agree until one takes a sample. The ends of all are meant to be about the same moment.
///
/// Seconds know the next minutes best, and hours what comes tomorrow. So each resolution hears what the next finer one
/// says of the means over its own steps, and learns at each lead how much that is worth. Forecasts are then settled
/// from above: those of each finer resolution are moved until their means are those of the next coarser one, but for
/// what the two usually differ by: a mean of medians is no median of means where errors are skewed.
///
/// # Panics
/// Where a ratio is 0.
#[must_use]
pub fn agreeing(resolutions: Vec<Resolution>) -> Vec<Outlook> {
    let mut n_finest = 1;
    let level = |resolution: Resolution| {
        assert!(resolution.ratio > 0, "a step takes one finer one at least");
        n_finest *= resolution.ratio as u64;
        Level { resolution, n_finest, n: 0 }
    };
    let mut levels: Vec<Level> = resolutions.into_iter().map(level).collect();
    let end = levels.iter().map(Level::end_of_all).max().unwrap_or(0);
    // What is longer has a say in when what is finer goes on.
    (1..=levels.len()).rev().for_each(|n| advance(&mut levels[..n], end));
    for idx in 1..levels.len() {
        let (finer, coarser) = levels.split_at_mut(idx);
        coarser[0].hear(&finer[idx - 1]);
    }
    for idx in (1..levels.len()).rev() {
        let (finer, coarser) = levels.split_at_mut(idx);
        finer[idx - 1].agree_with(&coarser[0]);
    }
    levels.into_iter().map(|level| level.resolution.outlook).collect()
}

/// Lets the last of these take what it has up to a moment, and those before it what they have by then.
fn advance(levels: &mut [Level], end: u64) {
    let Some((level, finer)) = levels.split_last_mut() else { return };
    while let Some(sample) = level.next(end) {
        let now = level.end();
        advance(finer, now);
        let ratio = level.resolution.ratio;
        let teller =
            finer.last().filter(|finer| finer.end() == now).and_then(|finer| finer.resolution.outlook.medians());
        level.resolution.outlook.step_hearing(sample, &[], |lead| teller.as_ref()?.mean_of_step(lead, ratio, &[]));
    }
}

impl Level {
    /// The moment up to which samples were taken, in finest steps.
    fn end(&self) -> u64 {
        (self.resolution.n_before + self.n as u64) * self.n_finest
    }

    fn end_of_all(&self) -> u64 {
        (self.resolution.n_before + self.resolution.samples.len() as u64) * self.n_finest
    }

    /// Takes the next sample, if it is over by then.
    fn next(&mut self, end: u64) -> Option<f64> {
        let sample = *self.resolution.samples.get(self.n)?;
        (self.end() + self.n_finest <= end).then(|| {
            self.n += 1;
            sample
        })
    }

    /// Returns the samples of a finer level that came after the last sample here; `None` if the finer level has not
    /// come as far, or is further than a step.
    fn since<'a>(&self, finer: &'a Self) -> Option<&'a [f64]> {
        let n = finer.end().checked_sub(self.end())? / finer.n_finest;
        let first = finer.n.checked_sub(usize::try_from(n).ok()?)?;
        let since = &finer.resolution.samples[first..finer.n];
        (since.len() <= self.resolution.ratio).then_some(since)
    }

    /// Hears what a finer level says by now.
    fn hear(&mut self, finer: &Self) {
        if let (Some(since), Some(medians)) = (self.since(finer), finer.resolution.outlook.medians()) {
            let ratio = self.resolution.ratio;
            let heard = |lead| medians.mean_of_step(lead, ratio, since);
            self.resolution.outlook.hear(heard, !since.is_empty());
        }
    }

    /// Moves what is said here until its means are those of a coarser level. The step that is under way there is left
    /// to what is known here.
    fn agree_with(&mut self, coarser: &Self) {
        let (outlook, ratio) = (&coarser.resolution.outlook, coarser.resolution.ratio);
        let (Some(since), Some(medians)) = (coarser.since(self), outlook.medians()) else { return };
        let n_under_way = usize::from(!since.is_empty());
        let n_leads = outlook.n_leads_max().min(self.resolution.outlook.n_leads_max() / ratio);
        let means: Vec<f64> = (1 + n_under_way..=n_leads).map(|lead| medians.without_bias(lead)).collect();
        self.resolution.outlook.move_to(&means, ratio, n_under_way * ratio - since.len());
    }
}

/// The medians that an outlook states.
struct Medians<'a> {
    outlook: OutlookView<'a>,
    errors: Vec<[f64; 1]>,
}

impl Medians<'_> {
    fn at(&self, lead: usize) -> f64 {
        let [median] = self.outlook.at(lead, [0.5], &self.errors);
        median
    }

    /// Returns the forecast of the mean over `ratio` steps, the `lead`-th such mean from here, of the first of which
    /// some samples are known. `None` for what is too far.
    fn mean_of_step(&self, lead: usize, ratio: usize, known: &[f64]) -> Option<f64> {
        let end = (lead * ratio).checked_sub(known.len()).filter(|end| *end <= self.outlook.n_leads_max())?;
        let first = ((lead - 1) * ratio + 1).saturating_sub(known.len()).max(1);
        let known = if lead == 1 { known } else { &[] };
        let known = known.iter().copied().filter(|sample| !sample.is_nan());
        let values: Vec<f64> = known.chain((first..=end).map(|lead| self.at(lead))).collect();
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns the median at a lead, without what a finer level usually lacks.
    fn without_bias(&self, lead: usize) -> f64 {
        let Outlook { rungs, transform, .. } = &*self.outlook;
        let place = self.outlook.place(lead);
        let bias = between(rungs[place.below].bias(), rungs[place.above].bias(), place.share);
        transform.to_value(transform.to_scale(self.at(lead)) - bias)
    }
}

impl Outlook {
    fn medians(&self) -> Option<Medians<'_>> {
        let outlook = self.ready()?;
        Some(Medians { errors: outlook.errors_at([0.5]), outlook })
    }

    /// The longest lead that is watched.
    fn n_leads_max(&self) -> usize {
        self.rungs[self.rungs.len() - 1].lead
    }

    /// Takes what somebody else says by now in place of what was heard at the last sample. Who knows of the next step
    /// already is right about it.
    fn hear(&mut self, heard: impl Fn(usize) -> Option<f64>, knows_next: bool) {
        if !self.is_ready() {
            return;
        }
        self.rungs.iter_mut().for_each(|rung| rung.pull = 0.0);
        let view = self.view(&[]);
        let pulled = |lead| {
            let heard = self.transform.to_scale(heard(lead)?);
            let place = self.place(lead);
            let own = view.combined(lead, place);
            let at =
                |of: fn(&Rung) -> f64| between(of(&self.rungs[place.below]), of(&self.rungs[place.above]), place.share);
            let is_known = knows_next && lead == 1;
            Some(if is_known { heard - own } else { at(Rung::weight_of_heard) * (heard + at(Rung::bias) - own) })
        };
        self.moved = (1..=self.n_leads_max()).map_while(pulled).collect();
    }

    /// Moves forecasts until their means over `ratio` steps each, of which the first begins `n_apart` steps from here,
    /// are the given ones.
    fn move_to(&mut self, means: &[f64], ratio: usize, n_apart: usize) {
        let Some(medians) = self.medians() else { return };
        let said: Vec<f64> = (1..=self.n_leads_max()).map(|lead| medians.at(lead)).collect();
        let Some(apart) = said.get(n_apart..) else { return };
        let gap = |(mean, said): (&f64, &[f64])| mean - said.iter().sum::<f64>() / ratio as f64;
        let gaps: Vec<f64> = means.iter().zip(apart.chunks_exact(ratio)).map(gap).collect();
        let ((low, high), transform) = (self.range, self.transform);
        let moves = apart.iter().zip(smooth(&gaps, ratio));
        let moves =
            moves.map(|(said, by)| transform.to_scale((said + by).clamp(low, high)) - transform.to_scale(*said));
        self.moved.resize(said.len(), 0.0);
        self.moved[n_apart..].iter_mut().zip(moves).for_each(|(moved, by)| *moved += by);
    }
}

/// A line through what has these means, `n` values each.
fn smooth(means: &[f64], n: usize) -> Vec<f64> {
    let middle = (n as f64 - 1.0) / 2.0;
    let at = |idx: usize| {
        let place = ((idx as f64 - middle) / n as f64).clamp(0.0, (means.len() - 1) as f64);
        let below = place as usize;
        let above = (below + 1).min(means.len() - 1);
        between(means[below], means[above], place - below as f64)
    };
    let mut line: Vec<f64> = (0..means.len() * n).map(at).collect();
    for (values, mean) in line.chunks_mut(n).zip(means) {
        let rest = mean - values.iter().sum::<f64>() / n as f64;
        values.iter_mut().for_each(|value| *value += rest);
    }
    line
}
