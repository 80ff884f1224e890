//! `bench-season`: what AUTO gains by looking for a season, hours and a day ahead on the recorded cloud traces, and what it loses on series
//! that have none. Writes a table.
//!
//! Windows and errors are those of `outlook.py`: thirteen origins in the last two fifths of a series; absolute errors over all leads within a
//! horizon, scaled by the mean absolute difference of samples a day apart before the origin; the median over windows. Without a season
//! is AUTO with a budget that pays for all other candidates.

use std::f64::consts::TAU;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use predict::{Model, Spec, fit};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

/// At five minutes.
const DAY: usize = 288;

/// Steps of the horizons: 1, 6 and 24 hours.
const HORIZONS: [usize; 3] = [12, 72, DAY];

const N_WINDOWS: usize = 13;

const MODELS: [&str; 3] = ["AUTO(budget=30000)", "AUTO", "SEASONAL(288)"];

fn main() -> Result<()> {
    println!("{:40} {:22} {:22} {:22} season found", "scaled error within 1, 6, 24 h", MODELS[0], MODELS[1], MODELS[2]);
    for (name, samples) in all_series()? {
        let (mut cells, mut found) = (Vec::new(), String::new());
        for text in MODELS {
            let spec: Spec = text.parse()?;
            let windows: Vec<(Model, [f64; 3])> = origins(samples.len())
                .into_par_iter()
                .map(|origin| judge(&spec, &samples, origin))
                .collect::<Result<_>>()?;
            let median = |horizon: usize| {
                let errors: Vec<f64> = windows.iter().map(|(_, errors)| errors[horizon]).collect();
                statistics::median(&errors).unwrap_or(f64::NAN)
            };
            cells.push(format!("{:.3} {:.3} {:.3}", median(0), median(1), median(2)));
            if text == "AUTO" {
                let seasons: Vec<String> =
                    windows.iter().filter_map(|(model, _)| Some(model.season()?.spec.to_string())).collect();
                found = format!("{} of {}: {}", seasons.len(), windows.len(), text_of(seasons));
            }
        }
        println!("{name:40} {:22} {:22} {:22} {found}", cells[0], cells[1], cells[2]);
    }
    Ok(())
}

fn text_of(mut seasons: Vec<String>) -> String {
    seasons.sort_unstable();
    seasons.dedup();
    seasons.join(", ")
}

fn origins(n: usize) -> Vec<usize> {
    let (first, last) = (0.6 * n as f64, (n - DAY - 1) as f64);
    (0..N_WINDOWS).map(|idx| (first + (last - first) * idx as f64 / (N_WINDOWS - 1) as f64) as usize).collect()
}

/// A fit to what is before the origin, and its scaled errors after it.
fn judge(spec: &Spec, samples: &[f64], origin: usize) -> Result<(Model, [f64; 3])> {
    let (past, coming) = samples.split_at(origin);
    let model = fit(spec, past)?;
    let forecast = model.predictor().forecast(DAY);
    let scale = mean(past.iter().zip(&past[DAY..]).map(|(before, sample)| (sample - before).abs()));
    let errors = HORIZONS.map(|horizon| {
        mean(coming[..horizon].iter().zip(forecast.means()).map(|(sample, said)| (sample - said).abs())) / scale
    });
    Ok((model, errors))
}

/// Of those that are no gaps.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let known: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

fn all_series() -> Result<Vec<(String, Vec<f64>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/nab");
    let mut files: Vec<_> = std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let series = series::csv::read(File::open(&path)?, &series::csv::Options::default())
            .with_context(|| format!("cannot read {}", path.display()))?;
        all.push((name, series.samples().to_vec()));
    }
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let mut lasting = |phi: f64, deviation: f64| -> Vec<f64> {
        let mut at = 0.0;
        let mut next = |_| {
            at = phi * at + deviation * chance.sample::<f64, _>(StandardNormal);
            at
        };
        (0..DAY * 28).map(&mut next).collect()
    };
    let shape = |t: usize| (TAU * t as f64 / DAY as f64 - 1.9).sin() + 0.5 * (2.0 * TAU * t as f64 / DAY as f64).sin();
    let week = |t: usize| if t / DAY % 7 >= 5 { 0.5 } else { 1.0 };
    let on = |noise: Vec<f64>, what: &dyn Fn(usize) -> f64| -> Vec<f64> {
        noise.iter().enumerate().map(|(t, noise)| what(t) + noise).collect()
    };
    all.push(("made: day and week".into(), on(lasting(0.95, 2.0), &|t| 100.0 + 40.0 * shape(t) * week(t))));
    let timers = |t: usize| 10.0 + if t % DAY < 4 { 60.0 } else { 0.0 } + if t % 72 == 10 { 20.0 } else { 0.0 };
    all.push(("made: timers".into(), on(lasting(0.8, 0.5), &timers)));
    all.push(("made: random walk".into(), lasting(1.0, 1.0)));
    all.push(("made: AR(1)".into(), on(lasting(0.99, 1.0), &|_| 50.0)));
    Ok(all)
}
