//! Any bytes are a saved predictor, which then goes on without a panic, or are refused.

use std::sync::LazyLock;

use predict::{Forecast, Predictor, Spec, fit};

/// Number of saved states to choose from.
pub const N_SAVED: u8 = MODELS.len() as u8;

/// One of every shape that a state has.
const MODELS: [&str; 13] = [
    "MEAN",
    "LAST",
    "BM(8)",
    "AR(4)",
    "ARMA(2,1)",
    "ARIMA(1,1,2)",
    "ARFIMA(1,d,0,truncation=20)",
    "ETS(A,Ad,N)",
    "TAR(2)",
    "NWS(recent=20)",
    "SEASONAL(8)",
    "AUTO(every=7,window=80)",
    "REFIT(AR(4,method=burg),every=7,window=60)",
];

/// Beyond the leads whose errors a linear predictor keeps ready.
const N_LEADS: usize = 70;

/// Enough steps that a refit comes due, and samples of every kind.
const STREAM: [f64; 12] =
    [0.5, f64::NAN, 1.5, f64::INFINITY, -1e300, 1e300, f64::NAN, 1e-300, 0.0, -0.0, f64::MAX, f64::MIN_POSITIVE];

/// The magic bytes and the version.
const N_HEAD: usize = 5;

static SAVED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    // A wave with a pattern laid over it: something to fit for every model.
    let samples: Vec<f64> = (0..100).map(|t| (f64::from(t) * 0.3).sin() + f64::from(t * 7919 % 13) / 5.0).collect();
    let save = |text: &str| {
        let spec: Spec = text.parse().expect("a specification");
        fit(&spec, &samples).expect("the samples fit").predictor().save()
    };
    MODELS.into_iter().map(save).collect()
});

/// The first byte chooses a saved state, and each three that follow put a byte into a place of it. If there is no state
/// of that number, what follows is a state in full, save its head.
///
/// Returns whether a predictor was restored.
///
/// # Panics
/// When a restored predictor does not save to what restores as the same, or forecasts something of the wrong shape.
pub fn predictor_state(bytes: &[u8]) -> bool {
    let Some((choice, rest)) = bytes.split_first() else {
        return false;
    };
    let state = match SAVED.get(usize::from(*choice)) {
        Some(saved) => changed(saved, rest),
        None => [&SAVED[0][..N_HEAD], rest].concat(),
    };
    let Ok(mut predictor) = Predictor::restore(&state) else {
        return false;
    };
    let saved = predictor.save();
    let again = Predictor::restore(&saved).expect("what was restored and saved restores");
    assert_eq!(again.save(), saved, "a predictor restored twice differs from itself");
    let mut forecast = Forecast::default();
    for sample in STREAM {
        predictor.step(sample);
        predictor.forecast_into(N_LEADS, &mut forecast);
        assert_eq!((forecast.means().len(), forecast.standard_errors().len()), (N_LEADS, N_LEADS));
        assert!(!forecast.standard_errors().iter().any(|error| *error < 0.0), "a standard error is negative");
    }
    // Numbers may have overflowed on the way; then the state is refused, and that is all.
    let _ = Predictor::restore(&predictor.save());
    true
}

fn changed(saved: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut state = saved.to_vec();
    for change in changes.as_chunks::<3>().0 {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % state.len();
        state[place] = change[2];
    }
    state
}
