//! Cost models: made data whose truth is known, any data at all, and measured ones.

use netmodel::{Cost, CostError, Point};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};
use units::Confidence;

/// alpha in nanoseconds and beta in nanoseconds per byte of messages from this size on.
struct Truth {
    from_bytes: u64,
    alpha: f64,
    beta: f64,
}

/// Short messages flat, longer ones copied, the longest announced first: as on a cluster with Myrinet or its
/// successors.
const THREE_WAYS: [Truth; 3] = [
    Truth { from_bytes: 0, alpha: 400.0, beta: 0.05 },
    Truth { from_bytes: 1 << 10, alpha: 900.0, beta: 0.4 },
    Truth { from_bytes: 64 << 10, alpha: 12_000.0, beta: 0.1 },
];
const ONE_WAY: [Truth; 1] = [Truth { from_bytes: 0, alpha: 1_500.0, beta: 0.25 }];

/// Powers of two up to 4 MiB and one size between each two of them.
fn sizes() -> Vec<u64> {
    let powers = (0..22).flat_map(|power| [1_u64 << power, 3 << power >> 1]);
    let mut sizes: Vec<u64> = std::iter::once(0).chain(powers).chain([1 << 22]).collect();
    sizes.dedup();
    sizes
}

fn time(truth: &[Truth], size_bytes: u64) -> f64 {
    let own = truth.iter().rev().find(|part| part.from_bytes <= size_bytes).unwrap();
    own.alpha + own.beta * size_bytes as f64
}

/// How points of a size differ: by relative errors of this deviation, and some of them by being held up to a hundred
/// times as long, as when a rank was not on its core.
#[derive(Clone, Copy, Debug)]
struct Noise {
    n_each: usize,
    scatter: f64,
    held_up_ratio: f64,
}

fn made(truth: &[Truth], sizes: &[u64], noise: Noise, seed: u64) -> Vec<Point> {
    let Noise { n_each, scatter, held_up_ratio } = noise;
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let error = Normal::new(0.0, scatter).unwrap();
    let mut points = Vec::new();
    for &size_bytes in sizes {
        for _ in 0..n_each {
            let slower =
                if chance.random_bool(held_up_ratio) { 10.0_f64.powf(chance.random_range(0.0..2.0)) } else { 1.0 };
            let off: f64 = error.sample(&mut chance);
            points.push(Point { size_bytes, span_ns: time(truth, size_bytes) * off.exp() * slower });
        }
    }
    points
}

fn fit(points: &[Point]) -> Cost {
    Cost::fit(points, Confidence::P95, 1).unwrap()
}

#[test]
fn known_breaks_are_found_to_the_neighbouring_size() {
    let sizes = sizes();
    let place = |bytes: u64| sizes.iter().position(|size| *size == bytes).unwrap();
    for seed in 0..40 {
        let model = fit(&made(&THREE_WAYS, &sizes, Noise { n_each: 15, scatter: 0.03, held_up_ratio: 0.1 }, seed));
        assert_eq!(model.segments.len(), 3, "seed {seed}: {model:#?}");
        for (found, right) in model.segments.iter().zip(&THREE_WAYS).skip(1) {
            let off = place(found.from_bytes).abs_diff(place(right.from_bytes));
            assert!(off <= 1, "seed {seed}: a break at {} rather than {}", found.from_bytes, right.from_bytes);
        }
    }
}

#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    const N_SEEDS: u64 = 100;
    for n_each in [1, 15] {
        let mut held = [[0_u64; 2]; 3];
        for seed in 0..N_SEEDS {
            // Being held up would not widen the intervals but move all medians upward, and with them what is true.
            let noise = Noise { n_each, scatter: 0.03, held_up_ratio: 0.0 };
            let model = fit(&made(&THREE_WAYS, &sizes(), noise, seed));
            assert_eq!(model.segments.len(), 3, "{n_each} points a size, seed {seed}");
            for (held, (found, right)) in held.iter_mut().zip(model.segments.iter().zip(&THREE_WAYS)) {
                held[0] += u64::from(found.alpha.contains(right.alpha));
                held[1] += u64::from(found.beta.contains(right.beta));
            }
        }
        // 95 % are meant. Breaks that are found one size off cost a few; with 100 seeds, 86 % to 100 % is about that.
        for share in held.as_flattened().iter().map(|held| *held as f64 / N_SEEDS as f64) {
            assert!((0.86..=1.0).contains(&share), "{n_each} points a size: {held:?} of {N_SEEDS}");
        }
    }
}

