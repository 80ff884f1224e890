//! COMB: how much CPU is left while messages are in flight, and what makes them progress.
//!
//! Two methods of Lawry, Wilson, Maccabe and Brightwell (Brightwell and others: "Improving Processor Availability in
//! the MPI Implementation for the ASCI/Red Supercomputer", LCN 2002). `polling` calls MPI now and then, so messages
//! can always progress (section 3.1). `post_work_wait` makes no call between posting and waiting, so they progress
//! only if the library, the kernel or the network does it by itself (section 3.2). There are also round trips, and a
//! stream of numbers by single and double buffering (section 2.1). A [`Verdict`] says what the figures mean for the
//! library.
//!
//! A [`Plan`] says what to measure, [`run()`] measures it under MPI, and [`Comb`] shows the result. [`record`]
//! describes its contents.
#![warn(unreachable_pub)]

#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod availability;
#[cfg(feature = "mpi")]
mod bench;
#[cfg(feature = "mpi")]
mod buffering;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod grid;
#[cfg(feature = "mpi")]
mod lane;
mod pairing;
#[cfg(feature = "mpi")]
mod ping_pong;
mod plan;
mod plot;
#[cfg(feature = "mpi")]
mod polling;
#[cfg(feature = "mpi")]
mod post_work_wait;
pub mod record;
#[cfg(feature = "mpi")]
mod run;
mod table;
#[cfg(feature = "mpi")]
mod together;
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only runs under MPI use it"))]
mod verdict;
mod words;

use mpi_run::{MalformedRecord, Measurement, Outcome};
use picture::Picture;

pub use availability::{Availability, Hindrance};
pub use pairing::{Pair, Pairing, PairingError};
pub use plan::{BufferingPlan, Method, Plan, PlanError, PollingPlan, PostWorkWaitPlan};
#[cfg(feature = "mpi")]
pub use run::{prepare, run};
pub use verdict::{Cost, Phase, Posting, Progress, Share, VERDICT, Verdict};

/// The measurement: its name, and how its results look.
#[derive(Clone, Copy, Debug)]
pub struct Comb;

