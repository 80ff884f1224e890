//! One-off forecasts of many series say what those of each would.

use node_api::{OneOffForecast, OneOffForecasts};

use super::Host;

#[test]
fn many_series_at_once_are_answered_as_each_alone() {
    let host = Host::start();
    let row = |seed: u32| (0..40).map(|t| (t * t * seed % 17).to_string()).collect::<Vec<_>>().join(",");
    let (first, second) = (row(3), row(5));
    let body = format!(
        r#"{{"model":"AR(2)","series":{{"first":[{first}],"second":[{second}],"flat":[1,1,1,1,1,null]}},"horizon":4,"confidence":0.8}}"#
    );
    let answer: OneOffForecasts = host.post("/api/v1/forecasts", &body).json();
    for (name, row) in [("first", first), ("second", second)] {
        let body = format!(r#"{{"model":"AR(2)","samples":[{row}],"horizon":4,"confidence":0.8}}"#);
        let alone: OneOffForecast = host.post("/api/v1/forecast", &body).json();
        assert_eq!(answer.forecasts[name], alone, "{name}");
    }
    assert_eq!(answer.forecasts.len(), 2);
    let reason = "AR(2) cannot be fitted to a constant series (every sample is 1); LAST predicts it without error";
    assert_eq!(answer.refused["flat"], reason);
}
