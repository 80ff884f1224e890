//! Results of ACE that were never measured, so that what is in them is known.

use std::time::UNIX_EPOCH;

use ace::record::{
    APPLICATION, Away, Basis, Cell, Dispersion, MODEL, Model, PING_PONG, POINT, Planned, Point, Predicted, Prediction,
    RANK, RankResult, SWEEP, SweepResult,
};
use ace::{Application, Load, Pattern, Sizes, Span};
use mpi_run::{Calibration, ClockQuality, Header, Offset, Outcome, Placement, Writer};
use mpi_trace::Mode;
use netmodel::Cost;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};
use statistics::digest::{Digest, Summary};
use units::{ByteCount, Confidence, Timestamp};

/// Cycles of a made run.
pub const N_CYCLES: u64 = 1_000;

/// A run of one application on two ranks.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub seed: u64,
    /// Median exchange of each rank.
    pub communication_ns: [f64; 2],
    /// Deviation of the logarithms of all times.
    pub scatter: f64,
    /// Share of the run in which each rank was off its core.
    pub away_ratio: f64,
}

impl Default for Made {
    fn default() -> Self {
        Self { seed: 1, communication_ns: [50_000.0; 2], scatter: 0.1, away_ratio: 0.001 }
    }
}

/// So many times about `median_ns`.
pub fn summary(median_ns: f64, scatter: f64, seed: u64) -> Summary {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let times = LogNormal::new(median_ns.ln(), scatter).unwrap();
    let mut digest = Digest::default();
    (0..N_CYCLES).for_each(|_| digest.record(times.sample(&mut chance).round() as u64));
    digest.summary()
}

pub fn header() -> Header {
    let place = |rank| Placement {
        rank,
        host: "node".to_owned(),
        cpus: vec![rank],
        clock: ClockQuality { resolution_ns: 20, cost_ns: 25.0 },
        calibration: Calibration { turns_per_ns: 1.0, dispersion_ratio: 0.001, n_trials: 51 },
        offset: Offset::default(),
    };
    Header {
        program: "ace".to_owned(),
        version: "0.1.0".to_owned(),
        started: Timestamp::from_system(UNIX_EPOCH),
        mpi: "Open MPI v4.1.4".to_owned(),
        transport: None,
        arguments: vec!["--load".to_owned(), "50".to_owned()],
        seed: 1,
        ranks: vec![place(0), place(1)],
        assumptions: Vec::new(),
    }
}

pub fn application() -> Application {
    Application {
        name: "a1".to_owned(),
        ranks: Some(2),
        pattern: Pattern::Ring,
        mode: Mode::Blocking,
        size: Sizes::Fixed(ByteCount::new(65_536)),
        load_percent: Load::new(50.0).unwrap(),
        iterations: None,
        time: None,
        start_offset: Span::default(),
        synchronize_every: 1,
    }
}

impl Made {
    pub fn outcome(self, header: &Header, application: &Application) -> Outcome {
        let mut writer = Writer::create(None, header).unwrap();
        let points: Vec<Point> =
            (0..17).map(|power| self.point(PING_PONG, 1 << power, 500.0 + 0.3 * f64::from(1 << power))).collect();
        for point in &points {
            writer.record(POINT, point).unwrap();
        }
        writer.record(POINT, &self.point(application.pattern.name(), 65_536, 49_000.0)).unwrap();
        writer.record(MODEL, &model(&points)).unwrap();
        writer.record(APPLICATION, &plan(application)).unwrap();
        for rank in 0..2 {
            writer.record(RANK, &self.rank(rank, &application.name)).unwrap();
        }
        writer.outcome().clone()
    }

    fn point(self, what: &str, size_bytes: u64, span_ns: f64) -> Point {
        Point {
            cell: None,
            application: "a1".to_owned(),
            what: what.to_owned(),
            mode: Some(Mode::Blocking),
            n_ranks: 2,
            size_bytes,
            span: summary(span_ns, self.scatter, self.seed ^ size_bytes << 8),
            span_ns,
        }
    }

