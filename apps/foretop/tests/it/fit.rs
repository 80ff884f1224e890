//! `fit`: what it finds, how it ranks, and what it does with bad input.

use expect_test::expect;

use crate::command::{run, run_with_input, trace};

const TRACE: &str = "ec2_cpu_utilization_5f5533.csv";

#[track_caller]
fn check_refused(args: &[&str], input: &str, status: i32, message: &str) {
    run_with_input(&[&["fit", "-"], args].concat(), input).check_failed(status, message);
}

/// 40 samples that vary.
fn samples() -> String {
    (0..40).map(|t| format!("{}\n", t * 7919 % 13)).collect()
}

fn lake_huron() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/predict/ar/lake_huron.csv").to_owned()
}

#[test]
fn a_range_of_orders_is_ranked_and_the_best_is_fitted() {
    // Yule-Walker has a closed form, so that no digit depends on where a search stops.
    let text = run(&["fit", &trace(TRACE), "--rows", "600", "--model", "AR(1..3)", "--by", "bic"]).output();
    expect![[r#"
        model      BIC
        AR(3)  2935.73
        AR(2)  2946.48
        AR(1)  3092.07

        AR(3), fitted to 600 samples

        parameter   estimate  standard error
        phi1       -0.711441       0.0402685
        phi2       -0.341545       0.0476520
        phi3        0.164527       0.0402685
        mean         46.4834       0.0589391

        innovation variance  7.43315
        log-likelihood       -1451.87
        criteria             AIC 2913.74, AICc 2913.84, BIC 2935.73
        one-step errors      not noise: Ljung-Box Q 667.069 (p < 0.0001), Box-Pierce Q 648.014 (p < 0.0001), on 24 degrees of freedom
                             74 % of 27 autocorrelations beyond 0.080 (5 % in noise)
                             353 turning points, 396.7 expected (p < 0.0001); 250 rises, 298.0 expected (p < 0.0001)
                             not normal: R^2 of the quantile-quantile line 0.9835 (p < 0.0001)
    "#]].assert_eq(&text);
}

#[test]
fn an_empty_line_is_a_gap_as_in_r() {
    for file in ["r_empty", "r_bare", "r_row_names", "pandas_empty"] {
        let path = format!("{}/../../testdata/series/tables/{file}.csv", env!("CARGO_MANIFEST_DIR"));
        let fitted = &run(&["fit", &path, "--model", "AR(3)", "--method", "ml", "--format", "json"]).json()["fitted"];
        // R 4.2.2, arima(presidents, order = c(3, 0, 0)): reference.csv beside the tables.
        let log_likelihood = fitted["log_likelihood"].as_f64().unwrap();
        assert!((log_likelihood - -414.081_930_4).abs() < 1e-4, "{file}: {log_likelihood}");
    }
}

#[test]
fn maximum_likelihood_agrees_with_r() {
    let args = ["fit", &lake_huron(), "--model", "AR(2)", "--method", "ml", "--lags", "19", "--format", "json"];
    let output = run(&args).json();
    let fitted = &output["fitted"];
    assert_eq!((&fitted["model"], &output["ranking"]), (&"AR(2,method=ml)".into(), &serde_json::Value::Null));
    // R 4.2.2, arima(LakeHuron, order = c(2, 0, 0)), whose search stops at four or five digits.
    let expected =
        [("phi1", 1.043_613_574, 0.098_3), ("phi2", -0.249_497_655, 0.100_8), ("mean", 579.047_321_606, 0.331_9)];
    for (parameter, (name, value, standard_error)) in fitted["parameters"].as_array().unwrap().iter().zip(expected) {
        assert_eq!(parameter["name"], name);
        assert!((parameter["value"].as_f64().unwrap() / value - 1.0).abs() < 1e-4, "{parameter}");
        assert!((parameter["standard_error"].as_f64().unwrap() / standard_error - 1.0).abs() < 1e-2, "{parameter}");
    }
    // At its greatest the likelihood is flat, and so good to more digits than the estimates.
    assert!((fitted["log_likelihood"].as_f64().unwrap() + 103.633_222_554).abs() < 1e-6);
    assert!((fitted["aic"].as_f64().unwrap() - 215.266_445_108).abs() < 2e-6);
    assert_eq!(fitted["errors"]["whiteness"]["ljung_box"]["degrees_of_freedom"], 17);
}

#[test]
fn models_without_a_likelihood_are_ranked_by_trying_them() {
    let args = ["--model", "LAST", "--model", "AR(1..2)", "--model", "AR(2)", "--by", "out-of-sample"];
    let output = run(&[&["fit", &trace(TRACE), "--rows", "600", "--format", "json"][..], &args].concat()).json();
    let models: Vec<&str> =
        output["ranking"].as_array().unwrap().iter().map(|row| row["model"].as_str().unwrap()).collect();
    assert_eq!((models, &output["criterion"]), (vec!["AR(2)", "AR(1)", "LAST"], &"out-of-sample".into()));
    assert_eq!(output["fitted"]["model"], "AR(2)");
}

#[test]
fn candidates_that_cannot_be_fitted_come_last_with_their_reason() {
    let args = ["fit", "-", "--model", "AR(2)", "--model", "AR(30)", "--model", "LAST", "--format", "json"];
    let output = run_with_input(&args, &samples()).json();
    let failures: Vec<&str> =
        output["ranking"].as_array().unwrap().iter().filter_map(|row| row["failure"].as_str()).collect();
    assert_eq!(
        failures,
        [
            "AR(30) needs at least 61 samples that are not gaps, but has 40",
            "LAST has no likelihood for an information criterion to rank; rank it by its errors out of sample"
        ]
    );
    assert_eq!(output["fitted"]["model"], "AR(2)");
}

#[test]
fn likelihoods_of_other_samples_are_not_ranked() {
    let output = run_with_input(&["fit", "-", "--model", "ARIMA(1,0..1,1)"], &samples()).output();
    assert!(output.contains("not ranked: the likelihood of ARIMA(1,1,1) is of 39 samples"), "{output}");
}

#[test]
fn a_model_without_coefficients_still_has_errors() {
    let text = run_with_input(&["fit", "-", "--model", "LAST", "--lags", "3"], &samples()).output();
    expect![[r#"
        LAST, fitted to 40 samples

        innovation variance  22.0000
        one-step errors      like noise: Ljung-Box Q 3.36093 (p 0.3393), Box-Pierce Q 3.02840 (p 0.3873), on 3 degrees of freedom
                             0 % of 3 autocorrelations beyond 0.314 (5 % in noise)
                             5 turning points, 24.7 expected (p < 0.0001); 5 rises, 19.0 expected (p < 0.0001); but 69 % of neighbours are equal, which counts are not made for
                             not normal: R^2 of the quantile-quantile line 0.4352 (p < 0.0001)
    "#]].assert_eq(&text);
}

#[test]
fn without_a_model_it_is_the_one_that_predict_takes() {
    let hours = (0..24 * 28).map(|hour| (1 + hour / 24, hour % 24, 50 + (hour % 24) * 3 + hour * 7919 % 13));
    let lines = hours.map(|(day, hour, value)| format!("2026-02-{day:02}T{hour:02}:00:00Z,{value}\n"));
    let timed = format!("time,value\n{}", lines.collect::<String>());
    for (input, model) in [(samples(), "AUTO"), (timed, "AUTO(24,168)")] {
        let fitted = &run_with_input(&["fit", "-", "--format", "json"], &input).json()["fitted"];
        let predicted = run_with_input(&["predict", "-", "--format", "json"], &input).json();
        assert_eq!((&fitted["model"], &predicted["model"]), (&model.into(), &model.into()));
        assert!(fitted["speakers"].as_array().is_some_and(|speakers| !speakers.is_empty()), "{fitted}");
    }
}

#[test]
fn what_makes_no_sense_exits_with_2() {
    let cases: [(&[&str], &str); 7] = [
        (&["--method", "ml"], "--model <TEXT>"),
        (&["--model", "FOO(3)"], "unknown model `FOO`"),
        (&["--model", "AR(3..1)"], "`3..1` is not a range"),
        (&["--model", "MA(1,method=ml)", "--method", "ml"], "`MA(1,method=ml)` already names its method"),
        (&["--model", "LAST", "--method", "css"], "`LAST` can be fitted in only one way"),
        (&["--model", "AR(1)", "--by", "r2"], "invalid value 'r2'"),
        (&["--model", "AR(1)", "--lags", "0"], "0 is not in 1..=10000"),
    ];
    for (args, message) in cases {
        check_refused(args, &samples(), 2, message);
    }
}

#[test]
fn samples_that_cannot_be_fitted_exit_with_1() {
    check_refused(&["--model", "AR(16)"], "1\n2\n", 1, "AR(16) needs at least 33 samples that are not gaps, but has 2");
    check_refused(&["--model", "AR(1)"], "5\n5\n5\n5\n", 1, "cannot be fitted to a constant series");
    check_refused(
        &["--model", "AR(1..2)"],
        &"5\n".repeat(20),
        1,
        "none of 2 models can be ranked: AR(1) cannot be fitted to a constant series",
    );
    check_refused(&["--model", "AR(1)", "--column", "disk"], "cpu,net\n1,2\n", 1, "there is no column `disk`");
}
