//! AUTO: speaks from the first samples, at least as well as the models that it is made of, and says who speaks.

use predict::{FitError, Forecast, Live, Policy, Predictor, Spec, fit, fit_bounded};
use units::Confidence;

use crate::testdata::{NAB, Noise, ar1, fitted, samples};

const LEADS: [usize; 4] = [1, 5, 10, 30];

/// Mean squared errors at [`LEADS`], and shares of samples inside 95 % intervals, after a fit on the first 600. No
/// sample can be below `least`.
fn judge(text: &str, series: &[f64], least: f64) -> [(f64, f64); 4] {
    let model = fit_bounded(&text.parse().unwrap(), &series[..600], (least, f64::INFINITY));
    let mut predictor = model.unwrap().predictor();
    let mut said: Vec<Forecast> = vec![predictor.forecast(30)];
    let mut sums = [(0.0, 0.0, 0.0); 4];
    for (t, sample) in series[600..].iter().enumerate().filter(|(_, sample)| !sample.is_nan()) {
        said.resize(t + 1, Forecast::default());
        for ((n, squares, inside), lead) in sums.iter_mut().zip(LEADS) {
            if let Some(forecast) = (t + 1).checked_sub(lead).map(|idx| &said[idx]).filter(|said| said.n_leads() > 0) {
                *n += 1.0;
                *squares += (sample - forecast.means()[lead - 1]).powi(2);
                *inside += f64::from(u8::from(forecast.interval(lead, Confidence::P95).contains(*sample)));
            }
        }
        predictor.step(*sample);
        said.push(predictor.forecast(30));
    }
    sums.map(|(n, squares, inside)| (squares / n, inside / n))
}

/// What AUTO is compared with.
const OTHERS: [&str; 6] = [
    "LAST",
    "BM(32)",
    "NWS",
    "AR(16)",
    "REFIT(AR(16),every=100,window=600)",
    "REFIT(ARIMA(16,1,0),every=100,window=600)",
];

/// AUTO's mean squared error over that of each of [`OTHERS`], at each of [`LEADS`].
fn ratios(series: &[f64]) -> [[f64; LEADS.len()]; OTHERS.len()] {
    let auto = judge("AUTO", series, f64::NEG_INFINITY);
    OTHERS.map(|text| {
        let other = judge(text, series, f64::NEG_INFINITY);
        std::array::from_fn(|lead_idx| auto[lead_idx].0 / other[lead_idx].0)
    })
}

#[test]
fn intervals_cover_every_recorded_trace() {
    let mut sums = [0.0; LEADS.len()];
    for trace in NAB {
        let judged = judge("AUTO", &samples(&format!("nab/{trace}.csv")), 0.0);
        // Least where bursts of a network are rare: 90 % at lead 30.
        assert!(judged.iter().all(|(_, covered)| (0.9..=0.995).contains(covered)), "{trace}: {judged:?}");
        sums.iter_mut().zip(judged).for_each(|(sum, (_, covered))| *sum += covered / NAB.len() as f64);
    }
    assert!(sums.iter().all(|covered| (0.935..=0.965).contains(covered)), "{sums:?}");
}

#[test]
fn over_all_recorded_traces_no_model_is_better_by_more_than_a_hundredth_at_any_lead() {
    let traces = NAB.map(|trace| ratios(&samples(&format!("nab/{trace}.csv"))[..2000]));
    for (other_idx, other) in OTHERS.iter().enumerate() {
        for (lead_idx, lead) in LEADS.iter().enumerate() {
            let logs = traces.iter().map(|ratios| ratios[other_idx][lead_idx].ln());
            let mean_ratio = (logs.sum::<f64>() / NAB.len() as f64).exp();
            // Forecasts are medians, others' are means.
            assert!(mean_ratio < 1.01, "{other}, lead {lead}: AUTO's error is {mean_ratio} times as large");
        }
    }
}

#[test]
fn on_a_known_process_it_is_as_good_as_its_model() {
    let mut noise = Noise::seeded(71);
    let white: Vec<f64> = (0..3000).map(|_| noise.normal()).collect();
    let mut level = 0.0;
    let walk: Vec<f64> = (0..3000)
        .map(|_| {
            level += noise.normal();
            level
        })
        .collect();
    for (what, series) in [("white noise", white), ("a random walk", walk), ("AR(1)", ar1(0.8, 3000, 72))] {
        let worst = ratios(&series).into_iter().flatten().fold(0.0, f64::max);
        // What choosing costs where there is nothing to choose.
        assert!(worst < 1.05, "{what}: {worst}");
    }
}

