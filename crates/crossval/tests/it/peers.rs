//! Forecasters of other makes in a campaign: the same windows, the same scores, and nothing of what is to come.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crossval::{Campaign, CampaignError, Failure, Peer, PeerError, Template, Trace, Worker};
use predict::{Forecast, Forecaster, Predictor, fit};

const TEMPLATE: &str = "models = [\"LAST\", \"AR(2)\"]\nfit = \"60..90\"\ntest = 20\nleads = [1, 3]\n";

fn campaign(peers: Vec<Arc<dyn Peer>>) -> Result<Campaign, CampaignError> {
    let samples = (0..400).map(|t| (f64::from(t) * 0.7).sin() + f64::from(t * t % 17)).collect();
    let campaign = Campaign::new(Template::read(TEMPLATE).unwrap(), vec![Trace::new("wave", samples).unwrap()], 5)?;
    campaign.with_peers(peers)
}

/// AR(2) under another name, which gives up after so many steps.
#[derive(Debug)]
struct Twin {
    name: &'static str,
    n_steps_max: usize,
}

struct TwinModel {
    predictor: Predictor,
    n_steps_left: usize,
}

impl Peer for Twin {
    fn name(&self) -> &str {
        self.name
    }

    fn n_coefficients(&self) -> usize {
        3
    }

    fn fit(&self, samples: &[f64]) -> Result<Box<dyn Forecaster<Error = PeerError>>, PeerError> {
        let model =
            fit(&"AR(2)".parse().unwrap(), samples).map_err(|error| PeerError { message: error.to_string() })?;
        Ok(Box::new(TwinModel { predictor: model.predictor(), n_steps_left: self.n_steps_max }))
    }
}

impl Forecaster for TwinModel {
    type Error = PeerError;

    fn forecast_into(&mut self, n_leads: usize, forecast: &mut Forecast) -> Result<(), PeerError> {
        *forecast = self.predictor.forecast(n_leads);
        Ok(())
    }

    fn step(&mut self, sample: f64) -> Result<(), PeerError> {
        self.n_steps_left = self.n_steps_left.checked_sub(1).ok_or(PeerError { message: "tired".to_owned() })?;
        self.predictor.step(sample);
        Ok(())
    }
}

fn twin(name: &'static str) -> Arc<dyn Peer> {
    Arc::new(Twin { name, n_steps_max: usize::MAX })
}

#[test]
fn a_peer_has_the_scores_of_the_model_that_it_is() {
    let campaign = campaign(vec![twin("twin")]).unwrap();
    let results = Worker::new(&campaign).evaluate(4, 0..3);
    let [model, peer] = [&results[1].0, &results[2].0];
    assert_eq!((peer.case.number, peer.case.family_idx, peer.case.model.to_string().as_str()), (14, 2, "twin"));
    assert_eq!(peer.outcome, model.outcome);
}

#[test]
fn what_is_drawn_does_not_depend_on_peers() {
    let (with, without) = (campaign(vec![twin("twin")]).unwrap(), campaign(Vec::new()).unwrap());
    for number in 0..20 {
        let window = without.window(number);
        assert_eq!(with.window(number), window);
        let models = |campaign: &Campaign| campaign.cases_of(&window).into_iter().map(|case| case.model);
        assert!(models(&without).eq(models(&with).take(2)));
    }
}

#[test]
fn a_range_of_cases_is_cut_anywhere() {
    let campaign = campaign(vec![twin("twin")]).unwrap();
    let stop = AtomicBool::new(false);
    let whole = campaign.evaluate(0..10, &stop, |_| ()).unwrap();
    let ranges = [0..2, 2..7, 7..10].map(|cases| campaign.evaluate(cases, &stop, |_| ()).unwrap());
    let cases = |done: &[(crossval::CaseResult, _)]| done.iter().map(|(result, _)| result.clone()).collect::<Vec<_>>();
    assert_eq!(cases(&ranges.concat()), cases(&whole));
}

#[test]
fn a_peer_that_gives_up_on_the_way_fails_its_case() {
    let tired: Arc<dyn Peer> = Arc::new(Twin { name: "twin", n_steps_max: 7 });
    let campaign = campaign(vec![tired]).unwrap();
    let results = Worker::new(&campaign).evaluate(0, 0..3);
    assert!(results[1].0.outcome.is_ok());
    assert_eq!(results[2].0.outcome, Err(Failure::Peer(PeerError { message: "tired".to_owned() })));
}

#[test]
fn names_that_results_could_not_tell_apart_are_refused() {
    for names in [vec![""], vec!["AR(2)"], vec!["a", "a"]] {
        let refused = campaign(names.iter().map(|name| twin(name)).collect());
        assert!(matches!(refused, Err(CampaignError::PeerName { .. })), "{names:?}");
    }
    assert!(matches!(campaign(vec![twin("a"); 65]), Err(CampaignError::PeerCount { n: 65 })));
}
