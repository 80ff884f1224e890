//! AR against R and statsmodels. The scripts that made the numbers lie beside them in `testdata/predict/ar`.

use predict::Model;

use crate::testdata::{fitted, named, samples, text};

/// Relative to the larger of 1 and the number. R solves the same equations in another order, so the last few of
/// sixteen digits differ, and a 30-step recursion loses two more.
const TOLERANCE: f64 = 1e-9;

#[track_caller]
fn check_close(what: &str, ours: f64, theirs: f64) {
    let distance = (ours - theirs).abs() / theirs.abs().max(1.0);
    assert!(distance < TOLERANCE, "{what}: {ours} is not {theirs}");
}

#[track_caller]
fn check_coefficients(model: &Model, expected: &[f64]) {
    for (idx, (ours, theirs)) in model.coefficients().iter().zip(expected).enumerate() {
        check_close(&format!("coefficient {}", idx + 1), *ours, *theirs);
    }
}

/// Every row of `reference.csv` for this series and model.
#[track_caller]
fn check_r(series: &str, spec: &str) {
    let model = fitted(spec, &named(series));
    let forecast = model.predictor().forecast(30);
    let coefficients = model.coefficients();
    let prefix = format!("{series},\"{spec}\",");
    let table = text("predict/ar/reference.csv");
    let mut n_rows = 0;
    for row in table.lines().filter_map(|line| line.strip_prefix(&prefix)) {
        let [quantity, idx, value] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let idx = idx.parse::<usize>().unwrap() - 1;
        let ours = match quantity {
            "coefficient" => coefficients[idx],
            "mean" => model.mean(),
            "innovation_variance" => model.innovation_variance(),
            "forecast" => forecast.means()[idx],
            "standard_error" => forecast.standard_errors()[idx],
            unknown => panic!("unknown quantity {unknown}"),
        };
        check_close(row, ours, value.parse().unwrap());
        n_rows += 1;
    }
    assert!(n_rows > 30, "only {n_rows} rows for {prefix}");
}

#[test]
fn lh_yule_walker_3_is_that_of_r() {
    check_r("lh", "AR(3)");
}

#[test]
fn lake_huron_yule_walker_2_is_that_of_r() {
    check_r("lake_huron", "AR(2)");
}

#[test]
fn lake_huron_yule_walker_5_is_that_of_r() {
    check_r("lake_huron", "AR(5)");
}

#[test]
fn nile_yule_walker_2_is_that_of_r() {
    check_r("nile", "AR(2)");
}

#[test]
fn nile_yule_walker_16_is_that_of_r() {
    check_r("nile", "AR(16)");
}

#[test]
fn sunspot_year_yule_walker_16_is_that_of_r() {
    check_r("sunspot_year", "AR(16)");
}

#[test]
fn ec2_trace_yule_walker_16_is_that_of_r() {
    check_r("ec2_first_600", "AR(16)");
}

#[test]
fn ramp_yule_walker_2_is_that_of_r() {
    check_r("one_to_eleven", "AR(2)");
}

#[test]
fn lake_huron_burg_4_is_that_of_r() {
    check_r("lake_huron", "AR(4,method=burg)");
}

#[test]
fn lake_huron_burg_10_is_that_of_r() {
    check_r("lake_huron", "AR(10,method=burg)");
}

#[test]
fn ec2_trace_burg_16_is_that_of_r() {
    check_r("ec2_first_600", "AR(16,method=burg)");
}

#[test]
fn ramp_burg_2_is_that_of_r() {
    check_r("one_to_eleven", "AR(2,method=burg)");
}

#[test]
fn sunspots_to_2008_are_those_of_statsmodels() {
    let sunspots = samples("predict/ar/sunspots.csv");
    let model = fitted("AR(4)", &sunspots);
    check_coefficients(
        &model,
        &[1.283_100_310_569_476_5, -0.452_409_243_740_919_45, -0.207_702_985_575_751_95, 0.047_943_648_089_542_34],
    );
    check_close("s2", model.innovation_variance(), 282.509_628_107_800_84);
    let model = fitted("AR(4,method=burg)", &sunspots);
    check_coefficients(
        &model,
        &[1.309_341_856_160_022, -0.480_866_331_330_725_3, -0.201_859_822_452_439_6, 0.055_019_414_318_697_67],
    );
}

#[test]
fn dow_jones_differences_are_those_of_statsmodels() {
    let dow_jones = samples("predict/ar/dow_jones.csv");
    let model = fitted("AR(1)", &dow_jones);
    check_coefficients(&model, &[0.421_878_597_937_514_53]);
    check_close("s2", model.innovation_variance(), 0.147_896_938_148_782_46);
    let model = fitted("AR(1,method=burg)", &dow_jones);
    check_coefficients(&model, &[0.437_081_335_395_465_7]);
}

#[test]
fn lake_levels_are_those_of_the_textbook_tests() {
    // Level minus 570 feet; the digits are those of statsmodels' own tests, from R's itsmr and ar.yw.
    let lake: Vec<f64> = samples("predict/ar/lake_huron.csv").iter().map(|level| level - 570.0).collect();
    let model = fitted("AR(5)", &lake);
    check_coefficients(
        &model,
        &[1.082_135_985_01, -0.396_582_571_47, 0.117_939_577_28, -0.033_266_339_83, 0.062_092_087_07],
    );
    let model = fitted("AR(10,method=burg)", &lake);
    check_coefficients(
        &model,
        &[
            1.058_536_310_96,
            -0.326_391_508_78,
            0.047_847_651_22,
            0.026_204_761_11,
            0.044_445_113_74,
            -0.041_340_102_62,
            0.022_511_789_70,
            -0.014_275_247_14,
            0.222_234_869_15,
            -0.209_355_243_87,
        ],
    );
    check_close("s2", model.innovation_variance(), 0.445_895_635_4);
}

#[test]
fn the_first_600_values_of_the_trace_are_the_agreed_ones() {
    let trace = named("ec2_first_600");
    check_close("sum", trace.iter().sum(), 27_890.036);
    let model = fitted("AR(16)", &trace);
    check_close("mean", model.mean(), 46.483_393_333_333_33);
    check_close("s2", model.innovation_variance(), 3.796_706_399_316_488_2);
    let forecast = model.predictor().forecast(30);
    for (lead, mean, standard_error) in [
        (1, 48.985_573_631_422_03, 1.948_513_895_079_141_6),
        (5, 42.556_864_151_819_106, 2.120_576_309_988_153),
        (10, 42.563_741_956_863_21, 2.514_771_708_588_519),
        (30, 48.966_816_935_141_3, 3.022_151_825_635_589),
    ] {
        check_close("mean", forecast.means()[lead - 1], mean);
        check_close("standard error", forecast.standard_errors()[lead - 1], standard_error);
    }
}
