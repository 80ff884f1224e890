//! Error bars are honest: intervals cover what they say on series whose law is known.

use predict::{Evaluator, Forecast, Intervals, LeadScore};
use statistics::{Interval, quantile};
use units::Confidence;

use crate::testdata::{NAB, Noise, ar1, fitted, samples};

/// Scores of leads 1 to 30 over all steps after a fit on the first `n_fit`.
fn scores(text: &str, series: &[f64], n_fit: usize) -> Vec<LeadScore> {
    let mut predictor = fitted(text, &series[..n_fit]).predictor();
    let mut evaluator = Evaluator::new(30);
    evaluator.step(f64::NAN, Some(&predictor.forecast(30)));
    for sample in &series[n_fit..] {
        predictor.step(*sample);
        evaluator.step(*sample, Some(&predictor.forecast(30)));
    }
    evaluator.scores()
}

/// `tolerance` is about three standard deviations of a coverage over 20,000 strongly overlapping forecasts.
#[track_caller]
fn check_coverage(text: &str, coefficient: f64, tolerance: f64) {
    check_coverage_of(text, &ar1(coefficient, 20_600, 41), 600, tolerance);
}

#[track_caller]
fn check_coverage_of(text: &str, series: &[f64], n_fit: usize, tolerance: f64) {
    for score in scores(text, series, n_fit) {
        let coverage = score.coverage.expect("forecasts were scored");
        for (covered, nominal) in [(coverage.p50, 0.5), (coverage.p80, 0.8), (coverage.p95, 0.95)] {
            assert!((covered - nominal).abs() < tolerance, "{text} lead {}: {covered} for {nominal}", score.lead);
        }
    }
}

#[test]
fn ar_covers_what_it_says_at_every_lead() {
    check_coverage("AR(1)", 0.8, 0.03);
}

#[test]
fn mean_covers_what_it_says_on_noise() {
    check_coverage("MEAN", 0.0, 0.03);
}

#[test]
fn last_covers_what_it_says_though_the_series_returns_to_its_mean() {
    // Its errors are measured on 600 samples, so they are known only to a few percent themselves.
    check_coverage("LAST", 0.8, 0.06);
}

#[test]
fn the_evaluator_finds_the_innovation_variance_at_lead_one() {
    let one_step = &scores("AR(1)", &ar1(0.8, 20_600, 41), 600)[0];
    let mean_squared = one_step.errors.map(|errors| errors.mean_squared).unwrap_or_default();
    // Unit innovations; the deviation of a mean of 20,000 squares is 0.01.
    assert!((mean_squared - 1.0).abs() < 0.04, "{mean_squared}");
}

const WATCHED: [usize; 4] = [1, 5, 10, 30];

/// The share of samples from `n_fit` on inside intervals of `confidence`, at each lead of [`WATCHED`].
fn coverage(text: &str, intervals: Intervals, series: &[f64], n_fit: usize, confidence: Confidence) -> [f64; 4] {
    let mut predictor = fitted(text, &series[..n_fit]).predictor().with_intervals(intervals);
    let mut said = vec![predictor.forecast(30)];
    let mut inside = [(0.0, 0.0); 4];
    for (t, sample) in series[n_fit..].iter().enumerate() {
        for ((n, n_inside), lead) in
            inside.iter_mut().zip(WATCHED).filter(|(_, lead)| t + 1 >= *lead && !sample.is_nan())
        {
            *n += 1.0;
            *n_inside += f64::from(u8::from(said[t + 1 - lead].interval(lead, confidence).contains(*sample)));
        }
        predictor.step(*sample);
        said.push(predictor.forecast(30));
    }
    inside.map(|(n, n_inside)| n_inside / n)
}

#[track_caller]
fn check_covers_95(what: &str, text: &str, series: &[f64]) {
    let covered = coverage(text, Intervals::Adaptive, series, 600, Confidence::P95);
    assert!(covered.iter().all(|covered| (0.92..=0.999).contains(covered)), "{what}, {text}: {covered:?}");
}

#[test]
fn adaptive_intervals_cover_every_recorded_trace_whatever_the_model() {
    for trace in NAB {
        for text in ["AR(16)", "REFIT(AR(16),every=100,window=600)", "LAST", "MEAN"] {
            check_covers_95(trace, text, &samples(&format!("nab/{trace}.csv")));
        }
    }
}

