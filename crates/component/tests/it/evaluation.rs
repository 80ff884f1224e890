//! The evaluator, watching a real prediction server.

use component::{EvalFit, EvalFitSettings, EvalFitSettingsError, Synthetic};
use stream::Carries;
use testkit::{PATIENCE, wait_until};

use crate::world::{Component, Feed, description, endpoint, fact, prediction_server, settings};

fn told(refit: Option<&str>) -> EvalFitSettings {
    EvalFitSettings {
        leads: vec![1],
        error_max: 1e9,
        misestimate_max: 3.0,
        window: 50,
        n_samples_min: 30,
        every: 200,
        refit: refit.map(endpoint),
    }
}

#[test]
fn a_change_of_regime_orders_a_refit() {
    let feed = Feed::start("connect:tcp:0", description(Carries::Sample));
    let source = feed.component.source(0);
    let server = prediction_server(settings("AR(2)", None), &[&source, "server:tcp:0", "connect:tcp:0"]);
    let mirror = EvalFit::mirror("eval-fit", told(Some(&server.source(1)))).unwrap();
    let evaluator = Component::start(mirror, &[&source, &server.source(2), "server:tcp:0"]);
    let says = |name: &str| fact(&evaluator.source(2), name);
    let scored = |n: usize| says("error_of_lead_1").is_some_and(|text| text.contains(&format!("over {n} errors")));
    wait_until("all are connected", PATIENCE, || {
        (evaluator
            .running
            .status()
            .iter()
            .all(|status| status.endpoint.starts_with("server") || status.counted.n_connected > 0)
            && feed.component.running.status()[1].counted.n_connected == 2)
            .then_some(())
    });
    let mut made = Synthetic::new(11, 4.0, 0.7).unwrap();
    (0..800).for_each(|number| feed.send(number, made.next_value()));
    wait_until("forecasts are scored", PATIENCE, || scored(50).then_some(()));
    assert_eq!(says("refits_ordered").as_deref(), Some("0"), "{:?}", says("last_reason"));
    // The same series ten times as large: AR(2) of before takes its error to be a tenth of what it is.
    (800..1000).for_each(|number| feed.send(number, 10.0 * made.next_value()));
    wait_until("a refit is done", PATIENCE, || (says("refits_done").as_deref() == Some("1")).then_some(()));
    assert!(says("last_reason").unwrap().contains("times what the predictor takes it to be"));
    assert_eq!(says("refits_ordered").as_deref(), Some("1"), "not more often than said");
}

#[test]
fn settings_that_judge_nothing_are_refused() {
    let refused = |settings| EvalFit::mirror("eval-fit", settings).err().unwrap();
    assert_eq!(refused(EvalFitSettings { leads: vec![], ..told(None) }), EvalFitSettingsError::Leads);
    let error = refused(EvalFitSettings { misestimate_max: 1.0, ..told(None) });
    assert_eq!(error.to_string(), "the misestimate limit must be a factor above 1, not 1");
    let error = refused(EvalFitSettings { n_samples_min: 51, ..told(None) });
    assert_eq!(error.to_string(), "a verdict needs 1 to 50 errors, as many as are kept, not 51");
    assert!(EvalFit::mirror("eval-fit", EvalFitSettings { error_max: f64::NAN, ..told(None) }).is_err());
}
