//! One-off forecasts.

use component::OneOff;
use predict::Spec;
use stream::{Answer, Ask, CallError, Caller, Message, Mirror, Security};
use testkit::PATIENCE;

use crate::world::{Component, ask, endpoint, values};

#[track_caller]
fn check_forecasts(server: &str) {
    let component = Component::start(Mirror::new("pred-once-server", OneOff::new(2).unwrap()), &[server]);
    let source = component.source(0);
    let mut samples: Vec<_> = values(0..300).into_iter().map(Some).collect();
    samples[100] = None;
    let question = |model: &str, horizon| Ask::Forecast { model: model.to_owned(), horizon, samples: samples.clone() };
    let (answer, messages) = ask(&source, question("ar(8)", 20));
    assert!(matches!(answer, Answer::Fitted { ref model, .. } if model == "AR(8)"), "{answer:?}");
    let known: Vec<f64> = samples.iter().map(|sample| sample.unwrap_or(f64::NAN)).collect();
    let expected = predict::fit(&Spec::ar(8), &known).unwrap().predictor().forecast(20);
    let [Message::Forecast(forecast)] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!((&forecast.means[..], &forecast.standard_errors[..]), (expected.means(), expected.standard_errors()));
    let refused =
        |question| match Caller::open(&endpoint(&source), &Security::default()).unwrap().call(question, PATIENCE) {
            Err(CallError::Refused { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
    assert!(refused(question("AR(400)", 20)).contains("needs at least"));
    assert!(refused(question("XY(4)", 20)).contains("XY"));
    assert!(refused(question("LAST", 0)).contains("1 to 65000"));
    assert!(refused(Ask::Refit {}).contains("forecast and status"));
    // This one ended the server: what it repeated did not fit into its answer.
    let reason = refused(Ask::Forecast { model: "X".repeat(1_048_400), horizon: 20, samples: vec![] });
    assert!(reason.len() < 1100 && reason.ends_with('…'), "{} bytes", reason.len());
    assert!(refused(question("LAST", 0)).contains("1 to 65000"));
}

#[test]
fn a_model_is_fitted_to_what_is_sent_along() {
    check_forecasts("server:tcp:0");
    let folder = tempfile::tempdir().unwrap();
    check_forecasts(&format!("server:unix:{}", folder.path().join("socket").display()));
}