#[test]
fn adaptive_intervals_cover_series_that_drift() {
    let mut noise = Noise::seeded(51);
    let walk: Vec<f64> = running(6000, |level| level + noise.normal());
    let mut noise = Noise::seeded(52);
    let growing: Vec<f64> = (0..6000).map(|t| noise.normal() * (1.0 + f64::from(t) / 500.0)).collect();
    let mut noise = Noise::seeded(53);
    let heavy: Vec<f64> = running(6000, |level| 0.6 * level + noise.normal() / (noise.normal().abs() + 0.1));
    let mut noise = Noise::seeded(54);
    let mut log_scale = 0.0;
    let volatile: Vec<f64> = running(6000, |level| {
        log_scale = 0.99 * log_scale + 0.15 * noise.normal();
        0.6 * level + noise.normal() * f64::exp(log_scale)
    });
    for (what, series) in
        [("a random walk", &walk), ("growing variance", &growing), ("heavy tails", &heavy), ("volatility", &volatile)]
    {
        for text in ["AR(2)", "REFIT(AR(2),every=100,window=300)", "MEAN", "LAST"] {
            check_covers_95(what, text, series);
        }
    }
}

#[test]
fn empirical_intervals_cover_errors_that_are_skewed() {
    let mut noise = Noise::seeded(55);
    let skewed: Vec<f64> = (0..20_000).map(|_| noise.normal().powi(2)).collect();
    for confidence in [Confidence::P50, Confidence::P80, Confidence::P95] {
        let gaussian = coverage("MEAN", Intervals::Gaussian, &skewed, 600, confidence);
        let empirical = coverage("MEAN", Intervals::Empirical, &skewed, 600, confidence);
        // The deviation of a coverage over 20,000 is 0.0035 at most.
        let is_close = |covered: &f64| (covered - confidence.probability()).abs() < 0.015;
        assert!(empirical.iter().all(is_close), "{confidence}: {empirical:?}");
        assert!(confidence != Confidence::P50 || !gaussian.iter().any(is_close), "{gaussian:?}");
    }
}

#[test]
fn intervals_of_more_confidence_hold_those_of_less() {
    let trace = samples("nab/ec2_network_in_257a54.csv");
    for intervals in [Intervals::Empirical, Intervals::Adaptive] {
        let mut predictor = fitted("AR(4)", &trace[..600]).predictor().with_intervals(intervals);
        for sample in &trace[600..1200] {
            predictor.step(*sample);
            let forecast = predictor.forecast(40);
            for lead in [1, 5, 32, 40] {
                let nested: Vec<Interval> = [1e-9, 0.2, 0.5, 0.7, 0.95, 0.97, 0.99, 0.9999, 1.0 - 1e-15]
                    .map(|share| forecast.interval(lead, Confidence::new(share).unwrap()))
                    .to_vec();
                assert!(nested.iter().all(|interval| interval.lower <= interval.upper));
                assert!(nested[4..].iter().all(|interval| interval.contains(forecast.means()[lead - 1])));
                assert!(nested.windows(2).all(|pair| pair[1].lower <= pair[0].lower && pair[0].upper <= pair[1].upper));
            }
        }
    }
}

/// The 5th, 50th and 95th percentile of widths of 95 % over those of a forecast that knows the law, at each lead of
/// [`WATCHED`].
fn widths_of_auto(n: usize, coefficient: f64, variance: impl Fn(usize) -> f64) -> [[f64; 3]; 4] {
    let forecasts: Vec<Forecast> =
        (0..60).map(|seed| fitted("AUTO", &ar1(coefficient, n, 1000 + seed)).predictor().forecast(30)).collect();
    WATCHED.map(|lead| {
        let of_lead = |forecast: &Forecast| {
            let Interval { lower, upper } = forecast.interval(lead, Confidence::P95);
            (upper - lower) / (2.0 * 1.959_964 * variance(lead).sqrt())
        };
        let widths: Vec<f64> = forecasts.iter().map(of_lead).collect();
        [0.05, 0.5, 0.95].map(|share| quantile(&widths, share).expect("there are seeds"))
    })
}

#[test]
fn intervals_of_auto_are_as_wide_as_theory_says() {
    let stationary = |lead: usize| (1.0 - 0.81_f64.powi(lead as i32)) / 0.19;
    for (what, widths) in [
        ("noise", widths_of_auto(600, 0.0, |_| 1.0)),
        ("AR(1)", widths_of_auto(600, 0.9, stationary)),
        ("a random walk", widths_of_auto(600, 1.0, |lead| lead as f64)),
    ] {
        // With 60 seeds a median is good to 2 to 6 %, by lead.
        assert!(widths.iter().all(|[_, median, _]| (0.9..=1.15).contains(median)), "{what}: {widths:?}");
        assert!(widths.iter().all(|[low, _, high]| *low > 0.7 && *high < 1.7), "{what}: {widths:?}");
    }
}

