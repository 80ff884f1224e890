//! Cost of a plan: a million units among a thousand workers, from the forecasts to the interval of the makespan.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use sched::{Curve, Event, LEVELS, Plan, Spec, State, Work, Worker};
use units::Confidence;

const N_UNITS: usize = 1_000_000;
const N_WORKERS: usize = 1_000;
/// Number of points of a curve, as many as forecasts of a node have: demands that double.
const N_DEMANDS: i32 = 13;

/// Workers that differ in speed and in how certain they are, each with a curve of its own.
fn workers() -> Vec<Worker> {
    let worker = |nth: usize| {
        let (speed, spread) = (1.0 + (nth % 7) as f64 / 3.0, (nth % 5) as f64 / 10.0);
        let pace = 1.2 + (nth % 11) as f64 / 5.0;
        let point = |power: i32| {
            let demand = 2_f64.powi(power);
            (demand, LEVELS.map(|level| demand * pace * (1.0 + spread * level)))
        };
        let curve = Curve::new((0..N_DEMANDS).map(point)).into();
        Worker { name: format!("worker-{nth}"), speed, start_seconds: 0.5, unit_seconds: 0.0, curve }
    };
    (0..N_WORKERS).map(worker).collect()
}

fn plans(criterion: &mut Criterion) {
    let costs = (0..N_UNITS).map(|unit| 1.0 + (unit % 13) as f64 / 4.0);
    let state = State::new(Work::new(costs).expect("costs above 0"), workers());
    let confidence = Confidence::new(0.95).expect("a confidence");
    for text in ["PREDICTED(q=0.8)", "PREDICTED(q=0.5,tail=0.2)", "CORRECTED(q=0.5)", "RISK(q=0.9)"] {
        let spec: Spec = text.parse().expect("a policy");
        criterion.bench_function(&format!("plan/{text}"), |bencher| {
            bencher.iter(|| {
                let mut policy = spec.policy();
                let actions = policy.decide(black_box(&state), Event::Begin);
                black_box(Plan::of(&state, &actions, policy.as_ref(), confidence))
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = plans
}
criterion_main!(benches);