#[test]
fn plain_data_are_seldom_cut() {
    const N_SEEDS: u64 = 60;
    let mut n_cut = 0;
    for stride in [1, 2, 4] {
        let sizes: Vec<u64> = sizes().into_iter().step_by(stride).collect();
        for (n_each, scatter) in [(1, 0.02), (1, 0.2), (9, 0.05)] {
            let noise = Noise { n_each, scatter, held_up_ratio: 0.0 };
            n_cut += (0..N_SEEDS).filter(|seed| fit(&made(&ONE_WAY, &sizes, noise, *seed)).segments.len() > 1).count();
        }
    }
    assert!(n_cut <= 13, "{n_cut} of {} were cut, more than 2.5 %", 9 * N_SEEDS);
}

#[test]
fn two_wild_sizes_are_no_segment() {
    let mut points = made(&ONE_WAY, &sizes(), Noise { n_each: 1, scatter: 0.02, held_up_ratio: 0.0 }, 3);
    points[20].span_ns *= 30.0;
    points[21].span_ns *= 8.0;
    let model = fit(&points);
    assert_eq!(model.segments.len(), 1, "{model:#?}");
    assert!((model.segments[0].beta_ns_per_byte / ONE_WAY[0].beta - 1.0).abs() < 0.05, "{model:#?}");
}

#[test]
fn a_model_says_which_line_and_how_far_it_was_measured() {
    let model = fit(&made(&THREE_WAYS, &sizes(), Noise { n_each: 1, scatter: 0.0, held_up_ratio: 0.0 }, 1));
    let froms: Vec<u64> = model.segments.iter().map(|segment| segment.from_bytes).collect();
    assert_eq!(froms, [0, 1 << 10, 64 << 10]);
    for size_bytes in [0, 1, 700, 1 << 10, 5_000, 48 << 10, 64 << 10, 1 << 22] {
        let right = time(&THREE_WAYS, size_bytes);
        assert!((model.span_ns(size_bytes) / right - 1.0).abs() < 1e-3, "{size_bytes}: {}", model.span_ns(size_bytes));
    }
    // No size between 768 and 1,024 was measured, so that the first line holds up to there.
    assert_eq!(model.segment(1_023).to_bytes, 768);
    assert!(!model.is_beyond(1 << 22) && model.is_beyond((1 << 22) + 1));
    assert!(model.span_ns(u64::MAX).is_finite());
}

#[test]
fn what_is_no_time_is_refused_by_name() {
    for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0, f64::MIN_POSITIVE, 1e300] {
        let mut points = made(&ONE_WAY, &sizes(), Noise { n_each: 1, scatter: 0.1, held_up_ratio: 0.0 }, 1);
        points[7].span_ns = wrong;
        let error = Cost::fit(&points, Confidence::P95, 1).unwrap_err();
        assert!(matches!(error, CostError::Span { size_bytes, .. } if size_bytes == points[7].size_bytes), "{error}");
    }
}

#[test]
fn three_sizes_are_too_few_however_many_points_they_have() {
    let points = made(&ONE_WAY, &[0, 8, 64], Noise { n_each: 100, scatter: 0.1, held_up_ratio: 0.0 }, 1);
    let error = Cost::fit(&points, Confidence::P95, 1).unwrap_err();
    assert_eq!(error, CostError::Sizes { found: 3, needed: 4 });
    assert!(matches!(Cost::fit(&[], Confidence::P95, 1), Err(CostError::Sizes { found: 0, .. })));
}

#[test]
fn a_model_is_the_same_in_any_order_of_points_and_after_a_journey_as_text() {
    let mut points = made(&THREE_WAYS, &sizes(), Noise { n_each: 5, scatter: 0.05, held_up_ratio: 0.05 }, 9);
    let model = fit(&points);
    points.reverse();
    assert_eq!(fit(&points), model);
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), model);
}