#[test]
fn it_forecasts_from_the_second_sample() {
    let forecast = fitted("AUTO", &[3.0, 5.0]).predictor().forecast(2);
    assert!(forecast.means().iter().all(|mean| (4.5..=5.0).contains(mean)), "{forecast:?}");
    let interval = forecast.interval(1, Confidence::P95);
    assert!(interval.upper - interval.lower > 2.0, "as wide as the samples differ: {interval:?}");
    let one = fit(&Spec::auto(), &[3.0]).unwrap_err();
    assert_eq!(one, FitError::TooShort { spec: Spec::auto(), have: 1, need: 2 });
}

#[test]
fn a_constant_series_is_forecast_and_one_that_wakes_up_is_followed() {
    let mut predictor = fitted("AUTO", &[7.0; 300]).predictor();
    let interval = predictor.forecast(30).interval(30, Confidence::P95);
    // Errors of rounding, and nothing else.
    assert!(interval.lower > 7.0 - 1e-6 && interval.upper < 7.0 + 1e-6, "{interval:?}");
    let mut noise = Noise::seeded(73);
    (0..40).for_each(|_| predictor.step(20.0 + noise.normal()));
    let awake = predictor.forecast(1);
    assert!((awake.means()[0] - 20.0).abs() < 3.0, "{awake:?}");
    let interval = awake.interval(1, Confidence::P95);
    assert!(interval.lower < 19.0 && 21.0 < interval.upper, "{interval:?}");
}

#[test]
fn after_a_first_spike_in_a_quiet_series_both_levels_are_in_the_intervals() {
    let spike = 400.0;
    for n_quiet in [3, 10, 20, 40, 200] {
        let mut live = Live::new(Policy::of(&Spec::auto())).within(0.0, f64::INFINITY);
        let mut noise = Noise::seeded(n_quiet);
        (0..n_quiet).for_each(|_| live.step(if noise.uniform() < 0.1 { 0.02 } else { 0.0 }));
        live.step(spike);
        for after in 0..4 {
            for (lead, interval) in (1..).zip(live.forecast(60).unwrap().intervals(Confidence::P95)) {
                assert!(interval.lower < 0.1 * spike, "after {n_quiet} and {after}, lead {lead}: {interval:?}");
                assert!(after > 0 || spike < interval.upper, "after {n_quiet}, lead {lead}: {interval:?}");
            }
            live.step(0.0);
        }
    }
}

#[test]
fn after_a_shift_and_after_a_spike_no_mean_goes_where_no_sample_was() {
    let wave = (0..40).map(|t| 50.0 + 10.0 * (f64::from(t) / 3.0).sin() + 4.0 * (1.7 * f64::from(t)).sin());
    let mut live = Live::new(Policy::of(&Spec::auto()));
    wave.for_each(|sample| live.step(sample));
    for n_shifted in 1..=24 {
        live.step(1.0);
        let mut spiked = live.clone();
        spiked.step(5_000.0);
        for (live, largest) in [(&live, 64.0), (&spiked, 5_000.0)] {
            for (lead, mean) in (1..).zip(live.forecast(60).unwrap().means()) {
                let room = 0.15 * largest;
                assert!((1.0 - room..largest + room).contains(mean), "{n_shifted}, {largest}, lead {lead}: {mean}");
            }
        }
    }
}

#[test]
fn the_candidates_and_who_speaks_are_told() {
    let predictor = fitted("AUTO", &ar1(0.9, 1500, 74)).predictor();
    let standings = predictor.standings();
    assert!(standings.iter().all(|standing| standing.n_fits > 0), "{standings:?}");
    let sum: f64 = standings.iter().map(|standing| standing.leads[0].weight).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    let best = standings.iter().max_by(|one, other| one.leads[0].weight.total_cmp(&other.leads[0].weight)).unwrap();
    assert_eq!(predictor.speaking_at(1), Some(best.spec.to_string()));
    let small = fitted("AUTO(budget=2000)", &ar1(0.9, 700, 75)).predictor();
    assert!(small.standings().len() < standings.len());
    let small = small.standings();
    let (outlook, members) = small.split_last().expect("the outlook is there with any budget");
    assert!(members.iter().map(|standing| standing.cost).sum::<u64>() <= 2000);
    assert_eq!(outlook.spec.to_string(), "OUTLOOK");
}

