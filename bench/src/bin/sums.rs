//! `bench-sums FILE`: forecasts recorded signals that add up, each by itself and reconciled, and writes as JSON what
//! that makes of the errors and the 95 % intervals of each signal, and what it costs.
//!
//! FILE has a column of times and one for each signal, all samples known.

use std::fs::File;
use std::io::{Read, stdout};

use anyhow::{Context, Result, ensure};
use clock::Stopwatch;
use predict::{Constraint, Forecast, Live, Policy, Spec, reconcile};
use serde_json::json;
use signal::{Whole, wholes};
use units::Confidence;

const N_LEADS: usize = 60;
const LEADS: [usize; 5] = [1, 5, 10, 30, 60];

/// Lead at which sums are looked at, less 1.
const HALF: usize = N_LEADS / 2 - 1;

/// Samples before the first forecast, and from one forecast to the next.
const N_FIRST: usize = 120;
const EVERY: usize = 5;

/// Sums over forecasts of one signal and lead.
#[derive(Clone, Copy, Default)]
struct Score {
    n: f64,
    squares: f64,
    interval_scores: f64,
    n_within: f64,
}

impl Score {
    fn add(&mut self, forecast: &Forecast, mean: f64, lead: usize, sample: f64) {
        let interval = forecast.interval_beside(mean, lead, Confidence::P95);
        let outside = (interval.lower - sample).max(sample - interval.upper).max(0.0);
        self.n += 1.0;
        self.squares += (sample - mean).powi(2);
        self.interval_scores += interval.upper - interval.lower + 2.0 / 0.05 * outside;
        self.n_within += f64::from(u8::from(outside == 0.0));
    }
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("usage: bench-sums FILE")?;
    let mut text = String::new();
    File::open(&path).with_context(|| format!("opening {path}"))?.read_to_string(&mut text)?;
    let mut lines = text.lines().map(|line| line.split(',').skip(1));
    let ids: Vec<&str> = lines.next().context("a header")?.collect();
    let row = |cells: std::iter::Skip<std::str::Split<'_, char>>| cells.map(|cell| Ok(cell.parse()?)).collect();
    let rows: Vec<Vec<f64>> = lines.map(row).collect::<Result<_>>().with_context(|| format!("reading {path}"))?;
    ensure!(rows.iter().all(|row| row.len() == ids.len()), "{path} has rows of another length than its header");
    let mut series: Vec<Live> = ids.iter().map(|_| Live::new(Policy::of(&Spec::auto())).within(0.0, 1.0)).collect();
    let mut scores = vec![[[Score::default(); LEADS.len()]; 2]; ids.len()];
    let mut largest = [0.0_f64; 2];
    let (mut n_reconciled, mut took_seconds) = (0, 0.0);
    for (at, row) in rows.iter().enumerate() {
        series.iter_mut().zip(row).for_each(|(live, sample)| live.step(*sample));
        if at < N_FIRST || at % EVERY != 0 || at + N_LEADS >= rows.len() {
            continue;
        }
        let forecasts: Vec<Forecast> = series.iter().filter_map(|live| live.forecast(N_LEADS)).collect();
        let signals: Vec<(&str, f64)> = ids.iter().copied().zip(row.iter().copied()).collect();
        let alone: Vec<&[f64]> = forecasts.iter().map(Forecast::means).collect();
        let mut together: Vec<Vec<f64>> = alone.iter().map(|means| means.to_vec()).collect();
        let stopwatch = Stopwatch::start();
        for Whole { members, sums } in wholes(&signals) {
            let of_whole: Vec<&Forecast> = members.iter().map(|place| &forecasts[*place]).collect();
            let sums: Vec<Constraint> =
                sums.into_iter().map(|sum| Constraint { terms: sum.terms, total: sum.total }).collect();
            let reconciled = reconcile(&of_whole, &sums);
            for Constraint { terms, total } in &sums {
                let made = |means: &dyn Fn(usize) -> f64| -> f64 {
                    terms.iter().map(|(place, weight)| weight * means(*place)).sum()
                };
                let made = [made(&|place| alone[members[place]][HALF]), made(&|place| reconciled[place][HALF])];
                largest = [0, 1].map(|idx| f64::max(largest[idx], (made[idx] - total).abs()));
            }
            members.into_iter().zip(reconciled).for_each(|(place, means)| together[place] = means);
        }
        (n_reconciled, took_seconds) = (n_reconciled + ids.len(), took_seconds + stopwatch.elapsed().as_secs_f64());
        for (idx, scores) in scores.iter_mut().enumerate() {
            for (scores, means) in scores.iter_mut().zip([alone[idx], &together[idx]]) {
                for (score, lead) in scores.iter_mut().zip(LEADS) {
                    score.add(&forecasts[idx], means[lead - 1], lead, rows[at + lead][idx]);
                }
            }
        }
    }
    let of_signal = |(id, [alone, together]): (&&str, &[[Score; LEADS.len()]; 2])| {
        let ratio = |of: fn(&Score) -> f64| {
            alone.iter().zip(together).map(|(alone, together)| of(together) / of(alone)).collect::<Vec<f64>>()
        };
        json!({
            "id": id,
            "root_mean_square_error": alone.map(|score| (score.squares / score.n).sqrt()),
            "squared_error_ratio": ratio(|score| score.squares),
            "interval_score_ratio": ratio(|score| score.interval_scores),
            "within_alone": alone.map(|score| score.n_within / score.n),
            "within": together.map(|score| score.n_within / score.n),
        })
    };
    let figures = json!({
        "n_forecasts": scores[0][0][0].n,
        "leads": LEADS,
        "signals": ids.iter().zip(&scores).map(of_signal).collect::<Vec<_>>(),
        "largest_difference": largest,
        "microseconds_a_signal": 1e6 * took_seconds / n_reconciled as f64,
    });
    Ok(serde_json::to_writer_pretty(stdout(), &figures)?)
}
