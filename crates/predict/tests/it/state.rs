//! A saved predictor comes back to the digit, and damaged bytes do not come back at all.

use predict::{Intervals, Predictor, RestoreError};
use proptest::prelude::*;

use crate::testdata::{ar1, fitted};

const MODELS: [&str; 11] = [
    "MEAN",
    "LAST",
    "BM(8)",
    "AR(4)",
    "REFIT(AR(4,method=burg),every=7,window=60)",
    "NWS",
    "NWS(by=mae,recent=30)",
    "HOLT",
    "TAR(1)",
    "AUTO(every=30,window=80)",
    "ETS(A,Ad,N,bounds=admissible)",
];

#[test]
fn a_restored_predictor_goes_on_to_the_same_digits() {
    let series = ar1(0.7, 300, 31);
    for text in MODELS {
        let mut kept = fitted(text, &series[..100]).predictor();
        series[100..133].iter().for_each(|sample| kept.step(*sample));
        kept.step(f64::NAN);
        let mut restored = Predictor::restore(&kept.save()).unwrap();
        for sample in &series[133..] {
            assert_eq!(restored.forecast(70), kept.forecast(70), "{text}");
            restored.step(*sample);
            kept.step(*sample);
        }
        assert_eq!(restored.save(), kept.save(), "{text}");
    }
}

#[test]
fn learned_intervals_are_part_of_the_state() {
    let series = ar1(0.7, 600, 34);
    for intervals in [Intervals::Empirical, Intervals::Adaptive] {
        let mut kept = fitted("AR(4)", &series[..100]).predictor().with_intervals(intervals);
        series[100..400].iter().for_each(|sample| kept.step(*sample));
        let mut restored = Predictor::restore(&kept.save()).unwrap();
        assert_eq!(restored.intervals(), intervals);
        for sample in &series[400..] {
            restored.step(*sample);
            kept.step(*sample);
            assert_eq!(restored.forecast(70), kept.forecast(70), "{intervals:?}");
        }
    }
}

#[test]
fn every_shorter_state_is_refused() {
    for text in MODELS {
        let saved = fitted(text, &ar1(0.7, 100, 32)).predictor().save();
        for length in 0..saved.len() {
            assert!(Predictor::restore(&saved[..length]).is_err(), "{text} cut to {length} of {}", saved.len());
        }
    }
}

#[test]
fn a_foreign_file_and_a_later_version_are_told_apart() {
    assert_eq!(Predictor::restore(b"PNG"), Err(RestoreError::NotAPredictor { n_bytes: 3 }));
    assert_eq!(
        Predictor::restore(b"FTPS\x0a"),
        Err(RestoreError::UnknownVersion { what: "predictor", given: 10, known: 9 })
    );
    let mut longer = fitted("LAST", &[1.0, 2.0]).predictor().save();
    longer.push(0);
    let message = Predictor::restore(&longer).unwrap_err().to_string();
    assert_eq!(message, format!("saved predictor of {} bytes is damaged: there are bytes after its end", longer.len()));
}

/// The worked example of `docs/formats/predictor-state.md`.
#[test]
fn the_bytes_are_those_of_the_specification() {
    let saved = fitted("LAST", &[1.0, 2.0]).predictor().save();
    let hex: Vec<String> = saved.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex.join(" "),
        "46 54 50 53 09 04 4c 41 53 54 01 01 01 00 00 00 00 00 00 00 40 00 00 00 00 00 00 00 40 \
         01 01 01 00 00 00 00 00 00 f0 3f 00 00 00 00 00 00 f8 3f 02 00 00 00 00 00 00 00"
    );
}

proptest! {
    #[test]
    fn changed_bytes_are_refused_or_harmless(
        model in prop::sample::select(MODELS.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = fitted(model, &ar1(0.7, 100, 33)).predictor().save();
        for (place, byte) in changes {
            let idx = place.index(bytes.len());
            bytes[idx] = byte;
        }
        if let Ok(mut predictor) = Predictor::restore(&bytes) {
            (0..20).for_each(|t| predictor.step(f64::from(t)));
            let _ = predictor.forecast(70);
        }
    }

    #[test]
    fn random_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Predictor::restore(&[b"FTPS\x09".as_slice(), &body].concat());
    }
}
