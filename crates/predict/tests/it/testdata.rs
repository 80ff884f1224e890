//! Series and numbers from `testdata/`, and a seeded source of noise.

use std::fs::File;

use predict::{Model, Spec, fit};
use series::csv::{Options, read};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/");

/// The recorded traces.
pub const NAB: [&str; 7] = [
    "ec2_cpu_utilization_24ae8d",
    "ec2_cpu_utilization_53ea38",
    "ec2_cpu_utilization_5f5533",
    "ec2_network_in_257a54",
    "ec2_request_latency_system_failure",
    "elb_request_count_8c0756",
    "rds_cpu_utilization_e47b3b",
];

pub fn samples(path: &str) -> Vec<f64> {
    let file = File::open(format!("{FOLDER}{path}")).unwrap_or_else(|error| panic!("{path}: {error}"));
    read(file, &Options::default()).unwrap_or_else(|error| panic!("{path}: {error}")).samples().to_vec()
}

pub fn text(path: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}{path}")).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The series by the names that `reference.csv` uses.
pub fn named(name: &str) -> Vec<f64> {
    match name {
        "ec2" => samples("nab/ec2_cpu_utilization_5f5533.csv"),
        "ec2_first_600" => samples("nab/ec2_cpu_utilization_5f5533.csv")[..600].to_vec(),
        "lynx" | "www_usage" => samples(&format!("predict/ml/{name}.csv")),
        // The positions of testdata/predict/ml/reference.R, which counts from 1.
        "lh_gaps" => {
            let mut samples = named("lh");
            [4, 5, 19, 32, 33, 34, 35].into_iter().for_each(|idx: usize| samples[idx] = f64::NAN);
            samples
        }
        name => samples(&format!("predict/ar/{name}.csv")),
    }
}

#[track_caller]
pub fn fitted(spec: &str, samples: &[f64]) -> Model {
    let spec: Spec = spec.parse().unwrap();
    fit(&spec, samples).unwrap()
}

/// Standard normal noise from a fixed seed, by summing twelve uniform numbers: good to far beyond what a
/// coverage of 95 % depends on.
pub struct Noise(u64);

impl Noise {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub fn uniform(&mut self) -> f64 {
        // SplitMix64 (Steele, Lea and Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// An AR(1) series with the given coefficient and unit innovations, run in.
pub fn ar1(coefficient: f64, n: usize, seed: u64) -> Vec<f64> {
    let mut noise = Noise::seeded(seed);
    let mut level = 0.0;
    let mut step = || {
        level = coefficient * level + noise.normal();
        level
    };
    (0..200).for_each(|_| {
        step();
    });
    (0..n).map(|_| step()).collect()
}