#[test]
fn intervals_of_auto_widen_with_the_lead() {
    for coefficient in [0.0, 0.9, 1.0] {
        let forecast = fitted("AUTO", &ar1(coefficient, 400, 61)).predictor().forecast(256);
        let widths: Vec<f64> =
            forecast.intervals(Confidence::P95).map(|interval| interval.upper - interval.lower).collect();
        let mut widest: f64 = 0.0;
        for width in widths {
            assert!(width >= 0.93 * widest, "{coefficient}: {width} after {widest}");
            widest = widest.max(width);
        }
    }
}

#[test]
fn intervals_of_auto_score_better_than_normal_ones_on_recorded_traces() {
    let score = |text: &str, trace: &[f64]| -> Vec<f64> {
        let scores = scores(text, trace, 600);
        WATCHED.map(|lead| scores[lead - 1].interval_scores.expect("forecasts were scored").p95).to_vec()
    };
    let ratios: Vec<Vec<f64>> = NAB
        .iter()
        .map(|trace| {
            let trace = &samples(&format!("nab/{trace}.csv"))[..2000];
            let (auto, peer) = (score("AUTO", trace), score("REFIT(AR(16),every=100,window=600)", trace));
            auto.iter().zip(peer).map(|(auto, peer)| auto / peer).collect()
        })
        .collect();
    for (lead_idx, lead) in WATCHED.iter().enumerate() {
        let mean = ratios.iter().map(|ratios| ratios[lead_idx].ln()).sum::<f64>() / ratios.len() as f64;
        assert!(mean < 0.0, "lead {lead}: {ratios:?}");
    }
}

#[test]
fn whatever_comes_no_bound_is_nan() {
    let hostile = [f64::NAN, f64::INFINITY, 1e300, -1e300, 1e-300, 0.0, 0.0, 5.0, 5.0, 5.0, f64::NAN, f64::NAN];
    for text in ["MEAN", "LAST", "AR(2)"] {
        for intervals in [Intervals::Empirical, Intervals::Adaptive] {
            let mut predictor = fitted(text, &ar1(0.8, 100, 56)).predictor().with_intervals(intervals);
            for sample in hostile.iter().cycle().take(2000) {
                predictor.step(*sample);
                for interval in predictor.forecast(300).intervals(Confidence::P95) {
                    assert!(interval.lower <= interval.upper, "{text} {intervals:?}: {interval:?}");
                }
            }
        }
    }
}

/// Where a recursion from 0 leads.
fn running(n: usize, mut next: impl FnMut(f64) -> f64) -> Vec<f64> {
    let mut level = 0.0;
    (0..n)
        .map(|_| {
            level = next(level);
            level
        })
        .collect()
}

#[test]
fn nws_covers_what_it_says_on_a_series_that_returns() {
    // As for LAST, errors are measured on 600 samples; and who speaks changes.
    check_coverage("NWS", 0.8, 0.06);
}

#[test]
fn exponential_smoothing_covers_what_it_says_on_a_level_that_wanders() {
    let mut noise = Noise::seeded(42);
    let mut level = 0.0;
    let step = |_| {
        let error = noise.normal();
        level += 0.3 * error;
        level + 0.7 * error
    };
    let series: Vec<f64> = (0..20_600).map(step).collect();
    // Errors at lead 30 follow alpha, which takes thousands to be known well; and those of a level that wanders agree
    // with each other over all 30 leads, which leaves a deviation of 0.02.
    check_coverage_of("ETS(A,N,N)", &series, 3_000, 0.05);
    check_coverage_of("ETS(A,Ad,N)", &series[1_500..], 1_500, 0.06);
}

#[test]
fn threshold_autoregression_covers_what_it_says_in_both_regimes() {
    let mut noise = Noise::seeded(43);
    let mut last = 0.0;
    let step = |_| {
        last = if last <= 0.0 { 0.5 - 0.9 * last + noise.normal() } else { 0.7 * last + 0.5 * noise.normal() };
        last
    };
    let series: Vec<f64> = (0..3_600).map(step).collect();
    // Fewer forecasts, each simulated; and the marginal law is not normal, as the intervals are.
    check_coverage_of("TAR(1)", &series, 600, 0.06);
}