    fn rank(self, rank: u32, application: &str) -> RankResult {
        let part =
            |median_ns, number: u64| summary(median_ns, self.scatter, self.seed << 32 | u64::from(rank) << 8 | number);
        let communication_ns = self.communication_ns[rank as usize];
        let (compute, communication) = (part(50_000.0, 1), part(communication_ns, 2));
        let (cycle, synchronization) = (part(52_000.0 + communication_ns, 3), part(2_000.0, 4));
        let run_ns = N_CYCLES as f64 * cycle.mean_ns;
        let prediction =
            |ns: f64| Prediction { run_ns: ns, error_percent: 100.0 * (run_ns / ns - 1.0), block_error_percent: 1.0 };
        RankResult {
            cell: None,
            application: application.to_owned(),
            rank,
            world_rank: rank,
            n_cycles: N_CYCLES,
            run_ns,
            benchmarked_once: prediction(101e6),
            forecast_as_we_go: prediction(102e6),
            forecast_model: "NWS".to_owned(),
            compute_calculated_ns: 50_000.0,
            compute_error_percent: 0.1,
            dispersion: Dispersion {
                cycle_ratio: cycle.dispersion_ratio(),
                compute_ratio: compute.dispersion_ratio(),
                communication_ratio: communication.dispersion_ratio(),
                benchmark_ratio: Some(0.1),
                communication_to_benchmark: Some(1.0),
            },
            cycle,
            compute,
            synchronization,
            communication,
            between_blocks_ns: 1_000.0,
            away: Some(Away { benchmark_ratio: 0.0, run_ratio: self.away_ratio }),
        }
    }
}

fn model(points: &[Point]) -> Model {
    let points: Vec<netmodel::Point> =
        points.iter().map(|point| netmodel::Point { size_bytes: point.size_bytes, span_ns: point.span_ns }).collect();
    let model = Cost::fit(&points, Confidence::P95, 1).unwrap();
    Model { cell: None, application: "a1".to_owned(), what: PING_PONG.to_owned(), n_ranks: 2, model }
}

fn plan(application: &Application) -> Planned {
    let predicted = Predicted {
        basis: Basis::Benchmark,
        reason: String::new(),
        n_messages: 2,
        communication_by_model_ns: 40_000.0,
        communication_by_benchmark_ns: 49_000.0,
        communication_ns: 49_000.0,
        compute_ns: 49_000.0,
        cycle_ns: 98_000.0,
        synchronization_ns: 2_000.0,
        run_ns: 101e6,
    };
    Planned {
        cell: None,
        application: application.clone(),
        world_ranks: vec![0, 1],
        n_cycles: N_CYCLES,
        size_mean_bytes: 65_536.0,
        size_max_bytes: 65_536,
        predicted,
    }
}

/// A sweep over loads, of the paper's two kinds, so many runs of each; errors grow with the load.
pub fn sweep(n_repetitions: u32, slower: f64, seed: u64) -> Outcome {
    let mut writer = Writer::create(None, &header()).unwrap();
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let noise = LogNormal::new(0.0, 0.02).unwrap();
    for (pattern, n_applications) in [(Pattern::Ring, 1), (Pattern::Alltoall, 2)] {
        for size_bytes in [1 << 10, 1 << 20] {
            for load_percent in [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0] {
                for repetition in 0..n_repetitions {
                    for number in 1..=n_applications {
                        let key = Cell {
                            cell: 0,
                            pattern,
                            mode: Mode::Blocking,
                            size_bytes,
                            load_percent,
                            n_applications,
                            repetition,
                        };
                        let predicted_run_ns = 1e9;
                        let error = load_percent / 1e4 * f64::from(number) * (size_bytes as f64).log10();
                        let slower = if pattern == Pattern::Ring { slower } else { 1.0 };
                        let run_ns = predicted_run_ns * (1.0 + error) * noise.sample(&mut chance) * slower;
                        let error_percent = 100.0 * (run_ns / predicted_run_ns - 1.0);
                        let result = SweepResult {
                            key,
                            application: format!("a{number}"),
                            n_ranks: 2,
                            predicted_run_ns,
                            run_ns,
                            error_percent,
                            forecast_error_percent: error_percent / 3.0,
                            communication_ratio: 0.1,
                            communication_to_benchmark: Some(1.0),
                            n_anomalous_cycles: 0,
                            away_ratio: None,
                        };
                        writer.record(SWEEP, &result).unwrap();
                    }
                }
            }
        }
    }
    writer.outcome().clone()
}