/// Sizes and times of any magnitude, several of a size among them.
fn any_points() -> impl Strategy<Value = Vec<Point>> {
    let size = prop_oneof![0_u64..64, (0_u32..64).prop_map(|power| 1 << power), any::<u64>()];
    let span = prop_oneof![1.0..1e3_f64, (-9.9..59.7_f64).prop_map(f64::exp2), Just(1e-3), Just(1e18)];
    prop::collection::vec((size, span).prop_map(|(size_bytes, span_ns)| Point { size_bytes, span_ns }), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_data_make_a_time_negative_or_a_hole(points in any_points()) {
        let Ok(model) = Cost::fit(&points, Confidence::P80, 1) else {
            let mut sizes: Vec<u64> = points.iter().map(|point| point.size_bytes).collect();
            sizes.sort_unstable();
            sizes.dedup();
            prop_assert!(sizes.len() < 4);
            return Ok(());
        };
        prop_assert!((1..=4).contains(&model.segments.len()));
        prop_assert_eq!(model.segments[0].from_bytes, 0);
        prop_assert!(model.segments.windows(2).all(|two| two[0].to_bytes < two[1].from_bytes));
        for segment in &model.segments {
            prop_assert!(segment.alpha_ns >= 0.0 && segment.beta_ns_per_byte >= 0.0, "{:?}", segment);
            prop_assert!(segment.alpha_ns.is_finite() && segment.beta_ns_per_byte.is_finite(), "{:?}", segment);
            prop_assert!(segment.alpha_ns + segment.beta_ns_per_byte > 0.0, "{:?}", segment);
            for interval in [segment.alpha, segment.beta] {
                prop_assert!(0.0 <= interval.lower && interval.lower <= interval.upper && interval.upper.is_finite(), "{:?}", segment);
            }
        }
    }
}

/// Half round trips as `testdata/netmodel/ping-pong/make.sh` has recorded them.
fn measured(mpi: &str) -> Vec<Point> {
    let path = format!("{}/../../testdata/netmodel/ping-pong/{mpi}.csv", env!("CARGO_MANIFEST_DIR"));
    let row = |line: &str| {
        let (size, span) = line.split_once(',').unwrap();
        Point { size_bytes: size.parse().unwrap(), span_ns: span.parse().unwrap() }
    };
    std::fs::read_to_string(path).unwrap().lines().skip(1).map(row).collect()
}

#[test]
fn measured_breaks_are_where_the_libraries_change_their_way() {
    // Between ranks of one host Open MPI announces messages of more than 4,096 bytes with their header
    // (`btl_vader_eager_limit`), so that 4,096 of content are the first. MPICH's limit is not told; its times double
    // between 8 and 12 KiB.
    for (mpi, before, after) in [("openmpi", 3_072, 4_096), ("mpich", 8_192, 12_288)] {
        let model = fit(&measured(mpi));
        let has_break = model.segments.windows(2).any(|two| (two[0].to_bytes, two[1].from_bytes) == (before, after));
        assert!(has_break, "{mpi}: {model:#?}");
        for segment in &model.segments {
            assert!(
                segment.alpha.contains(segment.alpha_ns) && segment.beta.contains(segment.beta_ns_per_byte),
                "{segment:#?}"
            );
        }
    }
}

#[test]
fn a_fit_bears_that_the_largest_messages_were_held_up() {
    for mpi in ["openmpi", "mpich"] {
        let points = measured(mpi);
        let model = fit(&points);
        let of_size = |size_bytes: u64| {
            points.iter().filter(move |point| point.size_bytes == size_bytes).map(|point| point.span_ns)
        };
        let shortest = of_size(1 << 22).fold(f64::INFINITY, f64::min);
        let ratio = model.span_ns(1 << 22) / shortest;
        // Medians there are 8 to 20 times the shortest.
        assert!((0.3..3.0).contains(&ratio), "{mpi}: {ratio} of the shortest of 4 MiB");
    }
}