impl Measurement for Comb {
    fn name(&self) -> &'static str {
        "comb"
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &[
            "an availability is the time of work without messages by the time of the same work with them, all calls of MPI included",
            "messages take time from work and give none, so that an availability lies in [0, 1]",
            "in every exchange a message of the same size goes each way at the same time",
            "received bytes count one direction",
        ]
    }

    fn table(&self, outcome: &Outcome) -> Result<String, MalformedRecord> {
        table::table(outcome)
    }

    fn pictures(&self, outcome: &Outcome) -> Result<Vec<(String, Picture)>, MalformedRecord> {
        plot::pictures(outcome)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use mpi_run::{Calibration, ClockQuality, Header, Offset, Placement, Writer};
    use statistics::Interval;
    use units::{Confidence, Timestamp};

    use super::availability::{Availability, Estimator, Repetition};
    use super::pairing::Pair;
    use super::record::{
        BUFFERING, Buffering, PING_PONG, POLLING, PWW, PingPong, Polling, PostWorkWait, Spread, TRANSFER, Transfer,
    };
    use super::verdict::verdicts;
    use super::*;

    const PAIR: Pair = Pair { worker: 0, support: 1 };
    const SIZE_BYTES: u64 = 1 << 20;
    const CLOCK: ClockQuality = ClockQuality { resolution_ns: 20, cost_ns: 25.0 };

    fn spread(median_ns: f64) -> Spread {
        let interval = Interval { lower: 0.99 * median_ns, upper: 1.01 * median_ns };
        Spread {
            median_ns,
            interval,
            midmean_ns: median_ns,
            midmean_interval: interval,
            p05_ns: 0.95 * median_ns,
            p95_ns: 1.05 * median_ns,
        }
    }

    fn header() -> Header {
        let place = |rank| Placement {
            rank,
            host: "node".to_owned(),
            cpus: vec![rank],
            clock: CLOCK,
            calibration: Calibration { turns_per_ns: 1.0, dispersion_ratio: 0.0, n_trials: 51 },
            offset: Offset::default(),
        };
        Header {
            program: "comb".to_owned(),
            version: "0.1.0".to_owned(),
            started: Timestamp::from_system(std::time::UNIX_EPOCH),
            mpi: "Some MPI 1.0".to_owned(),
            transport: None,
            arguments: Vec::new(),
            seed: 1,
            ranks: vec![place(0), place(1)],
            assumptions: Vec::new(),
        }
    }

    fn availability(dry_ns: f64, wet_ns: f64, away_ratio: f64) -> Availability {
        let estimator = Estimator { confidence: Confidence::P95, seed: 1, clock: CLOCK };
        if dry_ns > 0.0 {
            estimator.availability(&[Repetition { dry_ns, wet_ns }; 9], away_ratio)
        } else {
            Availability::without_work()
        }
    }

    /// A transfer of 100 us that a library makes in the wait.
    fn point(work_us: f64) -> PostWorkWait {
        let work_ns = 1e3 * work_us;
        PostWorkWait {
            pair: PAIR,
            size_bytes: SIZE_BYTES,
            work_interval_ns: work_ns as u64,
            n_turns: work_ns as u64,
            n_cycles: 9,
            away_ratio: 0.0,
            post: spread(300.0),
            work: spread(work_ns),
            wait: spread(99_000.0),
            dry: spread(work_ns),
            inflation: spread(0.0),
            availability: availability(work_ns, work_ns + 99_300.0, 0.0),
            received_bytes_per_sec: 1e9 * SIZE_BYTES as f64 / (work_ns + 99_300.0),
        }
    }

    fn poll(interval_us: f64, wet_ns: f64, away_ratio: f64) -> Polling {
        Polling {
            pair: PAIR,
            size_bytes: SIZE_BYTES,
            queue: 4,
            poll_interval_ns: (1e3 * interval_us) as u64,
            n_turns: (1e3 * interval_us) as u64,
            n_polls: 100,
            n_repetitions: 9,
            away_ratio,
            dry: spread(1e5 * interval_us),
            wet: spread(wet_ns),
            n_received: 80.0,
            availability: availability(1e5 * interval_us, wet_ns, away_ratio),
            received_bytes_per_sec: 8e10 * SIZE_BYTES as f64 / wet_ns,
        }
    }

    fn outcome() -> Outcome {
        let mut writer = Writer::create(None, &header()).unwrap();
        let trip = |size_bytes, half_ns| PingPong {
            pair: PAIR,
            size_bytes,
            n_trips: 510,
            away_ratio: 0.0,
            half_round_trip: spread(half_ns),
            bandwidth_bytes_per_sec: 1e9 * size_bytes as f64 / half_ns,
        };
        [trip(0, 300.0), trip(8, 310.0), trip(SIZE_BYTES, 60_000.0)]
            .iter()
            .for_each(|trip| writer.record(PING_PONG, trip).unwrap());
        let transfer = Transfer {
            pair: PAIR,
            size_bytes: SIZE_BYTES,
            whole: spread(100_000.0),
            empty_post: spread(250.0),
            empty_wait: spread(300.0),
            copy: spread(40_000.0),
        };
        writer.record(TRANSFER, &transfer).unwrap();
        [0.0, 100.0, 400.0].iter().for_each(|work_us| writer.record(PWW, &point(*work_us)).unwrap());
        [(10.0, 5e6, 0.0), (100.0, 2e7, 0.3), (1_000.0, 1e8, 0.02)]
            .iter()
            .for_each(|&(us, wet_ns, away_ratio)| writer.record(POLLING, &poll(us, wet_ns, away_ratio)).unwrap());
        let buffering = Buffering {
            pair: PAIR,
            buffer_bytes: 100_000,
            n_values: 5_000_000,
            n_repetitions: 9,
            away_ratio: 0.0,
            produce: spread(8e7),
            sum: spread(3e7),
            single: spread(1.2e8),
            double: spread(1e8),
            speedup: 1.2,
            speedup_interval: Interval { lower: 1.19, upper: 1.21 },
            bound_ratio: 0.8,
            bound_interval: Interval { lower: 0.79, upper: 0.81 },
            total: 2_500_000.5,
        };
        writer.record(BUFFERING, &buffering).unwrap();
        let found = verdicts(writer.outcome()).unwrap();
        found.iter().for_each(|verdict| writer.record(VERDICT, verdict).unwrap());
        writer.outcome().clone()
    }

    #[test]
    fn a_table_says_what_each_figure_means() {
        expect![[r#"
            Some MPI 1.0
              rank 0 on node, cores 0
              rank 1 on node, cores 1
            warning: in 1 of 10 measurements a rank was off its core for over 10.0 % of the time: those describe time slicing

            Ping-pong, ranks 0 and 1
              size  bandwidth  off core  half round trip
                0B  0.00 kB/s    0.00 %  300 ns [297 ns, 303 ns]
                8B  25.8 MB/s    0.00 %  310 ns [307 ns, 313 ns]
              1MiB  17.5 GB/s    0.00 %  60.0 us [59.4 us, 60.6 us]

            Post-work-wait, 1MiB each way, ranks 0 and 1
                work   alone    post  work longer by     wait   received  off core  availability
                0 ns    0 ns  300 ns            0 ns  99.0 us  10.6 GB/s    0.00 %  not measurable: there was no work
              100 us  100 us  300 ns            0 ns  99.0 us  5.26 GB/s    0.00 %  0.502 [0.502, 0.502]
              400 us  400 us  300 ns            0 ns  99.0 us  2.10 GB/s    0.00 %  0.801 [0.801, 0.801]

            Polling, 1MiB each way, queue of 4, ranks 0 and 1
              interval  polls  messages   received  off core  availability
               10.0 us    100        80  16.8 GB/s    0.00 %  0.200 [0.200, 0.200]
                100 us    100        80  4.19 GB/s    30.0 %  not measurable: a rank was off its core for 30 % of the time, but the limit is 10 %: what is left to work would be the scheduler's choice
               1.00 ms    100        80   839 MB/s    2.00 %  at least 0.999

            Double buffering, 5000000 numbers in buffers of 100kB, from rank 0 to rank 1
              numbers per second                        time  of
                    62.5 million  80.0 ms [79.2 ms, 80.8 ms]  producing alone
                   166.7 million  30.0 ms [29.7 ms, 30.3 ms]  summing alone
                    41.7 million     120 ms [119 ms, 121 ms]  one buffer on each side
                    50.0 million    100 ms [99.0 ms, 101 ms]  two buffers on each side
              A second buffer: 1.200 [1.190, 1.210] times as fast.
              Of the time with two buffers, the slower side alone takes 0.800 [0.790, 0.810]; 1 is complete overlap.
              Sums agree: 2500000.5

            Verdict, ranks 0 and 1
              1MiB: makes no progress without calls: 99 % [97, 101] of the transfer is left in the wait
                posting moves no data: it takes 0 % [0, 0] of a copy in memory
                beside 400.0 us of work an exchange costs 99.30 us: post 0 %, longer work 0 %, wait 100 %
        "#]].assert_eq(&Comb.table(&outcome()).unwrap());
    }

    #[test]
    fn a_result_of_version_0_1_0_is_read() {
        let path = format!("{}/../../testdata/mpi-results/comb-0.1.0.jsonl", env!("CARGO_MANIFEST_DIR"));
        let outcome = Outcome::read(path.as_ref()).unwrap();
        let points: Vec<PostWorkWait> = outcome.all(PWW).unwrap();
        assert_eq!(points[0].post.interval, Interval { lower: 205.0, upper: 226.0 });
        let table = Comb.table(&outcome).unwrap();
        assert!(table.contains("0.982 [0.979, 0.984]"), "{table}");
    }

    #[test]
    fn each_curve_of_the_paper_is_drawn_where_there_are_points() {
        let outcome = outcome();
        let pictures = Comb.pictures(&outcome).unwrap();
        let names: Vec<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
        let trips = ["latency", "ping-pong-bandwidth"];
        let works = [
            "pww-bandwidth",
            "pww-availability",
            "post-time",
            "wait-time",
            "polling-availability",
            "polling-bandwidth",
        ];
        assert_eq!(names, [&trips[..], &works[..]].concat());
        for (name, picture) in &pictures {
            let svg = picture.to_svg();
            assert!(svg.contains("Some MPI 1.0"), "{name}");
            // A message of no bytes, and no work, have no place on a logarithmic axis; the rest has a dot.
            assert!(svg.matches("<circle").count() >= 2, "{name}");
        }
        let empty = Outcome { records: Vec::new(), ..outcome };
        assert!(Comb.pictures(&empty).unwrap().is_empty());
    }
}