#[test]
fn coefficients_and_samples_of_each_candidate_are_told() {
    let series = ar1(0.9, 700, 78);
    let mut predictor = fitted("AUTO", &series[..2]).predictor();
    assert_eq!(predictor.model().n_samples(), 2);
    series[2..].iter().for_each(|sample| predictor.step(*sample));
    let standings = predictor.standings();
    let most = standings.iter().map(|standing| standing.n_samples).max();
    assert_eq!(Some(predictor.model().n_samples()), most, "not the 2 samples that it began with");
    assert!(most > Some(400), "{most:?}");
    let names = |text: &str| -> Vec<&str> {
        let standing = standings.iter().find(|standing| standing.spec.to_string() == text).unwrap();
        standing.parameters.iter().map(|parameter| parameter.name.as_str()).collect()
    };
    assert_eq!((names("LAST"), names("AR(2)")), (vec![], vec!["phi1", "phi2", "mean"]));
    assert_eq!(names("ARMA(1,1)"), ["phi1", "theta1", "mean"]);
    let weights = predictor.weights_at(10);
    assert!((weights.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(weights.is_sorted_by(|(_, one), (_, next)| one >= next));
    assert_eq!(Some(weights[0].0.to_string()), predictor.speaking_at(10));
}

#[test]
fn gaps_and_extremes_leave_numbers() {
    let hostile = [f64::NAN, f64::INFINITY, 1e300, -1e300, 1e-300, 0.0, 0.0, 5.0, 5.0, f64::NAN];
    let mut predictor = fitted("AUTO(every=20,window=80)", &ar1(0.8, 200, 76)).predictor();
    for sample in hostile.iter().cycle().take(1000) {
        predictor.step(*sample);
        let forecast = predictor.forecast(300);
        assert!(forecast.means().iter().all(|mean| mean.is_finite()));
        assert!(forecast.intervals(Confidence::P95).all(|interval| interval.lower <= interval.upper));
    }
    let restored = Predictor::restore(&predictor.save()).unwrap();
    assert_eq!(restored.forecast(40), predictor.forecast(40));
}

/// Steps `predictor` over `samples`, running each task at once and installing it before the next step.
fn step_deferred(predictor: &mut Predictor, samples: &[f64]) {
    let mut done = None;
    for sample in samples {
        if let Some(done) = done.take() {
            predictor.install(done);
        }
        predictor.step(*sample);
        done = predictor.take_task().map(predict::Task::run);
    }
    if let Some(done) = done {
        predictor.install(done);
    }
}

#[test]
fn deferred_fits_give_the_same_predictor_every_time() {
    let series = ar1(0.8, 1000, 77);
    for text in ["AUTO(every=20,window=200)", "REFIT(AR(4),every=30,window=200)"] {
        let start = fitted(text, &series[..100]).predictor().with_deferred_fits();
        let (mut one, mut other) = (start.clone(), start);
        step_deferred(&mut one, &series[100..]);
        step_deferred(&mut other, &series[100..]);
        assert_eq!(one.save(), other.save(), "{text}");
        assert!(one.n_refits() > 5, "{text}: {}", one.n_refits());
    }
}

#[test]
fn a_deferred_refit_catches_up_with_what_came_meanwhile() {
    let series = ar1(0.8, 400, 78);
    let text = "REFIT(AR(4),every=50,window=200)";
    let mut here = fitted(text, &series[..200]).predictor();
    let mut deferred = here.clone().with_deferred_fits();
    series[200..250].iter().for_each(|sample| here.step(*sample));
    series[200..250].iter().for_each(|sample| deferred.step(*sample));
    let task = deferred.take_task().expect("a fit is due");
    assert!(deferred.take_task().is_none(), "it was handed out");
    for sample in &series[250..270] {
        here.step(*sample);
        deferred.step(*sample);
    }
    assert_ne!(deferred.forecast(5), here.forecast(5));
    deferred.install(task.run());
    assert_eq!(deferred.forecast(5), here.forecast(5));
}

#[test]
fn a_restored_predictor_does_again_what_was_under_way() {
    let series = ar1(0.8, 300, 79);
    let mut predictor = fitted("AUTO(every=20,window=100)", &series).predictor().with_deferred_fits();
    while predictor.take_task().is_none() {
        predictor.step(0.0);
    }
    let mut restored = Predictor::restore(&predictor.save()).unwrap();
    assert!(restored.take_task().is_some());
}
